"""Topic configs: described and refused as a real Kafka does it, word for word."""

import re
from pathlib import Path
from typing import cast

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin._config import ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourceType

from barnabas_core.config.error import ConfigError
from barnabas_core.config.source import ConfigSource
from barnabas_core.log.log_config import LogConfig
from tests.support.external import JavaRuntime
from tests.support.kafka_node import KafkaNode

OVERRIDES = {
    "cleanup.policy": "delete,compact",
    "retention.ms": "1000",
    "min.cleanable.dirty.ratio": "0.25",
    "leader.replication.throttled.replicas": "0:1",
}


BROKER = {
    "log.cleanup.policy": "compact",
    "log.flush.scheduler.interval.ms": "77",
    "log.retention.hours": "5",
    "log.roll.hours": "3",
    "log.roll.ms": "7200000",
    "log.segment.bytes": "2097152",
}


def topic_of(request: pytest.FixtureRequest) -> str:
    """A name of its own for each case."""
    return re.sub(r"[^a-z0-9]+", "-", str(request.node.name))


def describe(node: KafkaNode, topic: str) -> dict[str, ConfigEntry]:
    admin = node.admin()
    resource = ConfigResource(ResourceType.TOPIC, topic)
    described: dict[str, ConfigEntry] = admin.describe_configs([resource])[resource].result(30)
    return described


def source_of(entry: ConfigEntry) -> ConfigSource:
    """The client's own types promise an enumeration and give its number."""
    return ConfigSource(cast("int", entry.source))


def assert_described_alike(ours: LogConfig, theirs: dict[str, ConfigEntry]) -> None:
    # A new cluster sets this one for itself, since it has eligible leader replicas.
    set_by_itself = theirs.pop("min.insync.replicas")
    assert source_of(set_by_itself) == ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    described = {each.name: each for each in ours.describe()}
    del described["min.insync.replicas"]
    assert described.keys() == theirs.keys()
    for name, entry in theirs.items():
        # Python sees the last one of those with the same name.
        synonyms = {each.name: (each.value, each.source) for each in described[name].synonyms}
        assert (name, described[name].value) == (name, entry.value)
        assert (name, described[name].source) == (name, source_of(entry))
        assert synonyms == {
            synonym.name: (synonym.value, source_of(synonym)) for synonym in entry.synonyms.values()
        }


def test_a_topic_is_described_as_kafka_does(kafka: KafkaNode) -> None:
    kafka.create_topic("described", OVERRIDES)

    assert_described_alike(LogConfig.of(OVERRIDES), describe(kafka, "described"))


def test_a_brokers_own_defaults_are_described_as_kafka_does(
    java: JavaRuntime, tmp_path: Path
) -> None:
    text = "".join(f"{name}={value}\n" for name, value in BROKER.items())
    node = KafkaNode(java, tmp_path, text)
    with node.running():
        node.create_topic("topic", OVERRIDES)
        theirs = describe(node, "topic")

    assert_described_alike(LogConfig.of(OVERRIDES, LogConfig.from_broker(BROKER)), theirs)


@pytest.mark.parametrize(
    "overrides",
    [
        {"no.such.config": "1"},
        {"retention.ms": "soon"},
        {"retention.ms": "-2"},
        {"segment.bytes": "100"},
        {"segment.bytes": "2147483648"},
        {"preallocate": "maybe"},
        {"min.cleanable.dirty.ratio": "1.5"},
        {"min.cleanable.dirty.ratio": "half"},
        {"cleanup.policy": "archive"},
        {"cleanup.policy": "delete,"},
        {"compression.type": "none"},
        {"compression.gzip.level": "0"},
        {"compression.gzip.level": "10"},
        {"compression.zstd.level": "23"},
        {"message.timestamp.type": "Now"},
        {"leader.replication.throttled.replicas": "0-1"},
        {"min.compaction.lag.ms": "11", "max.compaction.lag.ms": "10"},
        {"remote.storage.enable": "true"},
    ],
)
def test_a_topic_is_refused_in_kafkas_words(
    kafka: KafkaNode, overrides: dict[str, str], request: pytest.FixtureRequest
) -> None:
    with pytest.raises(KafkaException) as theirs:
        kafka.create_topic(topic_of(request), overrides)
    with pytest.raises(ConfigError) as ours:
        LogConfig.of(overrides)

    assert str(ours.value) == theirs.value.args[0].str()


@pytest.mark.parametrize(
    "overrides",
    [
        {"cleanup.policy": ""},
        {"cleanup.policy": "delete, delete"},
        {"internal.segment.bytes": "9"},
        {"retention.ms": " 5 "},
        {"preallocate": "TRUE"},
        {"retention.bytes": "-7"},
        {"compression.gzip.level": "-1"},
        {"compression.zstd.level": "-5"},
        {"leader.replication.throttled.replicas": "*"},
        {"min.cleanable.dirty.ratio": "NaN"},
    ],
)
def test_what_kafka_takes_is_taken_and_described_alike(
    kafka: KafkaNode, overrides: dict[str, str], request: pytest.FixtureRequest
) -> None:
    kafka.create_topic(topic_of(request), overrides)

    assert_described_alike(LogConfig.of(overrides), describe(kafka, topic_of(request)))
