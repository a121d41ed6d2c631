"""Properties of brokers that are changed while they run, by a client that everybody has."""

import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
)
from confluent_kafka.admin._resource import ResourceType
from confluent_kafka.cimpl import NewTopic

from barnabas import ClusterError, EmbeddedCluster
from barnabas_core.metadata.keyed_image import BROKER_RESOURCE
from barnabas_core.wire.messages.api_versions_request import ApiVersionsRequest
from barnabas_core.wire.messages.api_versions_response import ApiVersionsResponse
from barnabas_core.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from barnabas_core.wire.messages.incremental_alter_configs_response import (
    IncrementalAlterConfigsResponse,
)
from tests.support.raw_client import ConnectionClosed, RawClient

DEADLINE_S = 30
HELLO = ApiVersionsRequest("raw", "1")


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(config={"num.partitions": "2"}) as running:
        yield running


@pytest.fixture
def client(cluster: EmbeddedCluster) -> Iterator[RawClient]:
    with RawClient(address_of(cluster)) as connected:
        yield connected


@pytest.fixture
def admin(cluster: EmbeddedCluster) -> AdminClient:
    return AdminClient({"bootstrap.servers": cluster.bootstrap_servers})


def alter(admin: AdminClient, broker: str, **values: str | None) -> None:
    """Set properties, or take them away (None)."""
    entries = [
        ConfigEntry(
            name.replace("_", "."),
            value or "",
            incremental_operation=AlterConfigOpType.DELETE
            if value is None
            else AlterConfigOpType.SET,
        )
        for name, value in values.items()
    ]
    resource = ConfigResource(ResourceType.BROKER, broker, incremental_configs=entries)
    for done in admin.incremental_alter_configs([resource]).values():
        done.result(DEADLINE_S)


def alter_all(client: RawClient, name: str, value: str | None) -> None:
    """For every broker: librdkafka has no name for them all."""
    operation = AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
    change = AlterableConfig(name, operation.value, value)
    resource = AlterConfigsResource(BROKER_RESOURCE, "", [change])
    request = IncrementalAlterConfigsRequest([resource])
    answer = client.ask(request, 1, IncrementalAlterConfigsResponse)
    assert answer.responses[0].error_code == 0, answer.responses[0].error_message


def described(admin: AdminClient, name: str) -> tuple[str, int]:
    """(value, source) of a property of broker 1."""
    resource = ConfigResource(ResourceType.BROKER, "1")
    (done,) = admin.describe_configs([resource]).values()
    entry = done.result(DEADLINE_S)[name]
    return entry.value, entry.source


def eventually(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def address_of(cluster: EmbeddedCluster) -> tuple[str, int]:
    host, _, port = cluster.bootstrap_servers.rpartition(":")
    return host, int(port)


def test_a_new_message_size_counts_from_the_next_batch_on(
    cluster: EmbeddedCluster, admin: AdminClient, client: RawClient
) -> None:
    for done in admin.create_topics([NewTopic("sized", 1, 1)]).values():
        done.result(DEADLINE_S)

    def refusal() -> KafkaError | None:
        errors: list[KafkaError | None] = []
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
        producer.produce("sized", b"x" * 5_000, on_delivery=lambda error, _: errors.append(error))
        assert producer.flush(DEADLINE_S) == 0
        return errors[0]

    assert refusal() is None
    alter_all(client, "message.max.bytes", "1000")

    def is_refused() -> bool:
        error = refusal()
        return error is not None and error.code() == KafkaError.MSG_SIZE_TOO_LARGE

    eventually(is_refused)
    value, source = described(admin, "message.max.bytes")
    assert (value, source) == (
        "1000",
        ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG.value,
    )
    alter_all(client, "message.max.bytes", None)
    eventually(lambda: refusal() is None)


def test_a_limit_of_connections_counts_for_those_who_come(
    cluster: EmbeddedCluster, client: RawClient
) -> None:
    alter_all(client, "max.connections.per.ip", "1")

    def is_turned_away() -> bool:
        with RawClient(address_of(cluster)) as other:
            try:
                other.ask(HELLO, 3, ApiVersionsResponse)
            except ConnectionClosed:
                return True
            return False

    eventually(is_turned_away)
    # Whoever is connected stays so, and may undo it.
    alter_all(client, "max.connections.per.ip", None)
    eventually(lambda: not is_turned_away())


def test_a_cordoned_directory_is_known_to_the_cluster(
    cluster: EmbeddedCluster, admin: AdminClient
) -> None:
    def cordoned() -> int:
        return len(cluster.broker.view.image.cluster.brokers[1].cordoned_log_dirs)

    assert cordoned() == 0
    alter(admin, "1", cordoned_log_dirs="*")
    eventually(lambda: cordoned() == 1)
    alter(admin, "1", cordoned_log_dirs=None)
    eventually(lambda: cordoned() == 0)


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("num_partitions", "3", "num.partitions"),
        ("log_retention_ms", "soon", "log.retention.ms"),
    ],
)
def test_what_cannot_change_while_brokers_run_is_refused(
    admin: AdminClient, name: str, value: str, reason: str
) -> None:
    with pytest.raises(KafkaException, match=reason.replace(".", r"\.")):
        alter(admin, "1", **{name: value})


def test_a_broker_without_controlled_shutdown_asks_nobody() -> None:
    with EmbeddedCluster(config={"controlled.shutdown.enable": "false"}) as cluster:
        lifecycle = cluster.broker.lifecycle

    assert lifecycle.standing.value == "running"


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"num.partitons": "2"}, "unknown property num.partitons; did you mean num.partitions?"),
        ({"num.partitions": "many"}, "Invalid value many for configuration num.partitions"),
        ({"create.topic.policy.class.name": "x.Y"}, "create.topic.policy.class.name must not"),
        ({"max.connections.per.ip.overrides": "host:1"}, "expected <IP address>:<count>"),
    ],
)
def test_a_cluster_with_wrong_properties_does_not_start(
    config: dict[str, str], reason: str
) -> None:
    with pytest.raises(ClusterError) as raised, EmbeddedCluster(config=config):
        pass

    assert reason in str(raised.value)
