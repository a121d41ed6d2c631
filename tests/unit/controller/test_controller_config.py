"""Kafka's properties as settings of a controller."""

from typing import Any
from unittest.mock import patch

import pytest

from barnabas_controller.controller_config import ControllerConfig, controller_config
from barnabas_controller.start import node_controller_config
from barnabas_core.config.server_properties import node_properties
from barnabas_core.log.directories.directory_meta import MetaProperties

CONTROLLER = {
    "process.roles": "controller",
    "node.id": "3",
    "controller.quorum.voters": "3@c3:9093,4@c4:9093",
    "listeners": "CONTROLLER://c3:9093",
    "controller.listener.names": "CONTROLLER",
    "log.dirs": "/data",
}


def load(**changes: str) -> ControllerConfig:
    given = CONTROLLER | {name.replace("_", "."): text for name, text in changes.items()}
    return controller_config(node_properties(given, {}, lambda _: None), "cluster", bytes(16))


def setting(config: ControllerConfig, path: str) -> Any:  # noqa: ANN401 - whatever it is
    value: Any = config
    for name in path.split("."):
        value = getattr(value, name)
    return value


@pytest.mark.parametrize(
    ("name", "text", "path", "value"),
    [
        ("num.partitions", "7", "settings.partition_count", 7),
        ("default.replication.factor", "3", "settings.default_replication_factor", 3),
        ("min.insync.replicas", "2", "settings.min_insync_replicas", 2),
        ("unclean.leader.election.enable", "true", "settings.unclean_leader_election", True),
        ("unclean.leader.election.interval.ms", "8", "intervals.unclean_election_ms", 8),
        ("delete.topic.enable", "false", "settings.delete_topics", False),
        ("broker.session.timeout.ms", "9", "settings.broker_session_timeout_ms", 9),
        ("broker.heartbeat.interval.ms", "10", "settings.broker_heartbeat_interval_ms", 10),
        ("leader.imbalance.check.interval.seconds", "11", "intervals.balance_ms", 11_000),
        ("auto.leader.rebalance.enable", "false", "intervals.balance_ms", 0),
        ("metadata.max.idle.interval.ms", "12", "intervals.idle_ms", 12),
        ("controller.quorum.election.timeout.ms", "13", "quorum.raft.election_timeout_ms", 13),
        ("controller.quorum.fetch.timeout.ms", "14", "quorum.raft.fetch_timeout_ms", 14),
        ("controller.quorum.request.timeout.ms", "15", "quorum.raft.request_timeout_ms", 15),
        ("controller.quorum.retry.backoff.ms", "16", "quorum.raft.retry_backoff_ms", 16),
        ("controller.quorum.fetch.max.bytes", "17", "quorum.raft.fetch_max_bytes", 17),
        ("controller.quorum.fetch.snapshot.max.bytes", "18", "quorum.raft.snapshot_max_bytes", 18),
        ("controller.quorum.auto.join.enable", "true", "quorum.raft.auto_join", True),
        ("metadata.log.dir", "/m", "quorum.metadata_dir", "/m"),
        ("metadata.log.segment.bytes", "8388609", "quorum.segment_bytes", 8_388_609),
        ("internal.metadata.log.segment.bytes", "19", "quorum.segment_bytes", 19),
        ("metadata.log.segment.ms", "20", "quorum.segment_ms", 20),
        ("metadata.log.max.record.bytes.between.snapshots", "21", "quorum.snapshot_bytes", 21),
        ("metadata.log.max.snapshot.interval.ms", "22", "quorum.snapshot_interval_ms", 22),
        ("metadata.max.retention.bytes", "23", "quorum.retention_bytes", 23),
        ("metadata.max.retention.ms", "24", "quorum.retention_ms", 24),
        ("internal.metadata.delete.delay.millis", "25", "quorum.file_delete_delay_ms", 25),
        ("internal.metadata.max.batch.size.in.bytes", "26", "quorum.batch_bytes_max", 26),
        ("socket.request.max.bytes", "27", "endpoint.frame_bytes_max", 27),
        ("max.connections", "28", "endpoint.limits.count_max", 28),
        ("max.connections.per.ip", "29", "endpoint.limits.address_count_max", 29),
        ("connections.max.idle.ms", "300", "endpoint.idle_ms_max", 300),
    ],
)
def test_a_property_becomes_a_setting(name: str, text: str, path: str, value: object) -> None:
    config = load(**{name.replace(".", "_"): text})

    assert setting(config, path) == value
    assert setting(load(), path) != value


def test_one_fetch_takes_the_largest_batch_unless_somebody_says_otherwise() -> None:
    quorum = load().quorum

    assert quorum.raft.fetch_max_bytes >= quorum.batch_bytes_max


def endpoints(**changes: str) -> list[tuple[str, str, int]]:
    given = CONTROLLER | {name.replace("_", "."): text for name, text in changes.items()}
    properties = node_properties(given, {}, lambda _: None)
    config = controller_config(properties, "cluster", bytes(16), "this.machine")
    assert {one.host for one in config.advertised} == {config.quorum.endpoints[0].host}
    return [(one.listener, one.host, one.port) for one in config.quorum.endpoints]


@pytest.mark.parametrize("every_address", ["", "0.0.0.0"])  # noqa: S104 - told to nobody
def test_a_controller_that_listens_on_every_address_is_a_voter_by_the_name_of_its_machine(
    every_address: str,
) -> None:
    wild = endpoints(
        listeners=f"CONTROLLER://{every_address}:9093", internal_listener=f"{every_address}:7000"
    )

    assert wild == [("CONTROLLER", "this.machine", 9093), ("INTERNAL", "this.machine", 7000)]


@pytest.mark.parametrize("every_address", ["", "0.0.0.0", "[::]"])  # noqa: S104 - told to nobody
def test_links_on_every_address_are_told_by_the_host_of_the_controller(every_address: str) -> None:
    wild = endpoints(internal_listener=f"{every_address}:7000")
    named = endpoints(internal_listener="inside:7000")

    assert wild == [("CONTROLLER", "c3", 9093), ("INTERNAL", "c3", 7000)]
    assert named == [("CONTROLLER", "c3", 9093), ("INTERNAL", "inside", 7000)]


def test_the_name_of_the_machine_is_asked_for_only_where_nothing_else_says_it() -> None:
    meta = MetaProperties("cluster", 3, bytes(16))
    wild = CONTROLLER | {"listeners": "CONTROLLER://:9093"}
    with patch("socket.getfqdn", return_value="this.machine") as asked:
        named = node_controller_config(node_properties(CONTROLLER, {}, lambda _: None), meta)
        assert named.advertised[0].host == "c3"
        assert asked.call_count == 0

        told = node_controller_config(node_properties(wild, {}, lambda _: None), meta)
        assert told.advertised[0].host == "this.machine"
        assert told.listeners[0].host == "", "bound as before"
