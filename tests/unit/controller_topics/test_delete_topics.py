"""DeleteTopics: by name and by id, and what is refused."""

from dataclasses import replace

import pytest

from barnabas_controller.managers.topics.delete_topics import decide_delete_topics
from barnabas_core.metadata.keyed_image import TOPIC_RESOURCE, ConfigResource
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from barnabas_core.wire.messages.delete_topics_response import DeletableTopicResult
from barnabas_core.wire.messages.remove_topic_record import RemoveTopicRecord
from barnabas_core.wire.schema import ZERO_UUID
from tests.support.controller_lab import SETTINGS, ControllerLab

UNKNOWN_ID = b"u" * 16


@pytest.fixture
def lab() -> ControllerLab:
    lab = ControllerLab()
    lab.register_broker(1)
    for name in ("a", "b", "c"):
        lab.create_topic(name, {0: [1], 1: [1]})
    return lab


def named(name: str) -> DeleteTopicState:
    return DeleteTopicState(name=name)


def with_id(topic_id: bytes) -> DeleteTopicState:
    return DeleteTopicState(topic_id=topic_id)


def delete(lab: ControllerLab, *topics: DeleteTopicState) -> list[DeletableTopicResult]:
    return lab.decide(decide_delete_topics, DeleteTopicsRequest(topics=list(topics))).responses


def refusal(lab: ControllerLab, topic: DeleteTopicState) -> tuple[ErrorCode, str | None]:
    (answer,) = delete(lab, topic)
    assert lab.records == []
    return ErrorCode(answer.error_code), answer.error_message


def test_a_topic_goes_by_its_name_and_is_answered_with_its_id(lab: ControllerLab) -> None:
    topic_id = lab.topic_id("a")

    answers = delete(lab, named("a"))

    assert answers == [DeletableTopicResult(name="a", topic_id=topic_id)]
    assert lab.records == [RemoveTopicRecord(topic_id=topic_id)]
    assert sorted(lab.image.topics.id_by_name) == ["b", "c"]


def test_a_topic_goes_by_its_id_and_is_answered_with_its_name(lab: ControllerLab) -> None:
    topic_id = lab.topic_id("a")

    answers = delete(lab, with_id(topic_id))

    assert answers == [DeletableTopicResult(name="a", topic_id=topic_id)]
    assert lab.image.topics.named("a") is None


def test_its_configs_and_replicas_go_with_it(lab: ControllerLab) -> None:
    lab.set_topic_config("a", "retention.ms", "1000")
    topic_id = lab.topic_id("a")

    delete(lab, named("a"))

    assert ConfigResource(TOPIC_RESOURCE, "a") not in lab.image.configs
    assert all(key.topic_id != topic_id for key in lab.replicas.partitions_of(1))


def test_older_requests_have_names_alone(lab: ControllerLab) -> None:
    request = DeleteTopicsRequest(topic_names=["b", "none", "a"])

    answers = lab.decide(decide_delete_topics, request, 5).responses

    assert [answer.name for answer in answers] == ["b", "none", "a"]
    expected = [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0]
    assert [answer.error_code for answer in answers] == expected
    assert list(lab.image.topics.id_by_name) == ["c"]


def test_answers_are_in_the_order_of_the_request_and_fail_one_by_one(lab: ControllerLab) -> None:
    answers = delete(lab, named("c"), with_id(UNKNOWN_ID), named("a"))

    assert [answer.name for answer in answers] == ["c", None, "a"]
    assert [answer.error_code for answer in answers] == [0, ErrorCode.UNKNOWN_TOPIC_ID, 0]


def test_an_unknown_name_and_an_unknown_id_have_errors_of_their_own(lab: ControllerLab) -> None:
    assert refusal(lab, named("none")) == (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "This server does not host this topic-partition.",
    )
    assert refusal(lab, with_id(UNKNOWN_ID)) == (
        ErrorCode.UNKNOWN_TOPIC_ID,
        "This server does not host this topic ID.",
    )


def test_a_topic_is_named_by_one_of_name_and_id(lab: ControllerLab) -> None:
    both = DeleteTopicState(name="a", topic_id=lab.topic_id("a"))

    assert refusal(lab, both) == (
        ErrorCode.INVALID_REQUEST,
        "You may not specify both topic name and topic id.",
    )
    assert refusal(lab, with_id(ZERO_UUID)) == (
        ErrorCode.INVALID_REQUEST,
        "Neither topic name nor id were specified.",
    )


@pytest.mark.parametrize("by_id", [False, True])
def test_what_is_named_twice_is_refused_and_answered_once(lab: ControllerLab, by_id: bool) -> None:
    twice = with_id(lab.topic_id("a")) if by_id else named("a")

    answers = delete(lab, twice, named("b"), twice)

    kind = "id" if by_id else "name"
    assert [answer.error_code for answer in answers] == [ErrorCode.INVALID_REQUEST, 0]
    assert answers[0].error_message == f"Duplicate topic {kind}."
    assert sorted(lab.image.topics.id_by_name) == ["a", "c"]


def test_a_topic_named_by_name_and_by_id_is_not_deleted(lab: ControllerLab) -> None:
    topic_id = lab.topic_id("a")

    answers = delete(lab, with_id(topic_id), named("a"))

    assert answers == [
        DeletableTopicResult(
            name="a",
            topic_id=topic_id,
            error_code=ErrorCode.INVALID_REQUEST,
            error_message="The provided topic name maps to an ID that was already supplied.",
        )
    ]
    assert lab.image.topics.named("a") is not None


def test_an_id_given_twice_and_its_name_are_both_refused(lab: ControllerLab) -> None:
    by_id = with_id(lab.topic_id("a"))

    answers = delete(lab, by_id, named("a"), by_id)

    assert [answer.error_message for answer in answers] == [
        "Duplicate topic id.",
        "The provided topic name maps to an ID that was already supplied.",
    ]
    assert lab.image.topics.named("a") is not None


def test_an_id_is_deleted_although_its_name_is_refused_as_given_twice(lab: ControllerLab) -> None:
    answers = delete(lab, named("a"), named("a"), with_id(lab.topic_id("a")))

    assert [answer.error_code for answer in answers] == [ErrorCode.INVALID_REQUEST, 0]
    assert lab.image.topics.named("a") is None


@pytest.mark.parametrize(
    ("version", "code"), [(2, ErrorCode.INVALID_REQUEST), (3, ErrorCode.TOPIC_DELETION_DISABLED)]
)
def test_deletion_that_is_switched_off_is_told_as_the_version_knows_it(
    version: int, code: ErrorCode
) -> None:
    lab = ControllerLab(replace(SETTINGS, delete_topics=False))
    lab.register_broker(1)
    lab.create_topic("a", {0: [1]})

    request = DeleteTopicsRequest(topic_names=["a", "none"])
    answers = lab.decide(decide_delete_topics, request, version).responses

    assert [answer.error_code for answer in answers] == [code, code]
    assert lab.records == []


def test_too_many_deletions_at_once_are_refused_whole() -> None:
    lab = ControllerLab(replace(SETTINGS, max_records_per_decision=1))
    lab.register_broker(1)
    lab.create_topic("a", {0: [1]})
    lab.create_topic("b", {0: [1]})

    answers = delete(lab, named("a"), named("b"))

    assert {answer.error_code for answer in answers} == {ErrorCode.POLICY_VIOLATION}
    assert lab.records == []
