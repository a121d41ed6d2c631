"""IncrementalAlterConfigs: what it does to topics. Messages and codes are those of Kafka 4.3.1."""

from dataclasses import replace

import pytest

from barnabas_core.metadata.keyed_image import TOPIC_RESOURCE
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.config_record import ConfigRecord
from tests.support.config_requests import (
    APPEND,
    DELETE,
    OK,
    SET,
    SUBTRACT,
    alter_one,
    altered,
    ask_alter,
    configs_of,
)
from tests.support.controller_lab import SETTINGS, ControllerLab

TOPIC = TOPIC_RESOURCE
INVALID_CONFIG = ErrorCode.INVALID_CONFIG
INVALID_REQUEST = ErrorCode.INVALID_REQUEST


@pytest.fixture
def lab() -> ControllerLab:
    lab = ControllerLab()
    lab.register_broker(1)
    lab.create_topic("t", {0: [1]})
    return lab


def test_a_value_is_set_and_another_is_kept(lab: ControllerLab) -> None:
    lab.set_topic_config("t", "retention.ms", "5")

    assert alter_one(lab, TOPIC, "t", ("retention.bytes", SET, "7")) == OK

    assert configs_of(lab, TOPIC, "t") == {"retention.ms": "5", "retention.bytes": "7"}


def test_a_deleted_value_is_gone_whatever_the_request_says_it_was(lab: ControllerLab) -> None:
    lab.set_topic_config("t", "retention.ms", "5")

    assert alter_one(lab, TOPIC, "t", ("retention.ms", DELETE, "zzz")) == OK

    assert configs_of(lab, TOPIC, "t") == {}


def test_an_unchanged_value_is_no_record(lab: ControllerLab) -> None:
    lab.set_topic_config("t", "retention.ms", "5")

    assert alter_one(lab, TOPIC, "t", ("retention.ms", SET, "5")) == OK

    assert lab.records == []


def test_deleting_what_was_never_set_is_fine_even_if_there_is_no_such_config(
    lab: ControllerLab,
) -> None:
    assert alter_one(lab, TOPIC, "t", ("nope", DELETE, None)) == OK


def test_appending_starts_from_kafkas_default(lab: ControllerLab) -> None:
    assert alter_one(lab, TOPIC, "t", ("cleanup.policy", APPEND, "compact")) == OK

    assert configs_of(lab, TOPIC, "t") == {"cleanup.policy": "delete,compact"}


def test_appending_what_is_there_changes_nothing(lab: ControllerLab) -> None:
    lab.set_topic_config("t", "cleanup.policy", "compact")

    assert alter_one(lab, TOPIC, "t", ("cleanup.policy", APPEND, "compact,delete")) == OK

    assert configs_of(lab, TOPIC, "t") == {"cleanup.policy": "compact,delete"}


def test_subtracting_takes_members_away_until_none_is_left(lab: ControllerLab) -> None:
    lab.set_topic_config("t", "cleanup.policy", "compact,delete")

    assert alter_one(lab, TOPIC, "t", ("cleanup.policy", SUBTRACT, "delete")) == OK
    assert configs_of(lab, TOPIC, "t") == {"cleanup.policy": "compact"}

    assert alter_one(lab, TOPIC, "t", ("cleanup.policy", SUBTRACT, "compact,other")) == OK
    assert configs_of(lab, TOPIC, "t") == {"cleanup.policy": ""}


@pytest.mark.parametrize("name", ["retention.ms", "nope"])
def test_only_lists_can_be_appended_to(lab: ControllerLab, name: str) -> None:
    message = f"Can't APPEND to key {name} because its type is not LIST."

    assert alter_one(lab, TOPIC, "t", (name, APPEND, "1")) == (INVALID_CONFIG, message)


def test_only_lists_can_be_subtracted_from(lab: ControllerLab) -> None:
    message = "Can't SUBTRACT to key retention.ms because its type is not LIST."

    assert alter_one(lab, TOPIC, "t", ("retention.ms", SUBTRACT, "1")) == (INVALID_CONFIG, message)


def test_an_operation_that_does_not_exist_is_refused(lab: ControllerLab) -> None:
    message = "Unknown operations type 7"

    assert alter_one(lab, TOPIC, "t", ("retention.ms", 7, "1")) == (INVALID_REQUEST, message)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "retention.ms",
            "abc",
            "Invalid value abc for configuration retention.ms: Not a number of type LONG",
        ),
        (
            "retention.ms",
            "-5",
            "Invalid value -5 for configuration retention.ms: Value must be at least -1",
        ),
        ("nope", "1", "Unknown topic config name: nope"),
        (
            "cleanup.policy",
            "compact,nonsense",
            (
                "Invalid value nonsense for configuration cleanup.policy: "
                "String must be one of: compact, delete"
            ),
        ),
        (
            "remote.storage.enable",
            "true",
            (
                "Tiered Storage functionality is disabled in the broker. "
                "Topic cannot be configured with remote log storage."
            ),
        ),
    ],
)
def test_a_wrong_value_is_refused_in_kafkas_words(
    lab: ControllerLab, name: str, value: str, message: str
) -> None:
    assert alter_one(lab, TOPIC, "t", (name, SET, value)) == (INVALID_CONFIG, message)


def test_a_list_does_not_grow_beyond_what_a_record_can_hold(lab: ControllerLab) -> None:
    name = "leader.replication.throttled.replicas"
    lab.set_topic_config("t", name, ",".join(f"{number}:1" for number in range(4_000)))
    more = ",".join(f"{number}:2" for number in range(1_000))

    outcome = alter_one(lab, TOPIC, "t", (name, APPEND, more))

    assert outcome == (
        INVALID_CONFIG,
        (
            "The configuration value cannot be added because it exceeds the maximum value size of "
            "32767 bytes."
        ),
    )


def test_values_that_do_not_fit_each_other_are_refused(lab: ControllerLab) -> None:
    lags = (("min.compaction.lag.ms", SET, "100"), ("max.compaction.lag.ms", SET, "5"))
    message = (
        "conflict topic config setting min.compaction.lag.ms (100) > max.compaction.lag.ms (5)"
    )

    assert alter_one(lab, TOPIC, "t", *lags) == (INVALID_CONFIG, message)


def test_a_value_must_fit_what_the_cluster_sets_for_all(lab: ControllerLab) -> None:
    lab.set_config(4, "", "log.cleaner.max.compaction.lag.ms", "50")

    error, message = alter_one(lab, TOPIC, "t", ("min.compaction.lag.ms", SET, "100"))

    assert error is INVALID_CONFIG
    assert message is not None
    assert "max.compaction.lag.ms (50)" in message


def test_a_placeholder_among_the_brokers_configs_does_not_stand_in_the_way(
    lab: ControllerLab,
) -> None:
    lab.set_config(4, "", "log.retention.ms", "${env:RETENTION}")

    assert alter_one(lab, TOPIC, "t", ("retention.bytes", SET, "100")) == OK


def test_a_wrong_name_is_told_before_a_wrong_value(lab: ControllerLab) -> None:
    values = (("retention.ms", SET, "x"), ("nope", SET, "1"))

    outcome = alter_one(lab, TOPIC, "t", *values)

    assert outcome == (INVALID_CONFIG, "Unknown topic config name: nope")


def test_one_wrong_value_spoils_all_of_its_resource(lab: ControllerLab) -> None:
    values = (("retention.bytes", SET, "1"), ("retention.ms", SET, "x"))

    assert alter_one(lab, TOPIC, "t", *values)[0] is INVALID_CONFIG

    assert lab.records == []


def test_nulls_are_refused_all_at_once(lab: ControllerLab) -> None:
    nulls = (("retention.ms", SET, None), ("retention.bytes", SET, None))
    message = "Null value not supported for : retention.ms, retention.bytes"

    assert alter_one(lab, TOPIC, "t", *nulls) == (INVALID_REQUEST, message)


def test_a_key_may_come_once(lab: ControllerLab) -> None:
    twice = (("retention.ms", SET, "1"), ("retention.ms", SET, "2"))

    assert alter_one(lab, TOPIC, "t", *twice) == (
        INVALID_REQUEST,
        "Error due to duplicate config keys",
    )


def test_a_resource_may_come_once_and_the_others_are_done(lab: ControllerLab) -> None:
    lab.create_topic("other", {0: [1]})
    once = ("retention.ms", SET, "1")

    outcomes = ask_alter(
        lab, altered(TOPIC, "t", once), altered(TOPIC, "other", once), altered(TOPIC, "t", once)
    )

    twice = (INVALID_REQUEST, "Each resource must appear at most once.")
    assert outcomes == [twice, OK, twice]
    assert configs_of(lab, TOPIC, "t") == {}
    assert configs_of(lab, TOPIC, "other") == {"retention.ms": "1"}


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("missing", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The topic 'missing' does not exist."),
        ("", INVALID_REQUEST, "Default topic resources are not allowed."),
        (
            "bad name",
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            (
                "Topic name is invalid: 'bad name' contains one or more characters other than "
                "ASCII alphanumerics, '.', '_' and '-'"
            ),
        ),
    ],
)
def test_a_topic_that_cannot_be_altered(
    lab: ControllerLab, name: str, error: ErrorCode, message: str
) -> None:
    assert alter_one(lab, TOPIC, name, ("retention.ms", SET, "1")) == (error, message)


def test_a_wrong_value_is_told_before_a_missing_topic(lab: ControllerLab) -> None:
    assert alter_one(lab, TOPIC, "missing", ("retention.ms", SET, "x"))[0] is INVALID_CONFIG


@pytest.mark.parametrize(
    ("resource_type", "message"),
    [
        (8, "Unexpected resource type BROKER_LOGGER."),
        (99, "Unknown resource type 99"),
        (0, "Unknown resource type 0"),
    ],
)
def test_resources_that_are_not_in_the_metadata_are_refused(
    lab: ControllerLab, resource_type: int, message: str
) -> None:
    outcome = alter_one(lab, resource_type, "1", ("root", SET, "DEBUG"))

    assert outcome == (INVALID_REQUEST, message)


def test_validation_alone_changes_nothing(lab: ControllerLab) -> None:
    good = altered(TOPIC, "t", ("retention.ms", SET, "1"))
    bad = altered(TOPIC, "missing", ("retention.ms", SET, "1"))

    outcomes = ask_alter(lab, good, bad, validate_only=True)

    assert [error for error, _ in outcomes] == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert lab.records == []


def test_resources_beyond_one_append_are_refused() -> None:
    lab = ControllerLab(replace(SETTINGS, max_records_per_decision=2))
    lab.register_broker(1)
    for name in "abc":
        lab.create_topic(name, {0: [1]})
    change = ("retention.ms", SET, "1")

    outcomes = ask_alter(lab, *(altered(TOPIC, name, change) for name in "abc"))

    too_many = "Unable to perform excessively large batch operation."
    assert outcomes == [OK, OK, (ErrorCode.POLICY_VIOLATION, too_many)]
    assert [r.resource_name for r in lab.records if isinstance(r, ConfigRecord)] == ["a", "b"]


def test_remote_storage_is_not_switched_off_while_its_data_is_there() -> None:
    on = {"remote.log.storage.system.enable": "true"}
    lab = ControllerLab(replace(SETTINGS, static_configs=on))
    lab.register_broker(1)
    lab.create_topic("t", {0: [1]})
    lab.set_topic_config("t", "remote.storage.enable", "true")

    error, message = alter_one(lab, TOPIC, "t", ("remote.storage.enable", SET, "false"))

    assert error is INVALID_CONFIG
    assert message is not None
    assert message.startswith("It is invalid to disable remote storage without deleting")
    both = (
        ("remote.storage.enable", SET, "false"),
        ("remote.log.delete.on.disable", SET, "true"),
    )
    assert alter_one(lab, TOPIC, "t", *both) == OK
