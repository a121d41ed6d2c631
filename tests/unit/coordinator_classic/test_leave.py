"""LeaveGroup: one, several, and static ones by name."""

import pytest

from barnabas_core.wire.codec import decode, encode
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.leave_group_request import LeaveGroupRequest
from barnabas_core.wire.messages.leave_group_response import LeaveGroupResponse
from tests.support.classic_lab import GROUP, ClassicLab, join_of, leaving, sync_of


def test_who_leaves_is_gone_and_the_others_are_told(lab: ClassicLab) -> None:
    leader, follower = lab.stable(2)

    assert lab.leave(leaving(leader)) == [ErrorCode.NONE]

    assert lab.heartbeat(follower, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    assert lab.heartbeat(leader, 1) == ErrorCode.UNKNOWN_MEMBER_ID
    answer = lab.joined(lab.join(join_of(follower)))
    assert (answer.generation_id, answer.leader) == (2, follower)


def test_the_last_who_leaves_leaves_an_empty_generation(lab: ClassicLab) -> None:
    (leader,) = lab.stable(1)

    lab.leave(leaving(leader))

    (value,) = lab.written()
    assert value is not None
    assert (value.generation, value.members) == (2, [])
    assert lab.group.state_name == "Empty"


def test_several_leave_with_one_rebalance_and_one_answer_each(lab: ClassicLab) -> None:
    """KIP-345: batches."""
    one, two, three = lab.stable(3)

    errors = lab.leave(leaving(one), leaving("stranger"), leaving(two))

    assert errors == [ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.NONE]
    assert lab.joined(lab.join(join_of(three))).generation_id == 2


def test_when_nobody_left_after_all_nothing_is_rebalanced(lab: ClassicLab) -> None:
    (leader,) = lab.stable(1)

    assert lab.leave(leaving("stranger")) == [ErrorCode.UNKNOWN_MEMBER_ID]

    assert lab.heartbeat(leader, 1) == ErrorCode.NONE


def test_who_was_only_given_an_id_may_leave(lab: ClassicLab) -> None:
    """KIP-394."""
    pending = lab.new_member_id()

    assert lab.leave(leaving(pending)) == [ErrorCode.NONE]

    assert lab.join_error(lab.join(join_of(pending))) == ErrorCode.UNKNOWN_MEMBER_ID


def test_who_is_waited_for_and_leaves_ends_the_wait(lab: ClassicLab) -> None:
    leader, follower = lab.stable(2)
    waiting = lab.join(join_of(leader))

    lab.leave(leaving(follower))

    assert lab.joined(waiting).generation_id == 2


def test_what_waits_of_who_leaves_is_answered(lab: ClassicLab) -> None:
    leader, follower = lab.stable(2)
    joining = lab.join(join_of(leader))
    lab.leave(leaving(leader))
    assert lab.join_error(joining) == ErrorCode.UNKNOWN_MEMBER_ID

    lab.joined(lab.join(join_of(follower)))
    new, call = lab.new_member()
    rejoined = lab.join(join_of(follower))
    lab.joined(call)
    lab.joined(rejoined)
    syncing = lab.sync(sync_of(new, 3))
    lab.leave(leaving(new))

    assert lab.sync_error(syncing) == ErrorCode.UNKNOWN_MEMBER_ID


def test_an_administrator_removes_a_static_member_by_its_name(lab: ClassicLab) -> None:
    """KIP-345."""
    call = lab.join(join_of("", instance_id="one"))
    lab.shard.pass_time(3_000)
    lab.joined(call)

    errors = lab.leave(leaving("", "one"), leaving("", "two"))

    assert errors == [ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID]
    assert lab.group.members == {}


def test_a_static_member_that_was_replaced_cannot_leave_for_its_successor(lab: ClassicLab) -> None:
    """KIP-345."""
    first = lab.join(join_of("", instance_id="one"))
    lab.join(join_of("", instance_id="one"))
    old = lab.joined(first).member_id

    assert lab.leave(leaving(old, "one")) == [ErrorCode.FENCED_INSTANCE_ID]


@pytest.mark.parametrize("version", [0, 1, 2])
def test_before_v3_the_error_of_the_one_is_that_of_the_answer(
    lab: ClassicLab, version: int
) -> None:
    (leader,) = lab.stable(1)
    stranger = LeaveGroupRequest(group_id=GROUP, member_id="stranger")
    member = LeaveGroupRequest(group_id=GROUP, member_id=leader)

    refused = lab.shard.ask(stranger, LeaveGroupResponse, version)
    left = lab.shard.ask(member, LeaveGroupResponse, version)

    assert (refused.error_code, refused.members) == (ErrorCode.UNKNOWN_MEMBER_ID, [])
    assert (left.error_code, left.members) == (ErrorCode.NONE, [])
    assert encode(left, version)


@pytest.mark.parametrize("version", [3, 4, 5])
def test_from_v3_on_each_member_has_its_own_error(lab: ClassicLab, version: int) -> None:
    request = LeaveGroupRequest(group_id=GROUP, members=[leaving("stranger")])

    answer = lab.shard.ask(request, LeaveGroupResponse, version)

    written = decode(LeaveGroupResponse, version, encode(answer, version))
    assert written.error_code == ErrorCode.NONE
    (member,) = written.members
    assert (member.member_id, member.group_instance_id, member.error_code) == (
        "stranger",
        None,
        ErrorCode.UNKNOWN_MEMBER_ID,
    )


def test_a_group_has_a_name(lab: ClassicLab) -> None:
    answer = lab.shard.ask(LeaveGroupRequest(group_id=""), LeaveGroupResponse)

    assert answer.error_code == ErrorCode.INVALID_GROUP_ID
