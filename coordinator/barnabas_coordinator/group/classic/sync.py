"""SyncGroup (key 14), served v0-v5.

v1 throttle time; v3 group instance id (KIP-345); v4 flexible; v5 protocol type and name, which
must be the group's (KIP-559).

Members wait for the leader's, which says what each is assigned; the group is written down, and all
who wait are answered in the same decision: nobody hears of a generation that could be forgotten.
One that is too large to be written is UNKNOWN_SERVER_ERROR for all, and another is prepared.
"""

from collections.abc import Sequence
from typing import Final, cast

from barnabas_coordinator.group.classic.answers import dismiss, parked, sync_error, synced
from barnabas_coordinator.group.classic.group import ClassicGroup, ClassicState, classic_group
from barnabas_coordinator.group.classic.rebalance import SYNC, prepare_rebalance
from barnabas_coordinator.group.classic.record import fits, group_record
from barnabas_coordinator.group.classic.turn import Turn, answer_only, begin_turn
from barnabas_coordinator.group.group_state import GroupState, GroupType
from barnabas_coordinator.shard.decision import Decision, Env, Request
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.sync_group_request import SyncGroupRequest

_NAMES_PROTOCOL_FROM: Final = 5


def sync(state: GroupState, request: Request, env: Env) -> Sequence[Decision]:
    asked = cast("SyncGroupRequest", request.message)
    group = classic_group(state, asked.group_id)
    error = _error(asked, request.context.api_version, group)
    if group is None or error is not ErrorCode.NONE:
        return answer_only(asked.group_id, sync_error(parked(request), error))
    turn = begin_turn(state, group, env)
    member = group.members[asked.member_id]
    _note_sync(turn, asked.member_id)
    if group.state is ClassicState.STABLE:
        turn.answer(synced(parked(request), group, member))
        return [turn.decision]
    member.sync = parked(request)
    if asked.member_id == group.leader_id and _complete_rebalance(turn, asked):
        state.counts.rebalances[GroupType.CLASSIC] += 1
    return [turn.decision]


def _error(asked: SyncGroupRequest, version: int, group: ClassicGroup | None) -> ErrorCode:
    if version >= _NAMES_PROTOCOL_FROM and None in {asked.protocol_type, asked.protocol_name}:
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if not asked.group_id:
        return ErrorCode.INVALID_GROUP_ID
    if group is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    error = group.check_member(asked.member_id, asked.group_instance_id)
    return error if error is not ErrorCode.NONE else _generation_error(asked, group)


def _generation_error(asked: SyncGroupRequest, group: ClassicGroup) -> ErrorCode:
    if asked.generation_id != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    if _differs(asked.protocol_type, group.protocol_type):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if _differs(asked.protocol_name, group.protocol_name):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if group.state is ClassicState.PREPARING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def _differs(asked: str | None, ours: str | None) -> bool:
    return asked is not None and asked != ours


def _note_sync(turn: Turn, member_id: str) -> None:
    turn.group.pending_syncs.pop(member_id, None)
    if not turn.group.pending_syncs:
        turn.cancel(SYNC)


def _complete_rebalance(turn: Turn, asked: SyncGroupRequest) -> bool:
    """Whether it is: a group that is too large to be written cannot be, and begins anew."""
    group = turn.group
    shares = {one.member_id: bytes(one.assignment) for one in asked.assignments}
    for member in group.members.values():
        member.assignment = shares.get(member.member_id, b"")
    if not fits(group, turn.settings.batch_bytes_max):
        _give_up(turn)
        return False
    # Before the group enters the state: the record bears the time at which the generation began.
    turn.write(group_record(group))
    for member in group.members.values():
        if member.sync is not None:
            turn.answer(synced(member.sync, group, member))
            member.sync = None
            group.touch(member.member_id, turn.env)
    group.enter(ClassicState.STABLE, turn.env)
    return True


def _give_up(turn: Turn) -> None:
    """As with Kafka. To try would end the session, and with it all groups of the shard."""
    for member in turn.group.members.values():
        turn.decision.answers += dismiss(turn.group, member, ErrorCode.UNKNOWN_SERVER_ERROR)
        turn.group.touch(member.member_id, turn.env)
    prepare_rebalance(turn)
