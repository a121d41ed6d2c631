"""Clients push their metrics (KIP-714), and Prometheus gets them."""

from confluent_kafka import Producer

from barnabas import EmbeddedCluster
from barnabas_core.wire.api import ApiKey
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.api_versions_request import ApiVersionsRequest
from barnabas_core.wire.messages.api_versions_response import ApiVersionsResponse
from barnabas_core.wire.messages.get_telemetry_subscriptions_request import (
    GetTelemetrySubscriptionsRequest,
)
from barnabas_core.wire.messages.get_telemetry_subscriptions_response import (
    GetTelemetrySubscriptionsResponse,
)
from barnabas_core.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from barnabas_core.wire.messages.incremental_alter_configs_response import (
    IncrementalAlterConfigsResponse,
)
from barnabas_core.wire.messages.push_telemetry_request import PushTelemetryRequest
from barnabas_core.wire.messages.push_telemetry_response import PushTelemetryResponse
from tests.support.controller_process import until
from tests.support.raw_client import RawClient
from tests.support.scrape import Scrape

CLIENT_METRICS = 16
TELEMETRY = {int(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS), int(ApiKey.PUSH_TELEMETRY)}


def _address(cluster: EmbeddedCluster) -> tuple[str, int]:
    host, _, port = cluster.bootstrap_servers.partition(":")
    return host, int(port)


def _subscribe(client: RawClient, name: str, **configs: str) -> None:
    changes = [AlterableConfig(key.replace("_", "."), 0, text) for key, text in configs.items()]
    request = IncrementalAlterConfigsRequest([AlterConfigsResource(CLIENT_METRICS, name, changes)])
    answer = client.ask(request, 1, IncrementalAlterConfigsResponse)
    assert [one.error_code for one in answer.responses] == [0], answer


def _announced(cluster: EmbeddedCluster) -> set[int]:
    with RawClient(_address(cluster)) as client:
        answer = client.ask(ApiVersionsRequest("raw", "1"), 3, ApiVersionsResponse)
    return {one.api_key for one in answer.api_keys}


def test_telemetry_is_announced_where_its_figures_can_be_seen() -> None:
    with EmbeddedCluster() as cluster:
        assert not _announced(cluster) & TELEMETRY
    with EmbeddedCluster(metrics_port=0) as cluster:
        assert _announced(cluster) >= TELEMETRY


def test_the_metrics_of_librdkafka_arrive() -> None:
    with EmbeddedCluster(metrics_port=0) as cluster:
        metrics = cluster.metrics_address
        assert metrics is not None
        with RawClient(_address(cluster)) as client:
            _subscribe(client, "all", metrics="*", interval_ms="100", match="client_id=seen.*")
        cluster.create_topic("t")
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "client.id": "seen-1"})
        producer.produce("t", b"value")
        assert producer.flush(30) == 0

        def is_there() -> bool:
            producer.poll(0)
            return bool(Scrape(metrics).total("barnabas_telemetry_pushes_total"))

        until(is_there, "librdkafka has pushed its metrics")
        seen = Scrape(metrics)
        names = [name for name in seen.families if name.startswith("barnabas_client_")]
        assert any("connection" in name for name in names), names
        assert all(seen.all(name, client_id="seen-1") for name in names if "rate" in name)
        assert seen.one("barnabas_telemetry_bad_payloads_total") == 0


def test_a_push_beyond_the_limit_is_refused() -> None:
    config = {"telemetry.max.bytes": "100"}
    with EmbeddedCluster(metrics_port=0, config=config) as cluster:
        with RawClient(_address(cluster)) as client:
            asked = client.ask(
                GetTelemetrySubscriptionsRequest(), 0, GetTelemetrySubscriptionsResponse
            )
            assert asked.error_code == 0
            assert asked.telemetry_max_bytes == 100
            assert asked.client_instance_id != bytes(16)
            push = PushTelemetryRequest(
                asked.client_instance_id, asked.subscription_id, metrics=bytes(101)
            )
            answer = client.ask(push, 0, PushTelemetryResponse)

        assert answer.error_code == ErrorCode.TELEMETRY_TOO_LARGE


def test_rubbish_is_refused_and_counted() -> None:
    with EmbeddedCluster(metrics_port=0) as cluster:
        with RawClient(_address(cluster)) as client:
            nobody = client.ask(PushTelemetryRequest(metrics=b"x"), 0, PushTelemetryResponse)
            asked = client.ask(
                GetTelemetrySubscriptionsRequest(), 0, GetTelemetrySubscriptionsResponse
            )
            push = PushTelemetryRequest(
                asked.client_instance_id, asked.subscription_id, metrics=b"\xff" * 50
            )
            answer = client.ask(push, 0, PushTelemetryResponse)

        assert nobody.error_code == ErrorCode.INVALID_REQUEST
        assert answer.error_code == ErrorCode.INVALID_RECORD
        assert cluster.metrics_address is not None
        assert Scrape(cluster.metrics_address).one("barnabas_telemetry_bad_payloads_total") == 1
