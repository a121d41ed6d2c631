"""From the properties of a node to how its groups are run."""

from dataclasses import fields

import pytest

from barnabas_broker.shards.group_coordination import commit_timeout_s
from barnabas_broker.shards.internal_topic import group_topic
from barnabas_coordinator.group.group_settings import PROPERTIES, GroupSettings
from barnabas_core.config.definition import Kind, definitions
from barnabas_core.config.error import ConfigError
from barnabas_core.config.property_type import PropertyType
from barnabas_core.records.compression import Compression

CHOSEN: dict[str, tuple[str, object]] = {
    "group.consumer.assignors": ("range", ("range",)),
    "group.consumer.migration.policy": ("DISABLED", "DISABLED"),
    "group.coordinator.rebalance.protocols": ("classic", ("classic",)),
    "offsets.topic.compression.codec": ("4", Compression.ZSTD),
}


@pytest.mark.parametrize("field", [one.name for one in fields(GroupSettings)])
def test_a_property_reaches_the_groups(field: str) -> None:
    name = PROPERTIES[field]
    prop = definitions(Kind.BROKER)[name]
    default = prop.default
    text, value = CHOSEN.get(name, ("", None))
    if value is None and prop.type in (PropertyType.INT, PropertyType.LONG):
        assert isinstance(default, int)
        text, value = str(default - 1), default - 1

    assert getattr(GroupSettings.from_broker({name: text}), field) == value
    expected = tuple(default) if isinstance(default, list | tuple) else default
    assert getattr(GroupSettings(), field) == expected
    assert GroupSettings.from_broker({}) == GroupSettings()


def test_kafkas_assignors_may_be_named_by_their_classes() -> None:
    prefix = "org.apache.kafka.coordinator.group.assignor."
    both = f"{prefix}RangeAssignor,{prefix}UniformAssignor"

    found = GroupSettings.from_broker({"group.consumer.assignors": both})

    assert found.consumer_assignors == ("range", "uniform")


@pytest.mark.parametrize("text", ["org.example.Mine", "uniform,fair"])
def test_an_assignor_that_nobody_knows_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"group\.consumer\.assignors: no assignor"):
        GroupSettings.from_broker({"group.consumer.assignors": text})


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("offsets.topic.compression.codec", "5", "there is no codec 5"),
        ("group.coordinator.rebalance.protocols", "consumer", "classic cannot be switched off"),
    ],
)
def test_what_cannot_be_is_refused(name: str, text: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=f"{name}: {reason}"):
        GroupSettings.from_broker({name: text})


def test_the_topic_of_groups_is_made_as_the_properties_say() -> None:
    topic = group_topic(
        {
            "offsets.topic.num.partitions": "7",
            "offsets.topic.replication.factor": "2",
            "offsets.topic.segment.bytes": "1048576",
        }
    )

    assert (topic.name, topic.num_partitions, topic.replication_factor) == (
        "__consumer_offsets",
        7,
        2,
    )
    assert {one.name: one.value for one in topic.configs} == {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": "1048576",
    }


def test_without_properties_it_is_made_as_kafka_makes_it() -> None:
    topic = group_topic({})

    assert (topic.num_partitions, topic.replication_factor) == (50, 3)
    assert ("segment.bytes", "104857600") in [(one.name, one.value) for one in topic.configs]


def test_commits_wait_for_replicas_as_long_as_the_property_says() -> None:
    name = "offsets.commit.timeout.ms"

    assert commit_timeout_s({name: "300"}) == 0.3
    assert commit_timeout_s({}) * 1000 == definitions(Kind.BROKER)[name].default
