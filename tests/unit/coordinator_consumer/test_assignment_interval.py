"""Assignments are computed aside, and not more often than the interval allows (KIP-1263)."""

from collections.abc import Iterator

import pytest

from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.consumer_group_heartbeat_response import (
    ConsumerGroupHeartbeatResponse,
)
from tests.support.consumer_lab import Consumer, ConsumerLab, settle

ALL = frozenset(("t", number) for number in range(4))


@pytest.fixture
def slow() -> Iterator[ConsumerLab]:
    """With Kafka's interval of a second."""
    made = ConsumerLab({"t": 4}, consumer_assignment_interval_ms=1_000)
    yield made
    made.check_replay()


def test_who_joins_is_answered_when_the_assignment_is_there(lab: ConsumerLab) -> None:
    call = lab.post("m")
    assert lab.is_waiting(call)

    lab.do_jobs()

    assert lab.told(lab.answer(call, ConsumerGroupHeartbeatResponse)) == ALL


def test_an_outcome_for_an_older_epoch_is_dropped_and_computed_anew(lab: ConsumerLab) -> None:
    first = lab.post("a")
    second = lab.post("b")
    assert len(lab.jobs) == 1

    late = lab.jobs.pop()
    lab._take(lab.machine.on_done(late.key, late.run(), lab.env))
    assert lab.new_records == []
    assert lab.group.assignment_epoch == 1
    lab.do_jobs()

    assert lab.group.assignment_epoch == 3
    told = [lab.told(lab.answer(each, ConsumerGroupHeartbeatResponse)) for each in (first, second)]
    assert [len(each) for each in told] == [2, 2]


def test_the_outcome_for_a_group_that_is_gone_is_dropped(lab: ConsumerLab) -> None:
    call = lab.post("a")
    lab.beat("a", -1)
    answer = lab.answer(call, ConsumerGroupHeartbeatResponse)
    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID

    lab.do_jobs()

    assert lab.group.targets == {}


def test_many_changes_within_an_interval_are_assigned_once(slow: ConsumerLab) -> None:
    members = [Consumer(slow, f"m{number}") for number in range(4)]
    members[0].beat()
    for one in members[1:]:
        slow.pass_time(100)
        one.post()
    assert not slow.jobs

    slow.pass_time(700)
    assert len(slow.jobs) == 1
    slow.do_jobs()

    assert slow.group.assignment_epoch == slow.group.epoch == 5
    for one in members[1:]:
        one.take()
        assert one.call is None


def test_who_is_in_the_group_already_does_not_wait_for_the_interval(slow: ConsumerLab) -> None:
    slow.beat("a")
    waiting = slow.post("b")

    answer = slow.beat("a", 2, owned=ALL)

    assert answer.member_epoch == 2
    assert slow.is_waiting(waiting)


def test_nobody_waits_forever(slow: ConsumerLab) -> None:
    slow.beat("a")
    call = slow.post("b")

    slow.pass_time(2_000)  # the job is never done

    answer = slow.answer(call, ConsumerGroupHeartbeatResponse)
    assert answer.error_code == ErrorCode.NONE
    assert answer.member_epoch == 2
    assert slow.told(answer) == frozenset()
    slow.do_jobs()
    assert slow.group.assignment_epoch == 3


def test_a_group_may_have_an_interval_of_its_own(slow: ConsumerLab) -> None:
    slow.configure("consumer.assignment.interval.ms", "0")
    slow.beat("a")

    assert slow.beat("b").member_epoch == 3


def test_a_clock_that_was_set_back_delays_nothing_for_long(slow: ConsumerLab) -> None:
    slow.beat("a")
    slow.now_ms -= 3_600_000
    slow.post("b")

    slow.pass_time(1_000)

    assert slow.jobs


def test_after_loading_the_interval_goes_on(slow: ConsumerLab) -> None:
    first, second = Consumer(slow, "a"), Consumer(slow, "b")
    first.beat()
    second.post()

    slow.reload()
    second.lose_answer()
    assert not slow.jobs
    slow.pass_time(1_000)
    assert slow.jobs
    settle(slow, first, second)

    assert len(first.partitions) == len(second.partitions) == 2
