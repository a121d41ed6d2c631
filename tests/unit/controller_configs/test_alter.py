"""AlterConfigs: all configs of a resource at once. Messages and codes are those of Kafka 4.3.1."""

import pytest

from barnabas_controller.managers.configs.alter_configs import decide_alter_configs
from barnabas_core.metadata.keyed_image import BROKER_RESOURCE, TOPIC_RESOURCE
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.alter_configs_request import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
)
from tests.support.config_requests import OK, Outcome, configs_of
from tests.support.controller_lab import ControllerLab


@pytest.fixture
def lab() -> ControllerLab:
    lab = ControllerLab()
    lab.register_broker(1)
    lab.create_topic("t", {0: [1]})
    lab.set_topic_config("t", "retention.ms", "5")
    return lab


def ask(
    lab: ControllerLab, *resources: tuple[int, str, list[tuple[str, str | None]]]
) -> list[Outcome]:
    request = AlterConfigsRequest(
        resources=[
            AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[AlterableConfig(name=key, value=value) for key, value in configs],
            )
            for kind, name, configs in resources
        ]
    )
    answer = lab.decide(decide_alter_configs, request)
    return [(ErrorCode(each.error_code), each.error_message) for each in answer.responses]


def test_what_is_not_named_is_deleted(lab: ControllerLab) -> None:
    assert ask(lab, (TOPIC_RESOURCE, "t", [("retention.bytes", "9")])) == [OK]

    assert configs_of(lab, TOPIC_RESOURCE, "t") == {"retention.bytes": "9"}


def test_no_configs_at_all_is_back_to_the_defaults(lab: ControllerLab) -> None:
    assert ask(lab, (TOPIC_RESOURCE, "t", [])) == [OK]

    assert configs_of(lab, TOPIC_RESOURCE, "t") == {}


def test_what_stays_the_same_is_no_record(lab: ControllerLab) -> None:
    assert ask(lab, (TOPIC_RESOURCE, "t", [("retention.ms", "5")])) == [OK]

    assert lab.records == []


@pytest.mark.parametrize(
    ("configs", "error", "message"),
    [
        (
            [("retention.ms", "abc")],
            ErrorCode.INVALID_CONFIG,
            "Invalid value abc for configuration retention.ms: Not a number of type LONG",
        ),
        (
            [("retention.ms", None)],
            ErrorCode.INVALID_REQUEST,
            "Null value not supported for : retention.ms",
        ),
        (
            [("retention.ms", "5000"), ("retention.ms", "6000")],
            ErrorCode.INVALID_REQUEST,
            "Error due to duplicate config keys",
        ),
    ],
)
def test_wrong_configs_are_refused_and_the_old_ones_kept(
    lab: ControllerLab, configs: list[tuple[str, str | None]], error: ErrorCode, message: str
) -> None:
    assert ask(lab, (TOPIC_RESOURCE, "t", configs)) == [(error, message)]

    assert configs_of(lab, TOPIC_RESOURCE, "t") == {"retention.ms": "5"}


def test_a_resource_may_come_once(lab: ControllerLab) -> None:
    once: tuple[int, str, list[tuple[str, str | None]]] = (TOPIC_RESOURCE, "t", [])

    twice = (ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
    assert ask(lab, once, once) == [twice, twice]


def test_the_clusters_min_isr_is_not_deleted_by_leaving_it_out(lab: ControllerLab) -> None:
    lab.set_config(BROKER_RESOURCE, "", "min.insync.replicas", "2")

    assert ask(lab, (BROKER_RESOURCE, "", [("log.cleaner.threads", "3")])) == [
        (
            ErrorCode.INVALID_CONFIG,
            "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.",
        )
    ]
