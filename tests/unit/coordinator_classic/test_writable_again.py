"""Records can be written again: joins, syncs and commits may have been refused meanwhile."""

from barnabas_core.wire.error_code import ErrorCode
from tests.support.classic_lab import REBALANCE_MS, SESSION_MS, ClassicLab, join_of, sync_of


def write_again(lab: ClassicLab) -> None:
    lab.shard.machine.on_writable(lab.shard.env)


def test_every_member_has_its_full_session(lab: ClassicLab) -> None:
    (leader,) = lab.stable(1)
    lab.shard.pass_time(SESSION_MS - 1)

    write_again(lab)

    lab.shard.pass_time(SESSION_MS - 1)
    assert lab.heartbeat(leader, 1) == ErrorCode.NONE
    lab.shard.pass_time(SESSION_MS)
    assert lab.group.is_empty


def test_members_have_the_full_time_to_join_again(lab: ClassicLab) -> None:
    leader, follower = lab.stable(2)
    waiting = lab.join(join_of(leader))
    keep(lab, follower, REBALANCE_MS - 1)

    write_again(lab)

    keep(lab, follower, REBALANCE_MS - 1)
    assert lab.is_waiting(waiting)
    lab.shard.pass_time(1)
    assert [one.member_id for one in lab.joined(waiting).members] == [leader]


def keep(lab: ClassicLab, member_id: str, for_ms: int) -> None:
    """It beats, and does not join again."""
    while for_ms:
        step_ms = min(for_ms, SESSION_MS - 1)
        lab.shard.pass_time(step_ms)
        assert lab.heartbeat(member_id, 1) == ErrorCode.REBALANCE_IN_PROGRESS
        for_ms -= step_ms


def test_members_have_the_full_time_to_ask_for_their_share(lab: ClassicLab) -> None:
    member_id, call = lab.new_member()
    lab.shard.pass_time(3_000)
    lab.joined(call)
    beat(lab, member_id, REBALANCE_MS - 1)

    write_again(lab)

    beat(lab, member_id, REBALANCE_MS - 1)
    assert lab.synced(lab.sync(sync_of(member_id, 1, {member_id: b"x"}))).assignment == b"x"


def beat(lab: ClassicLab, member_id: str, for_ms: int) -> None:
    while for_ms:
        step_ms = min(for_ms, SESSION_MS - 1)
        lab.shard.pass_time(step_ms)
        assert lab.heartbeat(member_id, 1) == ErrorCode.NONE
        for_ms -= step_ms


def test_a_new_member_that_waits_for_the_others_goes_on_waiting(lab: ClassicLab) -> None:
    """It may not know its id yet, and cannot send heartbeats."""
    (leader,) = lab.stable(1)
    member_id, waiting = lab.new_member()

    write_again(lab)
    for _ in range(2):
        lab.shard.pass_time(SESSION_MS - 1)
        assert lab.heartbeat(leader, 1) == ErrorCode.REBALANCE_IN_PROGRESS

    assert member_id in lab.group.members
    assert lab.is_waiting(waiting)


def test_an_initial_delay_is_not_longer_for_it(lab: ClassicLab) -> None:
    _, waiting = lab.new_member()
    lab.shard.pass_time(2_999)

    write_again(lab)
    lab.shard.pass_time(1)

    assert lab.joined(waiting).generation_id == 1
