"""The configuration of a log: defaults, overrides, the broker's synonyms, what is refused."""

import inspect
import re
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.config.definition import Kind, Property, definition, definitions
from barnabas_core.config.error import ConfigError, ConflictingValues, InvalidValue, UnknownProperty
from barnabas_core.config.property_type import PropertyType, format_value
from barnabas_core.config.source import ConfigSource
from barnabas_core.log.log_config import LogConfig

HOUR_MS = 3_600_000
REMOTE = LogConfig.from_broker({"remote.log.storage.system.enable": "true"})

# Topic configs that are parsed here and used elsewhere, with whoever uses them.
NOT_FOR_THE_LOG = {
    "follower.replication.throttled.replicas": "replication quota of followers",
    "leader.replication.throttled.replicas": "replication quota of leaders",
    "local.retention.bytes": "tiered storage",
    "local.retention.ms": "tiered storage",
    "min.insync.replicas": "the partition's leader, before it acknowledges",
    "preallocate": "nobody: on the file systems of Linux a file grows as well without it",
    "remote.log.copy.disable": "tiered storage",
    "remote.log.delete.on.disable": "tiered storage",
    "remote.storage.enable": "tiered storage",
    "unclean.leader.election.enable": "the controller",
}
SPECIAL_FIELDS = {
    "cleanup.policy": ("cleanup_delete", "cleanup_compact"),
    "internal.segment.bytes": ("segment_bytes",),
}
NOT_TOPIC_CONFIGS = {
    "broker_properties",
    "hidden_segment_bytes",
    "overrides",
    "remote_log_storage_system_enable",
}


def fields_of(name: str) -> tuple[str, ...]:
    return SPECIAL_FIELDS.get(name, (name.replace(".", "_"),))


def test_every_topic_config_has_a_field_and_every_field_a_topic_config() -> None:
    expected = {each for name in definitions(Kind.TOPIC) for each in fields_of(name)}

    assert {each.name for each in fields(LogConfig)} - NOT_TOPIC_CONFIGS == expected
    assert NOT_FOR_THE_LOG.keys() <= definitions(Kind.TOPIC).keys()


def test_every_topic_config_that_concerns_the_log_is_read_by_it() -> None:
    log = Path(inspect.getfile(LogConfig)).parent
    source = "".join(path.read_text() for path in log.rglob("*.py") if path.name != "log_config.py")
    # These two reach the log as one figure.
    source += ".segment_ms" if ".segment_ms_max" in source else ""

    unread = [
        name
        for name in definitions(Kind.TOPIC)
        if name not in NOT_FOR_THE_LOG
        and not all(re.search(rf"\.{each}\b", source) for each in fields_of(name))
    ]
    assert unread == []


def test_every_default_is_kafkas() -> None:
    for name, prop in definitions(Kind.TOPIC).items():
        if name != "internal.segment.bytes":
            assert LogConfig().value(name) == prop.default, name


def another_value(name: str) -> str:
    """A valid value that is not the default."""
    special = {
        "cleanup.policy": "compact",
        "compression.type": "zstd",
        "follower.replication.throttled.replicas": "*",
        "internal.segment.bytes": "100",
        "leader.replication.throttled.replicas": "0:1",
        "message.timestamp.type": "LogAppendTime",
        "min.cleanable.dirty.ratio": "0.25",
        "segment.bytes": "1048576",
    }
    default = definitions(Kind.TOPIC)[name].default
    if name in special:
        return special[name]
    return "true" if default is False else "7"


@pytest.mark.parametrize("name", sorted(definitions(Kind.TOPIC)))
def test_every_override_changes_its_field_and_no_other(name: str) -> None:
    config = LogConfig.of({name: another_value(name)}, REMOTE)

    changed = {
        each.name
        for each in fields(LogConfig)
        if each.name not in NOT_TOPIC_CONFIGS
        and getattr(config, each.name) != getattr(LogConfig(), each.name)
    }
    assert changed
    assert changed <= set(fields_of(name))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cleanup.policy", "archive"),
        ("cleanup.policy", "delete,"),
        ("compression.gzip.level", "0"),
        ("compression.gzip.level", "10"),
        ("compression.lz4.level", "18"),
        ("compression.type", "none"),
        ("compression.zstd.level", "23"),
        ("flush.messages", "0"),
        ("index.interval.bytes", "-1"),
        ("max.compaction.lag.ms", "0"),
        ("max.message.bytes", "-1"),
        ("message.timestamp.type", "createtime"),
        ("min.cleanable.dirty.ratio", "1.01"),
        ("min.insync.replicas", "0"),
        ("preallocate", "1"),
        ("retention.ms", "-2"),
        ("segment.bytes", "1048575"),
        ("segment.index.bytes", "3"),
        ("segment.ms", "0"),
    ],
)
def test_what_kafka_refuses_is_refused(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=name.replace(".", r"\.")):
        LogConfig.of({name: value})


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(UnknownProperty, match=r"Unknown topic config name: log\.retention\.ms"):
        LogConfig.of({"log.retention.ms": "1"})


@pytest.mark.parametrize(
    ("policy", "delete", "compact"),
    [
        ("delete", True, False),
        ("compact", False, True),
        ("compact,delete", True, True),
        ("delete, compact", True, True),
        ("", False, False),
    ],
)
def test_a_cleanup_policy_is_any_subset(policy: str, *, delete: bool, compact: bool) -> None:
    config = LogConfig.of({"cleanup.policy": policy})

    assert (config.cleanup_delete, config.cleanup_compact) == (delete, compact)


def test_small_segments_are_for_tests_only() -> None:
    both = {"segment.bytes": "1048576", "internal.segment.bytes": "100"}

    assert LogConfig.of({"internal.segment.bytes": "100"}).segment_bytes == 100
    assert LogConfig.of(both).segment_bytes == 100
    assert LogConfig.of(dict(reversed(both.items()))).segment_bytes == 100


def test_the_least_compaction_lag_must_not_exceed_the_most() -> None:
    with pytest.raises(ConflictingValues) as caught:
        LogConfig.of({"min.compaction.lag.ms": "11", "max.compaction.lag.ms": "10"})

    assert str(caught.value) == (
        "conflict topic config setting min.compaction.lag.ms (11) > max.compaction.lag.ms (10)"
    )
    LogConfig.of({"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "10"})


def test_a_topic_is_judged_together_with_the_brokers_defaults() -> None:
    broker = LogConfig.from_broker({"log.cleaner.max.compaction.lag.ms": "10"})

    with pytest.raises(ConflictingValues):
        LogConfig.of({"min.compaction.lag.ms": "11"}, broker)


def test_a_compacted_log_rolls_in_time_for_its_compaction_lag() -> None:
    lag = {"max.compaction.lag.ms": "10", "segment.ms": "20"}

    assert LogConfig.of(lag).segment_ms_max == 20
    assert LogConfig.of({**lag, "cleanup.policy": "compact"}).segment_ms_max == 10
    assert LogConfig.of({"segment.ms": "20", "cleanup.policy": "compact"}).segment_ms_max == 20


def test_log_append_time_is_a_question_often_asked() -> None:
    assert not LogConfig().is_log_append_time
    assert LogConfig.of({"message.timestamp.type": "LogAppendTime"}).is_log_append_time


def test_without_overrides_a_topic_shares_the_brokers_config() -> None:
    broker = LogConfig.from_broker({"log.retention.ms": "1"})

    assert LogConfig.of({}, broker) is broker
    assert LogConfig.from_broker({"node.id": "1"}) is LogConfig.from_broker({})


@pytest.mark.parametrize(
    ("properties", "retention_ms"),
    [
        ({"log.retention.hours": "2"}, 2 * HOUR_MS),
        ({"log.retention.hours": "2", "log.retention.minutes": "3"}, 180_000),
        ({"log.retention.minutes": "3", "log.retention.ms": "4"}, 4),
        ({"log.retention.ms": "4", "log.retention.hours": "2"}, 4),
        ({"log.retention.ms": "-1"}, -1),
        ({"log.retention.hours": "-5"}, -1),
        ({"log.retention.hours": "2147483647"}, 2147483647 * HOUR_MS),
    ],
)
def test_the_finest_unit_of_retention_wins(properties: dict[str, str], retention_ms: int) -> None:
    assert LogConfig.from_broker(properties).retention_ms == retention_ms


@pytest.mark.parametrize(
    "name", ["log.retention.ms", "log.retention.minutes", "log.retention.hours"]
)
def test_a_broker_must_not_retain_for_no_time_at_all(name: str) -> None:
    with pytest.raises(InvalidValue, match=f"for configuration {name}: .*equal or greater than 1"):
        LogConfig.from_broker({name: "0"})


@pytest.mark.parametrize(
    ("properties", "field", "value"),
    [
        ({"log.roll.hours": "1"}, "segment_ms", HOUR_MS),
        ({"log.roll.hours": "1", "log.roll.ms": "5"}, "segment_ms", 5),
        ({"log.roll.jitter.hours": "1"}, "segment_jitter_ms", HOUR_MS),
        ({"log.roll.jitter.hours": "1", "log.roll.jitter.ms": "5"}, "segment_jitter_ms", 5),
        ({"log.flush.scheduler.interval.ms": "7"}, "flush_ms", 7),
        ({"log.flush.scheduler.interval.ms": "7", "log.flush.interval.ms": "8"}, "flush_ms", 8),
        ({"log.flush.interval.messages": "9"}, "flush_messages", 9),
        ({"log.segment.bytes": "2097152"}, "segment_bytes", 2097152),
        ({"message.max.bytes": "10"}, "max_message_bytes", 10),
        ({"log.cleaner.min.cleanable.ratio": "0.1"}, "min_cleanable_dirty_ratio", 0.1),
        ({"log.cleaner.delete.retention.ms": "1"}, "delete_retention_ms", 1),
        ({"log.segment.delete.delay.ms": "1"}, "file_delete_delay_ms", 1),
        ({"log.index.size.max.bytes": "4"}, "segment_index_bytes", 4),
        ({"log.cleanup.policy": "compact"}, "cleanup_delete", False),
        ({"compression.type": "gzip"}, "compression_type", "gzip"),
        ({"min.insync.replicas": "2"}, "min_insync_replicas", 2),
        ({"log.preallocate": "true"}, "preallocate", True),
    ],
)
def test_a_brokers_property_is_the_default_of_its_topics(
    properties: dict[str, str], field: str, value: object
) -> None:
    assert getattr(LogConfig.from_broker(properties), field) == value


def another(prop: Property) -> str:
    """A text that the property takes and that is not its default."""
    special = {"log.cleanup.policy": "compact", "compression.type": "gzip",
               "log.message.timestamp.type": "LogAppendTime", "log.segment.bytes": "2097152",
               "log.cleaner.min.cleanable.ratio": "0.25",
               "log.cleaner.max.compaction.lag.ms": "9000"}  # fmt: skip
    if prop.type is PropertyType.BOOLEAN:
        return "false" if prop.default else "true"
    return special.get(prop.name, "5")


@pytest.mark.parametrize(
    ("config", "synonym"),
    [
        (prop.name, each)
        for prop in definitions(Kind.TOPIC).values()
        for each in prop.broker_synonyms
    ],
)
def test_every_property_behind_a_topic_config_is_its_default(config: str, synonym: str) -> None:
    text = another(definitions(Kind.BROKER)[synonym])
    changed = LogConfig.from_broker({synonym: text})

    differing = [
        name for name in definitions(Kind.TOPIC) if changed.value(name) != LogConfig().value(name)
    ]
    # The small segments of tests and those of everybody are one field.
    assert [name for name in differing if name != "internal.segment.bytes"] == [config]


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("log.roll.ms", "0", "Value must be at least 1"),
        ("log.roll.jitter.ms", "-1", "Value must be at least 0"),
        ("log.segment.bytes", "5", "Value must be at least 1048576"),
        ("log.retention.hours", "x", "Not a number of type INT"),
    ],
)
def test_a_wrong_broker_property_is_refused_under_its_own_name(
    name: str, value: str, reason: str
) -> None:
    with pytest.raises(InvalidValue) as caught:
        LogConfig.from_broker({name: value})

    assert str(caught.value) == f"Invalid value {value} for configuration {name}: {reason}"


def test_a_synonym_that_loses_must_be_right_all_the_same() -> None:
    with pytest.raises(InvalidValue):
        LogConfig.from_broker({"log.retention.ms": "5", "log.retention.hours": "soon"})


def test_no_topic_uses_remote_storage_on_a_broker_without_it() -> None:
    with pytest.raises(ConfigError, match="Tiered Storage functionality is disabled"):
        LogConfig.of({"remote.storage.enable": "true"})


@pytest.mark.parametrize(
    ("overrides", "reason"),
    [
        ({"cleanup.policy": "compact"}, "only supports topics with cleanup.policy=delete"),
        ({"retention.ms": "10", "local.retention.ms": "-1"}, "must not be -1 as retention.ms"),
        ({"retention.ms": "10", "local.retention.ms": "11"}, "not be more than retention.ms"),
        ({"retention.bytes": "10", "local.retention.bytes": "11"}, "more than retention.bytes"),
        (
            {"remote.log.copy.disable": "true", "retention.ms": "10", "local.retention.ms": "9"},
            "must be set to the identical value",
        ),
    ],
)
def test_remote_storage_has_rules_of_its_own(overrides: dict[str, str], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        LogConfig.of({"remote.storage.enable": "true", **overrides}, REMOTE)
    if "remote.log.copy.disable" not in overrides:
        LogConfig.of(overrides, REMOTE)


@pytest.mark.parametrize(("total", "local"), [("10", "10"), ("10", "9"), ("-1", "9"), ("-1", "-1")])
def test_remote_storage_may_keep_less_here_than_in_all(total: str, local: str) -> None:
    config = LogConfig.of(
        {"remote.storage.enable": "true", "retention.ms": total, "local.retention.ms": local},
        REMOTE,
    )

    assert (config.remote_storage_enable, config.local_retention_ms) == (True, int(local))


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("cleanup.policy", "delete, compact", "delete,compact"),
        ("retention.ms", " +5 ", "5"),
        ("preallocate", "TRUE", "true"),
        ("min.cleanable.dirty.ratio", ".50", "0.5"),
    ],
)
def test_an_override_is_described_in_its_plain_form(name: str, value: str, shown: str) -> None:
    described = {each.name: each for each in LogConfig.of({name: value}).describe()}

    assert described[name].value == shown
    assert described[name].synonyms[0] == (name, shown, ConfigSource.DYNAMIC_TOPIC_CONFIG)


def test_a_description_names_every_source_of_a_value() -> None:
    broker = LogConfig.from_broker({"log.roll.hours": "3", "log.roll.ms": "9"})
    described = {each.name: each for each in LogConfig.of({"segment.ms": "7"}, broker).describe()}

    segment = described["segment.ms"]
    assert (segment.value, segment.source) == ("7", ConfigSource.DYNAMIC_TOPIC_CONFIG)
    assert segment.synonyms == (
        ("segment.ms", "7", ConfigSource.DYNAMIC_TOPIC_CONFIG),
        ("log.roll.ms", "9", ConfigSource.STATIC_BROKER_CONFIG),
        ("log.roll.hours", "3", ConfigSource.STATIC_BROKER_CONFIG),
        ("log.roll.hours", "168", ConfigSource.DEFAULT_CONFIG),
    )
    assert described["segment.bytes"].source is ConfigSource.DEFAULT_CONFIG
    assert described["segment.bytes"].value == "1073741824"


def test_a_value_from_another_unit_is_described_in_the_topics_unit_and_as_a_default() -> None:
    """Kafka looks for `log.retention.ms` alone."""
    broker = LogConfig.from_broker({"log.retention.hours": "5"})
    described = {each.name: each for each in broker.describe()}

    retention = described["retention.ms"]
    assert (retention.value, retention.source) == ("18000000", ConfigSource.DEFAULT_CONFIG)
    assert retention.synonyms == ()


def test_a_config_that_the_broker_sets_is_described_as_static() -> None:
    broker = LogConfig.from_broker({"log.cleanup.policy": "compact"})
    described = {each.name: each for each in broker.describe()}

    assert described["cleanup.policy"] == (
        "cleanup.policy",
        "compact",
        ConfigSource.STATIC_BROKER_CONFIG,
        (
            ("log.cleanup.policy", "compact", ConfigSource.STATIC_BROKER_CONFIG),
            ("log.cleanup.policy", "delete", ConfigSource.DEFAULT_CONFIG),
        ),
    )


@pytest.mark.parametrize("declared", [{}, {"segment.bytes": "1048576"}])
def test_small_segments_do_not_show_as_segment_bytes(declared: dict[str, str]) -> None:
    config = LogConfig.of({"internal.segment.bytes": "9", **declared})
    described = {each.name: each.value for each in config.describe()}

    assert described["internal.segment.bytes"] == "9"
    assert described["segment.bytes"] == declared.get("segment.bytes", "1073741824")


def test_an_internal_config_is_described_only_if_it_is_set() -> None:
    names = [each.name for each in LogConfig().describe()]
    with_internal = [each.name for each in LogConfig.of({"internal.segment.bytes": "9"}).describe()]

    assert sorted([*names, "internal.segment.bytes"]) == sorted(definitions(Kind.TOPIC))
    assert with_internal == sorted(definitions(Kind.TOPIC))


@given(
    st.dictionaries(
        st.sampled_from(sorted(set(definitions(Kind.TOPIC)) - {"internal.segment.bytes"})),
        st.sampled_from(["0", "1", "-1", "5000000", "true", "compact", "zstd", "0.5", "x", ""]),
        max_size=4,
    )
)
def test_a_config_is_taken_whole_or_refused_with_the_one_error(overrides: dict[str, str]) -> None:
    try:
        config = LogConfig.of(overrides, REMOTE)
    except ConfigError:
        return
    described = {each.name: each.value for each in config.describe()}
    # As Kafka shows it: a ratio given as 0 is described as 0.0.
    canonical = {
        name: format_value(definition(Kind.TOPIC, name).parse(text))
        for name, text in overrides.items()
    }
    assert {name: described[name] for name in overrides} == canonical


def test_a_ratio_is_described_as_kafka_writes_it() -> None:
    config = LogConfig.of({"min.cleanable.dirty.ratio": "0"})

    described = {each.name: each.value for each in config.describe()}

    assert described["min.cleanable.dirty.ratio"] == "0.0"
