"""Heartbeats, and members that are not heard of any more."""

import pytest

from barnabas_core.wire.codec import encode
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.heartbeat_request import HeartbeatRequest
from barnabas_core.wire.messages.heartbeat_response import HeartbeatResponse
from tests.support.classic_lab import GROUP, SESSION_MS, ClassicLab, join_of


def test_a_member_that_beats_stays(lab: ClassicLab) -> None:
    (leader,) = lab.stable(1)

    for _ in range(10):
        lab.shard.pass_time(SESSION_MS - 1)
        assert lab.heartbeat(leader, 1) == ErrorCode.NONE


def test_a_member_that_does_not_is_dropped_and_the_others_are_told(lab: ClassicLab) -> None:
    leader, follower = lab.stable(2)

    lab.shard.pass_time(SESSION_MS - 1)
    lab.heartbeat(follower, 1)
    lab.shard.pass_time(1)

    assert lab.heartbeat(leader, 1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert lab.heartbeat(follower, 1) == ErrorCode.REBALANCE_IN_PROGRESS


def test_the_last_member_that_is_dropped_leaves_an_empty_generation(lab: ClassicLab) -> None:
    lab.stable(1)

    lab.shard.pass_time(SESSION_MS)

    (value,) = lab.written()
    assert value is not None
    assert (value.generation, value.members, value.protocol, value.leader) == (2, [], None, None)
    assert value.protocol_type == "consumer"
    assert value.current_state_timestamp == lab.shard.now_ms
    assert (lab.group.state_name, lab.group.is_empty) == ("Empty", True)


def test_members_that_are_dropped_at_the_same_time_leave_one_empty_generation(
    lab: ClassicLab,
) -> None:
    lab.stable(3)

    lab.shard.pass_time(SESSION_MS)

    assert [value.generation for value in lab.written() if value is not None] == [2]


def test_strangers_and_other_generations_are_refused(lab: ClassicLab) -> None:
    assert lab.heartbeat("one", 1) == ErrorCode.UNKNOWN_MEMBER_ID
    (leader,) = lab.stable(1)

    assert lab.heartbeat("stranger", 1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert lab.heartbeat(leader, 0) == ErrorCode.ILLEGAL_GENERATION


def test_a_member_beats_before_its_generation_is_complete(lab: ClassicLab) -> None:
    member_id, call = lab.new_member()
    lab.shard.pass_time(3_000)
    lab.joined(call)

    assert lab.heartbeat(member_id, 1) == ErrorCode.NONE


def test_a_session_begins_with_the_generation(lab: ClassicLab) -> None:
    _, call = lab.new_member()
    lab.shard.pass_time(3_000)
    lab.joined(call)

    lab.shard.pass_time(SESSION_MS)

    assert lab.group.is_empty


def test_a_member_that_joins_again_may_change_its_session(lab: ClassicLab) -> None:
    (leader,) = lab.stable(1)
    lab.joined(lab.join(join_of(leader, session_ms=3 * SESSION_MS)))

    lab.shard.pass_time(3 * SESSION_MS - 1)

    assert lab.heartbeat(leader, 2) == ErrorCode.NONE


def test_beating_while_others_are_waited_for_keeps_the_session(lab: ClassicLab) -> None:
    leader, follower = lab.stable(2)
    waiting = lab.join(join_of(leader))

    for _ in range(4):
        lab.shard.pass_time(SESSION_MS - 1)
        assert lab.heartbeat(follower, 1) == ErrorCode.REBALANCE_IN_PROGRESS

    assert lab.is_waiting(waiting)


def test_who_is_waited_for_and_dropped_ends_the_wait(lab: ClassicLab) -> None:
    leader, _ = lab.stable(2)
    waiting = lab.join(join_of(leader))

    lab.shard.pass_time(SESSION_MS)

    answer = lab.joined(waiting)
    assert (answer.generation_id, [one.member_id for one in answer.members]) == (2, [leader])


@pytest.mark.parametrize("version", range(HeartbeatRequest.MAX_VERSION + 1))
def test_every_version_is_answered(lab: ClassicLab, version: int) -> None:
    (leader,) = lab.stable(1)
    request = HeartbeatRequest(group_id=GROUP, generation_id=1, member_id=leader)

    answer = lab.shard.ask(request, HeartbeatResponse, version)

    assert answer.error_code == ErrorCode.NONE
    assert encode(answer, version)


def test_a_group_has_a_name(lab: ClassicLab) -> None:
    answer = lab.shard.ask(HeartbeatRequest(group_id=""), HeartbeatResponse)

    assert answer.error_code == ErrorCode.INVALID_GROUP_ID
