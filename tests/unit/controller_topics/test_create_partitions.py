"""CreatePartitions: partitions are added at the end, as many replicas as the topic has."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from barnabas_controller.managers.topics.create_partitions import decide_create_partitions
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.create_partitions_request import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from barnabas_core.wire.messages.create_partitions_response import CreatePartitionsTopicResult
from tests.support.controller_lab import SETTINGS, ControllerLab


@pytest.fixture
def lab() -> ControllerLab:
    return new_lab()


def new_lab(max_records: int = 10_000) -> ControllerLab:
    lab = ControllerLab(replace(SETTINGS, max_records_per_decision=max_records))
    for broker_id in (1, 2, 3):
        lab.register_broker(broker_id)
    lab.create_topic("a", {0: [1, 2], 1: [2, 3]})
    lab.create_topic("b", {0: [3]})
    return lab


def to(
    count: int, name: str = "a", assignments: Sequence[Sequence[int]] | None = None
) -> CreatePartitionsTopic:
    by_hand = None
    if assignments is not None:
        by_hand = [CreatePartitionsAssignment(broker_ids=list(ids)) for ids in assignments]
    return CreatePartitionsTopic(name=name, count=count, assignments=by_hand)


def grow(
    lab: ControllerLab, *topics: CreatePartitionsTopic, validate_only: bool = False
) -> list[CreatePartitionsTopicResult]:
    request = CreatePartitionsRequest(topics=list(topics), validate_only=validate_only)
    return lab.decide(decide_create_partitions, request).results


def refusal(lab: ControllerLab, topic: CreatePartitionsTopic) -> tuple[ErrorCode, str | None]:
    (answer,) = grow(lab, topic)
    assert lab.records == []
    return ErrorCode(answer.error_code), answer.error_message


def test_new_partitions_come_after_the_old_ones_with_as_many_replicas(lab: ControllerLab) -> None:
    answers = grow(lab, to(4))

    assert answers == [CreatePartitionsTopicResult(name="a")]
    assert lab.partition("a", 1).replicas == (2, 3)
    for number in (2, 3):
        partition = lab.partition("a", number)
        assert len(set(partition.replicas)) == 2
        assert partition.isr == partition.replicas
        assert partition.leader == partition.replicas[0]
        assert (partition.leader_epoch, partition.partition_epoch) == (0, 0)


def test_new_partitions_go_where_they_are_told(lab: ControllerLab) -> None:
    lab.change_broker(3, fenced=True)

    grow(lab, to(4, assignments=[[3, 1], [2, 1]]))

    assert lab.partition("a", 2).replicas == (3, 1)
    assert lab.partition("a", 2).isr == (1,)
    assert lab.partition("a", 2).leader == 1
    assert lab.partition("a", 3).replicas == (2, 1)


def test_validate_only_adds_nothing(lab: ControllerLab) -> None:
    answers = grow(lab, to(4), to(0, "b"), validate_only=True)

    assert [answer.error_code for answer in answers] == [0, ErrorCode.INVALID_PARTITIONS]
    assert lab.records == []


def test_the_same_number_is_no_increase(lab: ControllerLab) -> None:
    assert refusal(lab, to(2)) == (
        ErrorCode.INVALID_PARTITIONS,
        "Topic already has 2 partition(s).",
    )


@pytest.mark.parametrize("count", [1, 0, -1])
def test_a_lower_number_is_no_increase(lab: ControllerLab, count: int) -> None:
    assert refusal(lab, to(count)) == (
        ErrorCode.INVALID_PARTITIONS,
        f"The topic a currently has 2 partition(s); {count} would not be an increase.",
    )


def test_an_unknown_topic_is_not_created(lab: ControllerLab) -> None:
    assert refusal(lab, to(4, "none")) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None)


@pytest.mark.parametrize("assignments", [[], [[1, 2]], [[1, 2]] * 3])
def test_each_new_partition_is_assigned_or_none_is(
    lab: ControllerLab, assignments: list[list[int]]
) -> None:
    assert refusal(lab, to(4, assignments=assignments)) == (
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        (
            f"Attempted to add 2 additional partition(s), but only {len(assignments)} "
            "assignment(s) were specified."
        ),
    )


@pytest.mark.parametrize("replicas", [[], [1], [1, 1], [1, 9]])
def test_an_assignment_names_registered_brokers_as_many_as_before(
    lab: ControllerLab, replicas: list[int]
) -> None:
    code, message = refusal(lab, to(3, assignments=[replicas]))

    assert code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert message is not None
    assert message.startswith("The manual partition assignment includes ")


def test_an_assignment_to_inactive_brokers_is_refused(lab: ControllerLab) -> None:
    lab.change_broker(1, fenced=True)
    lab.change_broker(2, in_controlled_shutdown=True)

    assert refusal(lab, to(3, assignments=[[1, 2]])) == (
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        (
            "All brokers specified in the manual partition assignment for partition 2 are fenced "
            "or in controlled shutdown."
        ),
    )


def test_too_few_brokers_for_the_topics_replication_factor_are_told_of(lab: ControllerLab) -> None:
    lab.change_broker(1, in_controlled_shutdown=True)
    lab.change_broker(2, in_controlled_shutdown=True)

    code, message = refusal(lab, to(3))

    assert code == ErrorCode.INVALID_REPLICATION_FACTOR
    assert message is not None
    assert message.startswith("Unable to replicate the partition 2 time(s): ")


def test_a_name_given_twice_is_refused_and_answered_once(lab: ControllerLab) -> None:
    answers = grow(lab, to(4), to(2, "b"), to(5))

    assert [answer.name for answer in answers] == ["a", "b"]
    assert [answer.error_code for answer in answers] == [ErrorCode.INVALID_REQUEST, 0]
    assert answers[0].error_message == "Duplicate topic name."
    assert len(lab.records) == 1


@pytest.mark.parametrize("count", [4, 2**31 - 1])
def test_a_topic_for_which_there_is_no_room_is_refused_alone(count: int) -> None:
    lab = new_lab(max_records=3)

    answers = grow(lab, to(3, "b"), to(count, "a"))

    assert [answer.error_code for answer in answers] == [0, ErrorCode.POLICY_VIOLATION]
    assert len(lab.records) == 2
