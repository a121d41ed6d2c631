"""LeaveGroup (key 13), served v0-v5.

v1 throttle time; v3 several members at once, and static ones by their group instance id alone, as
administrators remove them (KIP-345); v4 flexible; v5 a reason for each (KIP-800; not kept).

Up to v2 what is wrong with the one member is the error of the whole answer; later each member has
its own.
"""

from collections.abc import Sequence
from typing import Final, cast

from barnabas_coordinator.group.classic.group import ClassicGroup, classic_group
from barnabas_coordinator.group.classic.rebalance import drop_member, rebalance_or_complete
from barnabas_coordinator.group.classic.turn import Turn, answer_only, begin_turn
from barnabas_coordinator.group.group_state import GroupState
from barnabas_coordinator.shard.decision import Answer, Decision, Env, Request
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from barnabas_core.wire.messages.leave_group_response import LeaveGroupResponse, MemberResponse

_SEVERAL_FROM: Final = 3


def leave(state: GroupState, request: Request, env: Env) -> Sequence[Decision]:
    asked = cast("LeaveGroupRequest", request.message)
    if not asked.group_id:
        invalid = LeaveGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID)
        return answer_only(asked.group_id, Answer(request.call, invalid))
    leaving = asked.members
    if request.context.api_version < _SEVERAL_FROM:
        leaving = [MemberIdentity(member_id=asked.member_id)]
    group = classic_group(state, asked.group_id)
    if group is None:
        unknown = [_told(one, ErrorCode.UNKNOWN_MEMBER_ID) for one in leaving]
        return answer_only(asked.group_id, _answer(request, unknown))
    turn = begin_turn(state, group, env)
    told = [_told(one, _leave(turn, one)) for one in leaving]
    if not group.is_empty and any(one.error_code == ErrorCode.NONE for one in told):
        rebalance_or_complete(turn)
    turn.answer(_answer(request, told))
    return [turn.decision]


def _leave(turn: Turn, who: MemberIdentity) -> ErrorCode:
    group = turn.group
    if who.member_id in group.pending_members:
        group.remove(who.member_id)
        return ErrorCode.NONE
    member_id = who.member_id or _by_instance(group, who.group_instance_id)
    error = group.check_member(member_id, who.group_instance_id)
    if error is ErrorCode.NONE:
        drop_member(turn, group.members[member_id])
    return error


def _by_instance(group: ClassicGroup, group_instance_id: str | None) -> str:
    return group.static_members.get(group_instance_id or "", "")


def _told(who: MemberIdentity, error: ErrorCode) -> MemberResponse:
    return MemberResponse(
        member_id=who.member_id, group_instance_id=who.group_instance_id, error_code=error
    )


def _answer(request: Request, told: list[MemberResponse]) -> Answer:
    if request.context.api_version < _SEVERAL_FROM:
        return Answer(request.call, LeaveGroupResponse(error_code=told[0].error_code))
    return Answer(request.call, LeaveGroupResponse(members=told))
