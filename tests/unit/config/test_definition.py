"""The tables: every row is understood, and read only when it is asked for."""

import subprocess
import sys

import pytest

from barnabas_core.config.definition import Kind, definition, definitions, parse_properties
from barnabas_core.config.error import ConfigError, InvalidValue, MissingProperty, UnknownProperty
from barnabas_core.config.property_type import PropertyType, format_value
from barnabas_core.config.validator import validator

ROWS = {
    Kind.BROKER: 360,
    Kind.BROKER_DYNAMIC_ONLY: 3,
    Kind.TOPIC: 34,
    Kind.GROUP: 17,
    Kind.CLIENT_METRICS: 3,
    Kind.CLIENT_QUOTA: 4,
    Kind.IP_QUOTA: 1,
    Kind.ADMIN: 95,
    Kind.CONSUMER: 120,
    Kind.PRODUCER: 120,
}
# Defaults that Kafka puts in place behind its own validator's back.
UNCHECKED_DEFAULTS = {"process.roles", "share.acquire.mode"}


@pytest.mark.parametrize("kind", Kind)
def test_every_row_of_a_table_is_there(kind: Kind) -> None:
    assert len(definitions(kind)) == ROWS[kind]


@pytest.mark.parametrize("kind", Kind)
def test_every_default_passes_its_own_validator_and_shows_as_in_the_table(kind: Kind) -> None:
    for name, prop in definitions(kind).items():
        validator(prop.valid, prop.type)
        if prop.has_default and prop.default_text is not None and name not in UNCHECKED_DEFAULTS:
            assert format_value(prop.parse(prop.default_text)) == prop.default_text, name


@pytest.mark.parametrize("kind", [Kind.TOPIC, Kind.GROUP])
def test_every_synonym_is_a_broker_property(kind: Kind) -> None:
    for prop in definitions(kind).values():
        for synonym in prop.broker_synonyms:
            assert definition(Kind.BROKER, synonym).name == synonym


def test_a_row_carries_everything_that_the_table_says() -> None:
    prop = definition(Kind.BROKER, "log.cleaner.threads")

    assert prop.type is PropertyType.INT
    assert (prop.default, prop.default_text, prop.valid) == (1, "1", "[0,...]")
    assert (prop.importance, prop.is_internal, prop.update_mode) == (
        "MEDIUM",
        False,
        "cluster-wide",
    )


def test_synonyms_are_in_the_order_of_precedence() -> None:
    assert definition(Kind.TOPIC, "retention.ms").broker_synonyms == (
        "log.retention.ms",
        "log.retention.minutes",
        "log.retention.hours",
    )
    assert definition(Kind.GROUP, "share.isolation.level").broker_synonyms == ()


def test_what_is_repeated_in_a_list_of_fixed_members_counts_once() -> None:
    assert definition(Kind.TOPIC, "cleanup.policy").parse("delete,compact,delete") == (
        "delete",
        "compact",
    )
    repeated = definition(Kind.TOPIC, "leader.replication.throttled.replicas").parse("0:1,0:1")
    assert repeated == ("0:1", "0:1")


def test_a_null_default_is_no_value() -> None:
    assert definition(Kind.BROKER, "log.dirs").default is None
    with pytest.raises(InvalidValue, match="Value must be non-null"):
        definition(Kind.BROKER, "log.dirs").parse(None)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(UnknownProperty, match=r"^Unknown topic config name: retention\.hours$"):
        definition(Kind.TOPIC, "retention.hours")


def test_properties_are_completed_with_defaults() -> None:
    values = parse_properties(
        Kind.BROKER,
        {
            "node.id": "1",
            "process.roles": "broker,controller",
            "controller.listener.names": "CONTROLLER",
            "listeners": "PLAINTEXT://:9092, CONTROLLER://:9093",
            "some.plugin.setting": "is none of ours",
        },
    )

    assert values["listeners"] == ("PLAINTEXT://:9092", "CONTROLLER://:9093")
    assert values["num.partitions"] == 1
    assert values["log.dirs"] is None
    assert "some.plugin.setting" not in values


def test_a_property_without_a_default_must_be_set() -> None:
    with pytest.raises(MissingProperty) as caught:
        parse_properties(Kind.BROKER, {"node.id": "1", "process.roles": "broker"})

    assert str(caught.value) == (
        'Missing required configuration "controller.listener.names" which has no default value.'
    )


def test_a_wrong_property_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"Invalid value 0 for configuration background\.threads"):
        parse_properties(Kind.BROKER, {"background.threads": "0"})


def test_defaults_are_ready_without_reading_a_table() -> None:
    script = (
        "from barnabas_core.config import definition\n"
        "from barnabas_core.log.log_config import LogConfig\n"
        "assert LogConfig.of({}) == LogConfig()\n"
        "print(definition.definitions.cache_info().currsize)\n"
    )

    output = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    ).stdout

    assert output == "0\n"
