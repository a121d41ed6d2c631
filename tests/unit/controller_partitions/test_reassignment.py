from dataclasses import replace

import pytest

from barnabas_controller.managers.partitions.broker_changes import records_for_fencing
from barnabas_controller.managers.partitions.reassignment import (
    decide_alter_partition_reassignments,
    decide_list_partition_reassignments,
)
from barnabas_core.metadata.partition_image import NO_LEADER, RECOVERING
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas_core.wire.messages.list_partition_reassignments_request import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from barnabas_core.wire.messages.list_partition_reassignments_response import (
    OngoingPartitionReassignment,
)
from barnabas_core.wire.messages.partition_change_record import PartitionChangeRecord
from tests.support.controller_lab import SETTINGS, ControllerLab, directory_id


@pytest.fixture
def lab() -> ControllerLab:
    lab = ControllerLab()
    for broker_id in (1, 2, 3, 4, 5):
        lab.register_broker(broker_id)
    lab.create_topic("orders", {0: [1, 2, 3], 1: [2, 3, 1]})
    return lab


def alter(
    lab: ControllerLab,
    *wanted: tuple[int, list[int] | None],
    topic: str = "orders",
    may_resize: bool = True,
    version: int = 1,
) -> list[tuple[int, str | None]]:
    """(error code, message) of each."""
    partitions = [ReassignablePartition(number, replicas) for number, replicas in wanted]
    request = AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic(topic, partitions)], allow_replication_factor_change=may_resize
    )
    response = lab.decide(decide_alter_partition_reassignments, request, version)
    assert (response.error_code, response.error_message) == (ErrorCode.NONE, None)
    [of_topic] = response.responses
    assert [p.partition_index for p in of_topic.partitions] == [number for number, _ in wanted]
    return [(p.error_code, p.error_message) for p in of_topic.partitions]


DONE = (ErrorCode.NONE, None)


def set_isr(lab: ControllerLab, *isr: int, number: int = 0) -> None:
    lab.apply([PartitionChangeRecord(number, lab.topic_id("orders"), isr=list(isr))])


def test_a_reassignment_first_adds_its_new_replicas(lab: ControllerLab) -> None:
    assert alter(lab, (0, [4, 2, 1])) == [DONE]

    partition = lab.partition("orders")
    assert partition.replicas == (4, 2, 1, 3)
    assert (partition.adding_replicas, partition.removing_replicas) == ((4,), (3,))
    assert (partition.isr, partition.leader, partition.leader_epoch) == ((1, 2, 3), 1, 0)


def test_directories_follow_their_replicas(lab: ControllerLab) -> None:
    alter(lab, (0, [4, 2, 1]))

    expected = tuple(directory_id(broker_id) for broker_id in (4, 2, 1, 3))
    assert lab.partition("orders").directories == expected


def test_another_order_of_the_same_replicas_is_done_at_once(lab: ControllerLab) -> None:
    assert alter(lab, (0, [3, 2, 1])) == [DONE]

    partition = lab.partition("orders")
    assert partition.replicas == (3, 2, 1)
    assert not partition.is_reassigning
    assert (partition.leader, partition.leader_epoch) == (1, 0)


def test_taking_replicas_away_is_done_at_once_if_the_others_are_in_sync(lab: ControllerLab) -> None:
    alter(lab, (0, [2, 3]))

    partition = lab.partition("orders")
    assert (partition.replicas, partition.isr, partition.leader) == ((2, 3), (2, 3), 2)
    assert partition.leader_epoch == 1
    assert not partition.is_reassigning


def test_taking_replicas_away_waits_until_all_that_stay_are_in_sync(lab: ControllerLab) -> None:
    set_isr(lab, 1, 3)

    alter(lab, (0, [2, 3]))

    partition = lab.partition("orders")
    assert (partition.replicas, partition.removing_replicas) == ((2, 3, 1), (1,))
    assert (partition.isr, partition.leader) == ((1, 3), 1)


def test_a_removed_follower_begins_a_leader_epoch(lab: ControllerLab) -> None:
    alter(lab, (0, [1, 2]))

    partition = lab.partition("orders")
    assert (partition.leader, partition.leader_epoch) == (1, 1)


def test_a_second_reassignment_replaces_the_first(lab: ControllerLab) -> None:
    alter(lab, (0, [1, 2, 4]))

    alter(lab, (0, [1, 2, 5]))

    partition = lab.partition("orders")
    assert partition.replicas == (1, 2, 5, 3, 4)
    assert (partition.adding_replicas, partition.removing_replicas) == ((5,), (3, 4))


def test_a_reassignment_back_to_where_it_was_ends_the_first(lab: ControllerLab) -> None:
    alter(lab, (0, [1, 2, 4]))

    alter(lab, (0, [1, 2, 3]))

    partition = lab.partition("orders")
    assert partition.replicas == (1, 2, 3)
    assert not partition.is_reassigning


def test_null_cancels(lab: ControllerLab) -> None:
    alter(lab, (0, [4, 5, 1]))
    set_isr(lab, 1, 2, 3, 4)

    assert alter(lab, (0, None)) == [DONE]

    partition = lab.partition("orders")
    assert (set(partition.replicas), partition.isr) == ({1, 2, 3}, (1, 2, 3))
    assert len(partition.directories) == 3
    assert not partition.is_reassigning


def test_cancelling_elects_another_leader_if_the_leader_was_being_added(lab: ControllerLab) -> None:
    alter(lab, (0, [4, 1, 2]))
    lab.apply([PartitionChangeRecord(0, lab.topic_id("orders"), isr=[4, 2], leader=4)])

    alter(lab, (0, None))

    assert (lab.partition("orders").leader, lab.partition("orders").isr) == (2, (2,))


def test_what_is_not_under_way_cannot_be_cancelled(lab: ControllerLab) -> None:
    reason = "No partition reassignment is in progress."

    assert alter(lab, (0, None)) == [(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, reason)]


def leave_only_the_new_replica_in_sync(lab: ControllerLab) -> None:
    alter(lab, (0, [4, 5, 1]))
    lab.apply([PartitionChangeRecord(0, lab.topic_id("orders"), isr=[4], leader=4)])


def test_a_cancel_that_would_lose_data_is_refused(lab: ControllerLab) -> None:
    leave_only_the_new_replica_in_sync(lab)

    [(error, message)] = alter(lab, (0, None))

    assert error == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert message is not None
    assert "would require an unclean leader election" in message
    assert lab.partition("orders").leader == 4


def test_a_cancel_that_loses_data_is_done_where_the_topic_allows_it(lab: ControllerLab) -> None:
    leave_only_the_new_replica_in_sync(lab)
    lab.change_broker(1, fenced=True)
    lab.set_topic_config("orders", "unclean.leader.election.enable", "true")

    assert alter(lab, (0, None)) == [DONE]

    partition = lab.partition("orders")
    assert (partition.replicas, partition.leader, partition.isr) == ((1, 2, 3), 2, (2,))
    assert partition.leader_recovery_state == RECOVERING


def test_a_cancel_waits_for_an_eligible_replica_that_stays(lab: ControllerLab) -> None:
    lab.set_topic_config("orders", "min.insync.replicas", "3")
    alter(lab, (0, [4, 5, 1]))
    for broker_id in (3, 2, 1):
        lab.apply(records_for_fencing(lab.view(), broker_id))
        lab.change_broker(broker_id, fenced=True)

    assert alter(lab, (0, None)) == [DONE]

    partition = lab.partition("orders")
    assert (partition.replicas, partition.isr) == ((1, 2, 3), ())
    assert (partition.leader, partition.eligible_leader_replicas) == (NO_LEADER, (1, 2, 3))


@pytest.mark.parametrize(
    ("replicas", "reason"),
    [
        ([], "an empty replica list."),
        ([1, 9], "broker 9, but no such broker is registered."),
        ([-1, 2], "broker -1, but no such broker is registered."),
        ([2, 1, 2], "the broker 2 more than once."),
    ],
)
def test_replicas_are_registered_brokers_once_each(
    lab: ControllerLab, replicas: list[int], reason: str
) -> None:
    message = f"The manual partition assignment includes {reason}"

    assert alter(lab, (0, replicas)) == [(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)]
    assert lab.records == []


def test_a_fenced_broker_may_be_assigned(lab: ControllerLab) -> None:
    lab.change_broker(4, fenced=True)

    assert alter(lab, (0, [1, 2, 4])) == [DONE]


def test_unknown_topics_and_partitions_are_refused(lab: ControllerLab) -> None:
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    assert alter(lab, (0, [1]), topic="no") == [(unknown, "Unable to find a topic named no.")]
    assert alter(lab, (8, [1])) == [(unknown, "Unable to find partition orders:8.")]


def test_a_refused_partition_leaves_the_others_alone(lab: ControllerLab) -> None:
    answers = alter(lab, (0, [9]), (1, [2, 3, 4]))

    assert [error for error, _ in answers] == [ErrorCode.INVALID_REPLICA_ASSIGNMENT, 0]
    assert lab.partition("orders", 1).adding_replicas == (4,)


def test_the_number_of_replicas_may_be_held(lab: ControllerLab) -> None:
    reason = "The replication factor is changed from 3 to 2"
    refused = (ErrorCode.INVALID_REPLICATION_FACTOR, reason)

    assert alter(lab, (0, [1, 2]), (1, [4, 3, 2]), may_resize=False) == [refused, DONE]
    assert alter(lab, (1, [1, 2]), may_resize=False) == [refused]


def test_version_0_may_always_change_the_number_of_replicas(lab: ControllerLab) -> None:
    assert alter(lab, (0, [1, 2]), version=0) == [DONE]


def test_a_partition_named_twice_goes_on_from_where_the_first_left_it(lab: ControllerLab) -> None:
    assert alter(lab, (0, [1, 2, 4]), (0, [3, 2, 1])) == [DONE, DONE]

    partition = lab.partition("orders")
    assert partition.replicas == (3, 2, 1)
    assert len(partition.directories) == 3


def test_more_changes_than_fit_in_one_decision_are_refused_one_by_one(lab: ControllerLab) -> None:
    lab.settings = replace(SETTINGS, max_records_per_decision=1)

    answers = alter(lab, (0, [1, 2, 4]), (1, [1, 2, 4]))

    assert [error for error, _ in answers] == [ErrorCode.NONE, ErrorCode.POLICY_VIOLATION]
    assert not lab.partition("orders", 1).is_reassigning


def listed(
    lab: ControllerLab, *topics: tuple[str, list[int]], everything: bool = False
) -> dict[str, list[OngoingPartitionReassignment]]:
    asked = [ListPartitionReassignmentsTopics(name, numbers) for name, numbers in topics]
    request = ListPartitionReassignmentsRequest(topics=None if everything else asked)
    response = lab.decide(decide_list_partition_reassignments, request)
    assert (response.error_code, response.error_message) == (ErrorCode.NONE, None)
    return {topic.name: topic.partitions for topic in response.topics}


def test_a_list_of_everything_has_what_is_under_way(lab: ControllerLab) -> None:
    lab.create_topic("quiet", {0: [1]})
    alter(lab, (1, [4, 2, 3]))

    expected = OngoingPartitionReassignment(1, [4, 2, 3, 1], [4], [1])
    assert listed(lab, everything=True) == {"orders": [expected]}


def test_a_list_of_named_partitions_leaves_out_what_is_not_under_way(lab: ControllerLab) -> None:
    alter(lab, (1, [4, 2, 3]))

    assert listed(lab, ("orders", [0, 7]), ("no such", [0])) == {}
    assert [one.partition_index for one in listed(lab, ("orders", [0, 1]))["orders"]] == [1]
