"""A cluster seen from outside: /metrics, /healthz and /readyz, with real clients at work."""

import re
import time
from contextlib import suppress
from pathlib import Path

from barnabas import EmbeddedCluster
from barnabas_core.wire.messages.api_versions_request import ApiVersionsRequest
from barnabas_core.wire.messages.api_versions_response import ApiVersionsResponse
from tests.support.controller_process import controllers, until
from tests.support.coordinator_process import CoordinatorNode
from tests.support.kafka_node import free_ports
from tests.support.librdkafka import produce, read
from tests.support.raw_client import ConnectionClosed, RawClient
from tests.support.scrape import Scrape, page
from tools import gen_metrics_doc

ALL_METRICS = [metric for metrics in gen_metrics_doc.SECTIONS.values() for metric in metrics]


def test_what_clients_do_is_counted_by_topic_api_and_listener() -> None:
    with EmbeddedCluster(metrics_port=0) as cluster:
        address = cluster.metrics_address
        assert address is not None
        cluster.create_topic("orders", partitions=1)
        produce(cluster.bootstrap_servers, "orders", [b"x" * 100] * 50)
        read(cluster.bootstrap_servers, "orders", 50)
        seen = Scrape(address)

        assert seen.one("barnabas_topic_messages_in_total", topic="orders") == 50
        size = seen.one("barnabas_topic_bytes_in_total", topic="orders")
        assert size > 5_000
        assert seen.one("barnabas_topic_bytes_out_total", topic="orders") >= size
        assert seen.total("barnabas_log_size_bytes", topic="orders") == size
        assert seen.total("barnabas_log_end_offset", topic="orders") == 50
        count = seen.one("barnabas_requests_total", api="Produce")
        assert count >= 1
        for phase in ("queue", "local", "remote", "response"):
            name = "barnabas_request_phase_time_seconds_count"
            assert seen.one(name, api="Produce", phase=phase) == count
        assert seen.one("barnabas_connections_accepted_total", listener="PLAINTEXT") >= 2
        # The reader looks for its group's coordinator, whose topic may be coming just now.
        assert seen.one("barnabas_partitions", node_id="1") >= 1
        assert seen.one("barnabas_leader_partitions") >= 1
        assert seen.one("barnabas_under_replicated_partitions") == 0
        assert seen.one("barnabas_controller_active") == 1
        assert seen.one("barnabas_controller_brokers", state="active") == 1
        assert seen.one("barnabas_controller_partitions") >= 1
        assert seen.one("barnabas_quorum_leader_id") == 1
        deadline = time.monotonic() + 30
        while Scrape(address).one("barnabas_metadata_lag_records"):
            assert time.monotonic() < deadline, "the metadata are never caught up with"
        assert seen.one("process_resident_memory_bytes") > 10_000_000


def test_what_a_leader_sends_its_follower_takes() -> None:
    with EmbeddedCluster(brokers=2, metrics_port=0) as cluster:
        address = cluster.metrics_address
        assert address is not None
        cluster.create_topic("t", partitions=1, replication_factor=2)
        cluster.move_leader("t", 0, 1)

        produce(cluster.bootstrap_servers, "t", [b"x" * 1000] * 50, acks="all")

        until(lambda: _replicated(address) >= 50_000, "the records are replicated and counted")
        seen = Scrape(address)
        assert seen.one("barnabas_replication_bytes_in_total", node_id="1") == 0
        sent = seen.one("barnabas_replication_bytes_out_total", node_id="1")
        assert sent == seen.one("barnabas_replication_bytes_in_total", node_id="2")


def _replicated(address: tuple[str, int]) -> float:
    return Scrape(address).one("barnabas_replication_bytes_in_total", node_id="2")


def test_errors_and_refused_connections_are_counted() -> None:
    with EmbeddedCluster(metrics_port=0, config={"max.connections": "1"}) as cluster:
        address = cluster.metrics_address
        assert address is not None
        host, _, port = cluster.bootstrap_servers.partition(":")
        with RawClient((host, int(port))) as client:
            wrong = client.ask(ApiVersionsRequest("", ""), 3, ApiVersionsResponse)
            assert wrong.error_code != 0
            with suppress(OSError, ConnectionClosed), RawClient((host, int(port))) as other:
                other.ask(ApiVersionsRequest("raw", "1"), 3, ApiVersionsResponse)
        until(lambda: _closed(address) == 1, "the end of the connection is counted")
        seen = Scrape(address)

        errors = seen.one(
            "barnabas_request_errors_total", api="ApiVersions", error="INVALID_REQUEST"
        )
        assert errors == 1
        assert seen.one("barnabas_connections_refused_total", limit="max.connections") == 1


def _closed(address: tuple[str, int]) -> float:
    return Scrape(address).one("barnabas_connections_closed_total", reason="client")


def test_a_lost_replica_shows_on_the_leader_and_its_end_on_readyz() -> None:
    with EmbeddedCluster(brokers=2, metrics_port=0) as cluster:
        address = cluster.metrics_address
        assert address is not None
        cluster.create_topic(
            "t", partitions=1, replication_factor=2, config={"min.insync.replicas": "2"}
        )
        cluster.move_leader("t", 0, 1)
        assert page(address, "/healthz").status == 200
        _wait_ready(address)
        until(
            lambda: Scrape(address).one("barnabas_at_min_isr_partitions", node_id="1") == 1,
            "the leader knows its ISR",
        )

        cluster.stop_broker(2)

        until(
            lambda: Scrape(address).one("barnabas_under_min_isr_partitions", node_id="1") == 1,
            "the leader says that a replica is missing",
        )
        seen = Scrape(address)
        assert seen.one("barnabas_under_replicated_partitions", node_id="1") == 1
        assert seen.one("barnabas_isr_shrinks_total", node_id="1") == 1
        ready = page(address, "/readyz")
        assert ready == (503, "broker 2: on its way out\n")

        cluster.start_broker(2)

        _wait_ready(address)
        until(
            lambda: Scrape(address).one("barnabas_isr_expands_total", node_id="1") == 1,
            "the replica comes back into the ISR",
        )
        assert Scrape(address).one("barnabas_under_replicated_partitions", node_id="1") == 0


def _wait_ready(address: tuple[str, int]) -> None:
    """What was committed last takes a moment to be applied everywhere."""
    until(lambda: page(address, "/readyz") == (200, "ok\n"), "every role is ready")


def test_a_controller_as_a_process_is_seen_from_outside(tmp_path: Path) -> None:
    with controllers(tmp_path, 1, "metrics.listener=127.0.0.1:0\n") as quorum:
        quorum.wait_active()
        found = re.search(r"figures are served +address=127.0.0.1:(\d+)", quorum[1].output())
        assert found is not None, quorum[1].output()
        address = ("127.0.0.1", int(found[1]))

        until(lambda: page(address, "/readyz").status == 200, "the controller is ready")
        seen = Scrape(address)
        assert seen.one("barnabas_controller_active", node_id="1") == 1
        assert seen.one("barnabas_quorum_voters") == 1
        assert seen.one("barnabas_requests_total", api="DescribeQuorum") >= 1
        quorum[1].stop()


def test_a_coordinator_is_ready_once_a_controller_knows_it(tmp_path: Path) -> None:
    nobodys_port, metrics_port = free_ports(2)
    address = ("127.0.0.1", metrics_port)
    node = CoordinatorNode(tmp_path, 101, f"metrics.listener=127.0.0.1:{metrics_port}\n")

    def told() -> tuple[int, str]:
        try:
            return page(address, "/readyz")
        except ConnectionError:
            return 0, "it does not listen yet"

    node.configure(f"127.0.0.1:{nobodys_port}")
    node.start()
    try:
        alone = (503, "coordinator 101: no metadata yet\n")
        until(lambda: told() == alone, "it waits for a controller")
        assert page(address, "/healthz").status == 200
    finally:
        node.kill()

    with controllers(tmp_path, 1) as quorum:
        quorum.wait_active()
        node.configure(quorum.servers)
        node.start()
        try:
            until(lambda: told()[0] == 200, "the coordinator is ready")
        finally:
            node.stop()


def test_whatever_a_cluster_tells_is_in_the_document() -> None:
    with EmbeddedCluster(metrics_port=0) as cluster:
        assert cluster.metrics_address is not None
        cluster.create_topic("t")
        told = Scrape(cluster.metrics_address).families

    # The parser leaves the suffix of counters out.
    known = {metric.name.removesuffix("_total"): metric.type.value for metric in ALL_METRICS}
    assert {name: known.get(name) for name in told} == told
    assert len(told) > 40
