"""No partition is given to a member before who had it said that it gave it up (KIP-848)."""

from dataclasses import replace

import pytest

from barnabas_coordinator.group.consumer.member import MemberState
from barnabas_core.wire.error_code import ErrorCode
from tests.support.consumer_lab import Consumer, ConsumerLab, settle

ALL = frozenset(("t", number) for number in range(4))


def test_a_newcomer_waits_until_the_others_have_revoked(lab: ConsumerLab) -> None:
    old, new = Consumer(lab, "a"), Consumer(lab, "b")
    old.beat()

    new.beat()
    assert new.partitions == frozenset()
    assert lab.state_of("b") is MemberState.UNRELEASED_PARTITIONS
    assert new.epoch == 3  # it is at the target already, and waits

    old.beat()  # is told to revoke, and stays at its epoch
    assert lab.state_of("a") is MemberState.UNREVOKED_PARTITIONS
    assert old.epoch == 2
    new.beat()
    assert new.partitions == frozenset()

    old.beat()  # says that it did
    assert old.epoch == 3
    assert lab.state_of("a") is MemberState.STABLE
    new.beat()
    assert len(new.partitions) == 2
    assert old.partitions | new.partitions == ALL
    assert lab.group.state_name == "Stable"


def test_revocation_is_acknowledged_only_by_saying_what_is_owned(lab: ConsumerLab) -> None:
    lab.beat("a")
    lab.beat("b")
    kept = lab.told(lab.beat("a", 2, owned=ALL))
    assert len(kept) == 2

    assert lab.beat("a", 2).member_epoch == 2
    assert lab.beat("a", 2, owned=ALL).member_epoch == 2
    assert lab.beat("a", 2, owned=kept).member_epoch == 3


def test_who_never_consumed_what_it_loses_moves_on_at_once(lab: ConsumerLab) -> None:
    lab.beat("a")
    lab.beat("b")

    assert lab.beat("a", 2, owned=frozenset()).member_epoch == 3


def test_who_revokes_too_slowly_is_put_out(lab: ConsumerLab) -> None:
    slow = Consumer(lab, "a", rebalance_timeout_ms=3_000, is_slow=True)
    slow.beat()
    other = Consumer(lab, "b")
    other.beat()
    slow.beat()

    for _ in range(2):
        lab.pass_time(1_400)
        slow.beat()
        assert "a" in lab.group.members
    lab.pass_time(1_400)
    assert list(lab.group.members) == ["b"]

    settle(lab, other)
    assert other.partitions == ALL
    slow.post()
    slow.take()
    assert slow.epoch == 0  # it is unknown, and will join anew


def test_the_time_limit_ends_with_the_revocation(lab: ConsumerLab) -> None:
    lab.beat("a", rebalance_timeout_ms=3_000)
    lab.beat("b")
    kept = lab.told(lab.beat("a", 2, owned=ALL))
    lab.beat("a", 2, owned=kept)

    lab.pass_time(10_000)

    assert "a" in lab.group.members


def test_a_partition_may_come_back_to_who_just_gave_it_up(lab: ConsumerLab) -> None:
    lab.beat("a")
    lab.beat("b")
    kept = lab.told(lab.beat("a", 2, owned=ALL))
    lab.beat("b", -1)
    lab.do_jobs()

    answer = lab.beat("a", 2, owned=kept)

    assert lab.told(answer) == ALL
    assert answer.member_epoch == 4


def test_the_state_of_a_group_says_how_far_it_is() -> None:
    lab = ConsumerLab({"t": 4}, consumer_assignment_interval_ms=1_000)
    first = Consumer(lab, "a")
    first.beat()
    assert lab.group.state_name == "Stable"

    second = Consumer(lab, "b")
    second.beat()
    assert lab.group.state_name == "Assigning"
    lab.pass_time(1_000)
    lab.do_jobs()
    second.take()
    assert lab.group.state_name == "Reconciling"
    settle(lab, first, second)
    assert lab.group.state_name == "Stable"

    first.leave()
    second.leave()
    assert lab.group.state_name == "Empty"
    lab.check_replay()


def test_a_member_in_a_state_of_a_later_release_must_come_with_nothing(lab: ConsumerLab) -> None:
    lab.beat("m")
    lab.group.put_member(replace(lab.group.members["m"], state=MemberState.UNKNOWN))
    assert lab.beat("m", 2, owned=ALL).error_code == ErrorCode.FENCED_MEMBER_EPOCH

    answer = lab.beat("m", 2, owned=frozenset())

    assert answer.error_code == ErrorCode.NONE
    assert lab.state_of("m") is MemberState.STABLE


@pytest.mark.parametrize("assignor", ["uniform", "range"])
def test_ten_members_share_nine_hundred_partitions(assignor: str) -> None:
    lab = ConsumerLab({"t": 900})
    members = [Consumer(lab, f"m{number}", assignor=assignor) for number in range(10)]
    settle(lab, *members)
    assert [len(one.partitions) for one in members] == [90] * 10

    new = Consumer(lab, "m5a", assignor=assignor)
    members.append(new)
    settle(lab, *members)
    assert sorted(len(one.partitions) for one in members) == [81] * 2 + [82] * 9

    members.pop(0).leave()
    settle(lab, *members)
    assert [len(one.partitions) for one in members] == [90] * 10
    assert lab.group.state_name == "Stable"
    lab.check_replay()
