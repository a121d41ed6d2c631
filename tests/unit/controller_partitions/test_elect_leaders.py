from dataclasses import replace

import pytest

from barnabas_controller.managers.partitions.broker_changes import records_for_fencing
from barnabas_controller.managers.partitions.elect_leaders import (
    MAX_ELECTIONS,
    decide_balance_leaders,
    decide_elect_leaders,
    decide_unclean_elections,
)
from barnabas_core.metadata.partition_image import NO_LEADER, RECOVERING
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.elect_leaders_request import (
    ElectLeadersRequest,
    TopicPartitions,
)
from barnabas_core.wire.messages.elect_leaders_response import ElectLeadersResponse
from barnabas_core.wire.messages.partition_change_record import PartitionChangeRecord
from tests.support.controller_lab import SETTINGS, ControllerLab

PREFERRED, UNCLEAN = 0, 1


@pytest.fixture
def lab() -> ControllerLab:
    lab = ControllerLab()
    for broker_id in (1, 2, 3):
        lab.register_broker(broker_id)
    lab.create_topic("orders", {0: [1, 2, 3], 1: [2, 1, 3]})
    return lab


def elect(
    lab: ControllerLab,
    kind: int,
    *asked: tuple[str, list[int]],
    everything: bool = False,
    version: int = 2,
) -> ElectLeadersResponse:
    topics = [TopicPartitions(topic, numbers) for topic, numbers in asked]
    request = ElectLeadersRequest(kind, None if everything else topics)
    return lab.decide(decide_elect_leaders, request, version)


def answers(response: ElectLeadersResponse) -> list[tuple[str, int, ErrorCode, str | None]]:
    assert response.error_code == ErrorCode.NONE
    return [
        (topic.topic, one.partition_id, ErrorCode(one.error_code), one.error_message)
        for topic in response.replica_election_results
        for one in topic.partition_result
    ]


def lead(lab: ControllerLab, leader: int, number: int = 0, isr: list[int] | None = None) -> None:
    record = PartitionChangeRecord(number, lab.topic_id("orders"), isr=isr, leader=leader)
    lab.apply([record])


def fence(lab: ControllerLab, *brokers: int) -> None:
    for broker_id in brokers:
        lab.apply(records_for_fencing(lab.view(), broker_id))
        lab.change_broker(broker_id, fenced=True)


def test_the_preferred_leader_takes_over(lab: ControllerLab) -> None:
    lead(lab, 3)

    response = elect(lab, PREFERRED, ("orders", [0]))

    assert answers(response) == [("orders", 0, ErrorCode.NONE, None)]
    assert (lab.partition("orders").leader, lab.partition("orders").leader_epoch) == (1, 2)


def test_who_is_preferred_already_needs_no_election(lab: ControllerLab) -> None:
    response = elect(lab, PREFERRED, ("orders", [0]))

    assert answers(response) == [("orders", 0, ErrorCode.ELECTION_NOT_NEEDED, None)]


def test_a_preferred_leader_that_is_not_in_sync_is_not_available(lab: ControllerLab) -> None:
    lead(lab, 3, isr=[2, 3])

    response = elect(lab, PREFERRED, ("orders", [0]))

    assert answers(response) == [("orders", 0, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, None)]
    assert lab.partition("orders").leader == 3


def test_a_preferred_leader_that_is_fenced_is_not_available(lab: ControllerLab) -> None:
    fence(lab, 1)

    response = elect(lab, PREFERRED, ("orders", [0]))

    assert answers(response) == [("orders", 0, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, None)]


def test_unknown_topics_and_partitions_are_named(lab: ControllerLab) -> None:
    response = elect(lab, PREFERRED, ("no", [0]), ("orders", [9]))

    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert answers(response) == [
        ("no", 0, unknown, "No such topic as no"),
        ("orders", 9, unknown, "No such partition as orders-9"),
    ]


def test_an_election_of_everything_answers_only_where_one_was_needed(lab: ControllerLab) -> None:
    lab.create_topic("quiet", {0: [3]})
    lead(lab, 3, number=1)

    response = elect(lab, PREFERRED, everything=True)

    assert answers(response) == [("orders", 1, ErrorCode.NONE, None)]
    assert [topic.topic for topic in response.replica_election_results] == ["orders", "quiet"]


def test_an_unclean_election_that_is_asked_for_needs_no_config(lab: ControllerLab) -> None:
    lead(lab, 1, isr=[1])
    fence(lab, 1)

    response = elect(lab, UNCLEAN, ("orders", [0]))

    partition = lab.partition("orders")
    assert answers(response) == [("orders", 0, ErrorCode.NONE, None)]
    assert (partition.leader, partition.isr) == (2, (2,))
    assert partition.leader_recovery_state == RECOVERING
    assert (partition.eligible_leader_replicas, partition.last_known_elr) == ((), ())


def test_a_partition_with_a_leader_needs_no_unclean_election(lab: ControllerLab) -> None:
    lead(lab, 3)

    response = elect(lab, UNCLEAN, ("orders", [0]))

    assert answers(response) == [("orders", 0, ErrorCode.ELECTION_NOT_NEEDED, None)]


def test_where_no_replica_is_alive_not_even_an_unclean_leader_is_found(lab: ControllerLab) -> None:
    fence(lab, 1, 2, 3)

    response = elect(lab, UNCLEAN, ("orders", [0]))

    assert answers(response) == [("orders", 0, ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, None)]


def test_an_unknown_kind_of_election_is_refused_as_a_whole(lab: ControllerLab) -> None:
    response = elect(lab, 7, ("orders", [0]))

    assert response.error_code == ErrorCode.INVALID_REQUEST
    [topic] = response.replica_election_results
    assert topic.partition_result[0].error_message == "Unknown election type 7"


def test_version_0_elects_the_preferred_leader(lab: ControllerLab) -> None:
    lead(lab, 3)

    response = elect(lab, PREFERRED, ("orders", [0]), version=0)

    assert answers(response) == [("orders", 0, ErrorCode.NONE, None)]


@pytest.mark.parametrize(("version", "whole"), [(0, 0), (1, ErrorCode.POLICY_VIOLATION)])
def test_more_elections_than_fit_in_one_decision_are_refused_as_a_whole(
    lab: ControllerLab, version: int, whole: int
) -> None:
    lab.settings = replace(SETTINGS, max_records_per_decision=1)
    lead(lab, 3)
    lead(lab, 3, number=1)

    response = elect(lab, PREFERRED, ("orders", [0, 1]), version=version)

    errors = [one.error_code for one in response.replica_election_results[0].partition_result]
    assert (response.error_code, errors) == (whole, [ErrorCode.POLICY_VIOLATION] * 2)
    assert lab.partition("orders").leader == 3


def test_a_partition_named_twice_is_elected_once(lab: ControllerLab) -> None:
    lead(lab, 3)

    response = elect(lab, PREFERRED, ("orders", [0, 0]))

    assert [error for _, _, error, _ in answers(response)] == [0, ErrorCode.ELECTION_NOT_NEEDED]
    assert lab.partition("orders").leader_epoch == 2


# --- by timer


def test_the_timer_gives_leadership_back_to_the_preferred(lab: ControllerLab) -> None:
    lead(lab, 3)
    lead(lab, 1, number=1)

    assert lab.run(decide_balance_leaders) is False

    assert [lab.partition("orders", n).leader for n in (0, 1)] == [1, 2]
    assert lab.run(decide_balance_leaders) is False
    assert lab.records == []


def test_the_timer_leaves_a_broker_alone_that_lacks_only_a_few(lab: ControllerLab) -> None:
    lab.create_topic("many", {number: [1, 2] for number in range(9)})
    lead(lab, 3)

    lab.run(decide_balance_leaders)
    assert lab.partition("orders").leader == 3

    lab.settings = replace(SETTINGS, leader_imbalance_percent=9)
    lab.run(decide_balance_leaders)
    assert lab.partition("orders").leader == 1


def test_the_timer_does_not_touch_what_cannot_be_helped(lab: ControllerLab) -> None:
    fence(lab, 1)

    lab.run(decide_balance_leaders)

    assert lab.records == []


def test_the_timer_takes_a_bounded_number_of_steps(lab: ControllerLab) -> None:
    lab.create_topic("many", {n: [1, 2] for n in range(MAX_ELECTIONS + 1)})
    lab.apply(
        [PartitionChangeRecord(n, lab.topic_id("many"), leader=2) for n in range(MAX_ELECTIONS + 1)]
    )
    lab.settings = replace(SETTINGS, leader_imbalance_percent=0)

    assert lab.run(decide_balance_leaders) is True
    assert len(lab.records) == MAX_ELECTIONS
    assert lab.run(decide_balance_leaders) is False
    assert len(lab.records) == 1


def test_a_timer_finds_unclean_leaders_once_the_topic_allows_them(lab: ControllerLab) -> None:
    lead(lab, 1, isr=[1])
    fence(lab, 1)
    lab.run(decide_unclean_elections)
    assert lab.partition("orders").leader == NO_LEADER

    lab.set_topic_config("orders", "unclean.leader.election.enable", "true")
    assert lab.run(decide_unclean_elections) is False

    assert (lab.partition("orders").leader, lab.partition("orders").isr) == (2, (2,))
