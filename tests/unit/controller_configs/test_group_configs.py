"""Configs of groups and of subscriptions to client metrics, as Kafka 4.3.1 refuses them."""

from dataclasses import replace

import pytest

from barnabas_core.metadata.keyed_image import CLIENT_METRICS_RESOURCE, GROUP_RESOURCE
from barnabas_core.wire.error_code import ErrorCode
from tests.support.config_requests import APPEND, OK, SET, alter_one, configs_of
from tests.support.controller_lab import SETTINGS, ControllerLab

INVALID_CONFIG = ErrorCode.INVALID_CONFIG
INVALID_REQUEST = ErrorCode.INVALID_REQUEST


def test_a_group_has_configs_before_it_has_members() -> None:
    lab = ControllerLab()

    outcome = alter_one(lab, GROUP_RESOURCE, "g", ("consumer.session.timeout.ms", SET, "50000"))

    assert outcome == OK
    assert configs_of(lab, GROUP_RESOURCE, "g") == {"consumer.session.timeout.ms": "50000"}


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "consumer.session.timeout.ms",
            "5",
            (
                "consumer.session.timeout.ms must be greater than or equal to "
                "group.consumer.min.session.timeout.ms"
            ),
        ),
        (
            "consumer.session.timeout.ms",
            "5000000",
            (
                "consumer.session.timeout.ms must be less than or equal to "
                "group.consumer.max.session.timeout.ms"
            ),
        ),
        (
            "consumer.heartbeat.interval.ms",
            "abc",
            (
                "Invalid value abc for configuration consumer.heartbeat.interval.ms: "
                "Not a number of type INT"
            ),
        ),
        (
            "consumer.heartbeat.interval.ms",
            "1",
            (
                "consumer.heartbeat.interval.ms must be greater than or equal to "
                "group.consumer.min.heartbeat.interval.ms"
            ),
        ),
        ("nope", "1", "Unknown group config name: nope"),
        (
            "share.isolation.level",
            "never",
            (
                "Invalid value never for configuration share.isolation.level: "
                "String must be one of: read_committed, read_uncommitted"
            ),
        ),
        (
            "share.delivery.count.limit",
            "1",
            (
                "Invalid value 1 for configuration share.delivery.count.limit: "
                "Value must be at least 2"
            ),
        ),
        (
            "share.delivery.count.limit",
            "100",
            (
                "share.delivery.count.limit must be less than or equal to "
                "group.share.max.delivery.count.limit"
            ),
        ),
        (
            "streams.num.standby.replicas",
            "5",
            (
                "streams.num.standby.replicas must be less than or equal to "
                "group.streams.max.standby.replicas"
            ),
        ),
    ],
)
def test_a_group_stays_within_the_brokers_bounds(name: str, value: str, message: str) -> None:
    outcome = alter_one(ControllerLab(), GROUP_RESOURCE, "g", (name, SET, value))

    assert outcome == (INVALID_CONFIG, message)


def test_a_session_outlasts_a_heartbeat() -> None:
    static = {"group.share.min.session.timeout.ms": "1000"}
    lab = ControllerLab(replace(SETTINGS, static_configs=static))

    outcome = alter_one(lab, GROUP_RESOURCE, "g", ("share.session.timeout.ms", SET, "5000"))

    message = "share.session.timeout.ms must be greater than share.heartbeat.interval.ms"
    assert outcome == (INVALID_CONFIG, message)


def test_there_is_no_default_group() -> None:
    outcome = alter_one(ControllerLab(), GROUP_RESOURCE, "", ("share.session.timeout.ms", SET, "1"))

    assert outcome == (INVALID_REQUEST, "Default group resources are not allowed.")


def test_a_subscription_to_client_metrics() -> None:
    lab = ControllerLab()
    configs = {
        "interval.ms": "500",
        "metrics": "org.x",
        "match": "client_id=a.*,client_software_version=1.0",
    }

    outcome = alter_one(
        lab, CLIENT_METRICS_RESOURCE, "m", *((name, SET, value) for name, value in configs.items())
    )

    assert outcome == OK
    assert configs_of(lab, CLIENT_METRICS_RESOURCE, "m") == configs


@pytest.mark.parametrize(
    ("name", "value", "error", "message"),
    [
        (
            "interval.ms",
            "5",
            INVALID_REQUEST,
            "Invalid value 5 for interval.ms, interval must be between 100 and 3600000 (1 hour)",
        ),
        (
            "interval.ms",
            "abc",
            INVALID_CONFIG,
            "Invalid value abc for configuration interval.ms: Not a number of type INT",
        ),
        ("nope", "1", INVALID_REQUEST, "Unknown client metrics configuration: nope"),
        *(
            ("match", text, INVALID_CONFIG, f"Illegal client matching pattern: {text}")
            for text in (
                "nonsense",
                "nonsense=a",
                "client_id=[",
                "client_id=",
                "client_id=a=b",
                "client_id=a{99999999999999999999}",
            )
        ),
    ],
)
def test_a_wrong_subscription_is_refused(
    name: str, value: str, error: ErrorCode, message: str
) -> None:
    outcome = alter_one(ControllerLab(), CLIENT_METRICS_RESOURCE, "m", (name, SET, value))

    assert outcome == (error, message)


def test_a_subscription_has_a_name() -> None:
    outcome = alter_one(ControllerLab(), CLIENT_METRICS_RESOURCE, "", ("interval.ms", SET, "500"))

    assert outcome == (INVALID_REQUEST, "Subscription name can't be empty")


def test_the_lists_of_a_subscription_are_only_set_whole() -> None:
    outcome = alter_one(ControllerLab(), CLIENT_METRICS_RESOURCE, "m", ("match", APPEND, "x"))

    message = "Can't APPEND to key match because its type is not LIST."
    assert outcome == (INVALID_CONFIG, message)
