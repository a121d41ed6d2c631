"""Heartbeat (key 12), served v0-v4.

v1 throttle time; v3 group instance id (KIP-345); v4 flexible.

The answer is how members hear that they have to join again: REBALANCE_IN_PROGRESS.
"""

from collections.abc import Sequence
from typing import cast

from barnabas_coordinator.group.classic.group import ClassicGroup, ClassicState, classic_group
from barnabas_coordinator.group.classic.turn import answer_only
from barnabas_coordinator.group.group_state import GroupState
from barnabas_coordinator.shard.decision import Answer, Decision, Env, Request
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.heartbeat_request import HeartbeatRequest
from barnabas_core.wire.messages.heartbeat_response import HeartbeatResponse


def heartbeat(state: GroupState, request: Request, env: Env) -> Sequence[Decision]:
    asked = cast("HeartbeatRequest", request.message)
    group = classic_group(state, asked.group_id)
    error = _error(asked, group)
    if group is not None and error is ErrorCode.NONE:
        group.touch(asked.member_id, env)
        if group.state is ClassicState.PREPARING_REBALANCE:
            error = ErrorCode.REBALANCE_IN_PROGRESS
    answer = Answer(request.call, HeartbeatResponse(error_code=error))
    return answer_only(asked.group_id, answer)


def _error(asked: HeartbeatRequest, group: ClassicGroup | None) -> ErrorCode:
    if not asked.group_id:
        return ErrorCode.INVALID_GROUP_ID
    if group is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    error = group.check_member(asked.member_id, asked.group_instance_id)
    if error is ErrorCode.NONE and asked.generation_id != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    return error
