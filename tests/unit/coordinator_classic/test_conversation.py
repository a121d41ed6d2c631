"""Whole lives of groups, as clients lead them."""

from barnabas_core.wire.error_code import ErrorCode
from tests.support.classic_lab import (
    SESSION_MS,
    ClassicLab,
    join_of,
    leaving,
    subscription,
    sync_of,
)

COOPERATIVE = "cooperative-sticky"


def test_three_join_one_dies_one_leaves(lab: ClassicLab) -> None:
    one, two, three = lab.stable(3)

    lab.shard.pass_time(SESSION_MS - 1)
    lab.heartbeat(one, 1)
    lab.heartbeat(two, 1)
    lab.shard.pass_time(1)  # the third is dead
    assert lab.heartbeat(two, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    calls = [lab.join(join_of(two)), lab.join(join_of(one))]
    assert {lab.joined(call).generation_id for call in calls} == {2}
    lab.complete([one, two], 2)

    assert lab.leave(leaving(one)) == [ErrorCode.NONE]
    assert lab.heartbeat(two, 2) == ErrorCode.REBALANCE_IN_PROGRESS
    answer = lab.joined(lab.join(join_of(two)))
    assert (answer.generation_id, answer.leader) == (3, two)
    lab.complete([two], 3)

    assert lab.heartbeat(three, 1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert lab.group.state_name == "Stable"


def cooperative(*owned: int) -> tuple[tuple[str, bytes], ...]:
    return ((COOPERATIVE, subscription("orders", version=3, owned=owned)),)


def test_consumers_that_cooperate_take_two_steps(lab: ClassicLab) -> None:
    """KIP-429: first what is to move is given up, then it is given to whom it belongs."""
    one, first = lab.new_member(cooperative())
    lab.shard.pass_time(3_000)
    lab.joined(first)
    lab.sync(sync_of(one, 1, {one: b"0,1"}, protocol=COOPERATIVE))

    # Another one comes; the first says what it owns, keeps half of it and is told nothing more.
    two, joining = lab.new_member(cooperative())
    assert lab.heartbeat(one, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    assert lab.commit(one, 1) == ErrorCode.NONE
    rejoining = lab.join(join_of(one, cooperative(0, 1)))
    assert lab.joined(joining).generation_id == lab.joined(rejoining).generation_id == 2
    waiting = lab.sync(sync_of(two, 2, protocol=COOPERATIVE))
    lab.sync(sync_of(one, 2, {one: b"0", two: b""}, protocol=COOPERATIVE))
    assert lab.synced(waiting).assignment == b""

    # It has given up the other half: it joins again at once, and the second gets it.
    rejoining = lab.join(join_of(one, cooperative(0)))
    assert lab.heartbeat(two, 2) == ErrorCode.REBALANCE_IN_PROGRESS
    joining = lab.join(join_of(two, cooperative()))
    leader = lab.joined(rejoining)
    metadata = {member.member_id: member.metadata for member in leader.members}
    assert metadata == {one: cooperative(0)[0][1], two: cooperative()[0][1]}
    assert lab.joined(joining).generation_id == 3
    waiting = lab.sync(sync_of(two, 3, protocol=COOPERATIVE))
    lab.sync(sync_of(one, 3, {one: b"0", two: b"1"}, protocol=COOPERATIVE))
    assert lab.synced(waiting).assignment == b"1"


def test_workers_of_connect_are_a_group_like_any_other(lab: ClassicLab) -> None:
    protocols = (("sessioned", b"\x00\x02url"), ("compatible", b"\x00\x01url"))
    calls = []
    for _ in range(2):
        request = join_of("", protocols, protocol_type="connect")
        member_id = lab.joined(lab.join(request)).member_id
        calls.append(lab.join(join_of(member_id, protocols, protocol_type="connect")))
    lab.shard.pass_time(6_000)

    leader, follower = (lab.joined(call) for call in calls)

    assert (leader.protocol_type, leader.protocol_name) == ("connect", "sessioned")
    other = sync_of(follower.member_id, 1, protocol="sessioned", protocol_type="connect")
    waiting = lab.sync(other)
    shares = {follower.member_id: b"tasks"}
    own = sync_of(leader.member_id, 1, shares, protocol="sessioned", protocol_type="connect")
    assert lab.sync_error(lab.sync(own)) == ErrorCode.NONE
    assert lab.synced(waiting).assignment == b"tasks"


def test_an_upgrade_to_another_protocol_takes_two_rounds_of_restarts(lab: ClassicLab) -> None:
    """KIP-429: each round is done one member at a time, and no two ever lack a common protocol."""
    eager = (("range", b"r"),)
    both = ((COOPERATIVE, b"c"), ("range", b"r"))
    one, two = lab.stable(2, eager)

    for old, protocols, chosen in ((one, both, "range"), (two, both, COOPERATIVE)):
        lab.leave(leaving(old))
        _, new = lab.new_member(protocols)
        left = next(iter(lab.group.members))
        same = lab.group.members[left].protocols
        lab.join(join_of(left, same))
        assert lab.joined(new).protocol_name == chosen


def test_a_restart_of_all_static_members_one_by_one_is_no_rebalance(lab: ClassicLab) -> None:
    """KIP-345."""
    names = ["one", "two", "three"]
    calls = [lab.join(join_of("", instance_id=name)) for name in names]
    lab.shard.pass_time(6_000)
    lab.complete([lab.joined(call).member_id for call in calls], 1)

    for name in names:
        lab.shard.pass_time(SESSION_MS // 4)  # it is away
        answer = lab.joined(lab.join(join_of("", instance_id=name)))
        lab.sync(sync_of(answer.member_id, 1, instance_id=name))
        for other, member_id in lab.group.static_members.items():
            assert lab.heartbeat(member_id, 1, other) == ErrorCode.NONE

    assert lab.group.generation == 1
