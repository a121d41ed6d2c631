"""Kafka's properties as settings of a broker."""

from dataclasses import replace
from typing import Any

import pytest

from barnabas_broker.broker_config import BrokerConfig
from barnabas_broker.broker_settings import with_properties
from barnabas_core.config.error import ConfigError
from barnabas_core.config.listener import Listener
from barnabas_core.ports.link import Address

PLAIN = BrokerConfig(
    node_id=1,
    cluster_id="cluster",
    log_dirs=("/data",),
    listeners=(Listener("PLAINTEXT", "b1", 9092, "PLAINTEXT"),),
    internal=Address("b1", 10092),
    controllers=(Address("c1", 10093),),
)


def setting(config: BrokerConfig, path: str) -> Any:  # noqa: ANN401 - whatever it is
    value: Any = config
    for name in path.split("."):
        value = getattr(value, name)
    return value


@pytest.mark.parametrize(
    ("name", "text", "path", "value"),
    [
        ("broker.rack", "r1", "rack", "r1"),
        ("auto.create.topics.enable", "false", "auto_create_topics", False),
        ("fetch.max.bytes", "1024", "fetch_bytes_max", 1024),
        ("max.incremental.fetch.session.cache.slots", "6", "fetch_session_slots", 6),
        ("max.request.partition.size.limit", "7", "described_partition_count_max", 7),
        ("socket.request.max.bytes", "5000", "endpoint.frame_bytes_max", 5000),
        ("queued.max.request.bytes", "6000", "endpoint.large_bytes_max", 6000),
        ("connections.max.idle.ms", "-1", "endpoint.idle_ms_max", -1),
        ("max.connections", "3", "endpoint.limits.count_max", 3),
        ("max.connections.per.ip", "3", "endpoint.limits.address_count_max", 3),
        ("broker.heartbeat.interval.ms", "11", "lifecycle.heartbeat_interval_ms", 11),
        ("broker.session.timeout.ms", "12", "lifecycle.session_timeout_ms", 12),
        ("initial.broker.registration.timeout.ms", "13", "lifecycle.registration_timeout_ms", 13),
        ("controlled.shutdown.enable", "false", "controlled_shutdown", False),
        ("log.cleaner.enable", "false", "cleaner.is_enabled", False),
        ("log.cleaner.backoff.ms", "5", "cleaner.backoff_ms", 5),
        ("log.cleaner.dedupe.buffer.size", "9000000", "cleaner.dedupe_buffer_bytes", 9_000_000),
        ("log.cleaner.io.buffer.load.factor", "0.5", "cleaner.load_factor", 0.5),
        ("log.cleaner.io.buffer.size", "4096", "cleaner.io_buffer_bytes", 4096),
        ("log.cleaner.io.max.bytes.per.second", "10.0", "cleaner.io_bytes_per_second", 10.0),
        ("log.retention.check.interval.ms", "14", "retention_check_interval_ms", 14),
        ("log.flush.offset.checkpoint.interval.ms", "15", "checkpoint_interval_ms", 15),
        ("log.flush.start.offset.checkpoint.interval.ms", "16", "checkpoint_interval_ms", 16),
        ("replica.high.watermark.checkpoint.interval.ms", "17", "checkpoint_interval_ms", 17),
        ("log.flush.scheduler.interval.ms", "18", "flush_check_interval_ms", 18),
        ("producer.id.expiration.ms", "19", "producer_expiration_ms", 19),
        ("producer.id.expiration.check.interval.ms", "20",
         "producer_expiration_check_interval_ms", 20),
        ("replica.lag.time.max.ms", "21", "replication.lag_ms_max", 21),
        ("replica.fetch.max.bytes", "22", "replication.chunk_bytes_max", 22),
    ],
)  # fmt: skip
def test_a_property_becomes_a_setting(name: str, text: str, path: str, value: object) -> None:
    config = with_properties(PLAIN, {name: text})

    assert setting(config, path) == value
    assert config.static_configs == {name: text}


def test_kafkas_selector_by_rack_is_known_by_its_name() -> None:
    package = "org.apache.kafka.common.replica"

    def is_rack_aware(class_name: str) -> bool:
        return with_properties(PLAIN, {"replica.selector.class": class_name}).is_rack_aware

    assert is_rack_aware(f"{package}.RackAwareReplicaSelector")
    assert not is_rack_aware(f"{package}.LeaderSelector")
    with pytest.raises(ConfigError, match=r"replica\.selector\.class"):
        is_rack_aware("com.example.Mine")


def test_the_shortest_interval_of_a_checkpoint_counts_for_all() -> None:
    intervals = {
        "log.flush.offset.checkpoint.interval.ms": "30",
        "log.flush.start.offset.checkpoint.interval.ms": "20",
        "replica.high.watermark.checkpoint.interval.ms": "40",
    }

    assert with_properties(PLAIN, intervals).checkpoint_interval_ms == 20


def test_without_properties_nothing_changes() -> None:
    assert with_properties(PLAIN, {}) is PLAIN
    unbounded = with_properties(PLAIN, {"queued.max.request.bytes": "-1"})
    assert unbounded.endpoint.large_bytes_max == PLAIN.endpoint.large_bytes_max


def test_defaults_of_the_properties_are_defaults_of_the_settings() -> None:
    """Setting one property must not change what another stands for."""
    config = with_properties(PLAIN, {"log.dirs": "/data"})

    assert replace(config, static_configs={}, cleaner=None) == PLAIN


def test_a_wrong_property_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"configuration fetch\.max\.bytes"):
        with_properties(PLAIN, {"fetch.max.bytes": "1"})
