"""JoinGroup (key 11), served v0-v9.

v1 rebalance timeout (before: the session timeout); v2 throttle time; v4 a member without an id is
given one and must come again with it (KIP-394); v5 group instance id (KIP-345); v6 flexible; v7
protocol type in the answer, protocol name may be null; v8 reason (KIP-800; not kept); v9
skip_assignment (KIP-814).

Whoever may join waits, until all have come or the time for it is over; see `rebalance`. Who asks
for what it is in already is told so at once.
"""

from collections.abc import Sequence
from typing import Final, cast
from uuid import UUID

from barnabas_coordinator.group.classic.answers import join_error, joined, parked
from barnabas_coordinator.group.classic.group import (
    SESSION,
    ClassicGroup,
    ClassicState,
    classic_group,
    new_group,
)
from barnabas_coordinator.group.classic.join_terms import protocols_of, rebalance_timeout_ms
from barnabas_coordinator.group.classic.member import ClassicMember, Protocols
from barnabas_coordinator.group.classic.rebalance import rebalance_or_complete
from barnabas_coordinator.group.classic.record import new_group_record
from barnabas_coordinator.group.classic.static_join import rejoin_as_instance
from barnabas_coordinator.group.classic.turn import Turn, answer_only, begin_turn
from barnabas_coordinator.group.group_settings import GroupSettings
from barnabas_coordinator.group.group_state import GroupState
from barnabas_coordinator.shard.decision import Decision, Env, Record, Request
from barnabas_core.ports import Rng
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.join_group_request import JoinGroupRequest

_MEMBER_ID_REQUIRED_FROM: Final = 4
NEW_MEMBER_JOIN_TIMEOUT_MS: Final = 300_000
"""A new member that waits longer than that has to ask again."""


def join(state: GroupState, request: Request, env: Env) -> Sequence[Decision]:
    asked = cast("JoinGroupRequest", request.message)
    error = _request_error(asked, state.settings)
    if error is not ErrorCode.NONE:
        return answer_only(asked.group_id, join_error(parked(request), error, asked.member_id))
    found = state.groups.get(asked.group_id)
    if found is not None and not found.is_empty and not isinstance(found, ClassicGroup):
        error = ErrorCode.INCONSISTENT_GROUP_PROTOCOL  # of a kind that has nothing classic in it
        return answer_only(asked.group_id, join_error(parked(request), error))
    group, first_records = _group_to_join(state, asked, env)
    if group is None:
        unknown = join_error(parked(request), ErrorCode.UNKNOWN_MEMBER_ID, asked.member_id)
        return answer_only(asked.group_id, unknown)
    turn = begin_turn(state, group, env)
    turn.decision.records += first_records
    _join(turn, request, asked)
    return [turn.decision]


def _request_error(asked: JoinGroupRequest, settings: GroupSettings) -> ErrorCode:
    if not asked.group_id:
        return ErrorCode.INVALID_GROUP_ID
    least_ms, most_ms = settings.min_session_timeout_ms, settings.max_session_timeout_ms
    if not least_ms <= asked.session_timeout_ms <= most_ms:
        return ErrorCode.INVALID_SESSION_TIMEOUT
    return ErrorCode.NONE


def _group_to_join(
    state: GroupState, asked: JoinGroupRequest, env: Env
) -> tuple[ClassicGroup | None, list[Record]]:
    """With what must be written because of it. A group of the other protocol that nobody is in
    makes room. Whoever says that it is a member can only be one of a group that is there."""
    found = state.groups.get(asked.group_id)
    group = classic_group(state, asked.group_id)
    if group is not None or asked.member_id:
        return group, []
    records = [] if found is None else found.tombstones()
    group = new_group(state, asked.group_id, env)
    group.is_live = True
    return group, [*records, new_group_record(group)]


def _join(turn: Turn, request: Request, asked: JoinGroupRequest) -> None:
    group = turn.group
    names = tuple(one.name for one in asked.protocols)
    if not _has_room(turn, asked.member_id):
        group.remove(asked.member_id)
        turn.answer(join_error(parked(request), ErrorCode.GROUP_MAX_SIZE_REACHED))
    elif not group.supports(asked.protocol_type, names):
        error = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        turn.answer(join_error(parked(request), error, asked.member_id))
    elif not asked.member_id:
        _join_as_somebody_new(turn, request, asked)
    elif asked.member_id not in group.pending_members:
        _rejoin(turn, request, asked)
    elif asked.group_instance_id is not None:
        # Ids are given to dynamic members alone. Kafka has no better word for it either.
        turn.answer(join_error(parked(request), ErrorCode.UNKNOWN_SERVER_ERROR))
    else:
        _add(turn, request, asked, asked.member_id)


def _has_room(turn: Turn, member_id: str) -> bool:
    """While all come anew, it is counted who came: a group that is too large loses the last."""
    group, most = turn.group, turn.settings.max_size
    if group.is_empty:
        return True
    member = group.members.get(member_id)
    if group.state is ClassicState.PREPARING_REBALANCE:
        is_here = member is not None and member.join is not None
        return is_here or group.awaiting_join_count < most
    return member is not None or len(group.members) < most


# --- without a member id


def _join_as_somebody_new(turn: Turn, request: Request, asked: JoinGroupRequest) -> None:
    group, instance_id = turn.group, asked.group_instance_id
    name = request.context.client_id if instance_id is None else instance_id
    new_id = f"{name}-{_random_uuid(turn.env.rng)}"
    if instance_id is not None and instance_id in group.static_members:
        rejoin_as_instance(turn, request, new_id)
    elif instance_id is None and request.context.api_version >= _MEMBER_ID_REQUIRED_FROM:
        # KIP-394: a client that never hears of its id would leave a member behind each time.
        group.pending_members.add(new_id)
        key = (SESSION, group.group_id, new_id)
        group.deadlines.set(key, turn.env.monotonic_ms + asked.session_timeout_ms)
        turn.answer(join_error(parked(request), ErrorCode.MEMBER_ID_REQUIRED, new_id))
    else:
        _add(turn, request, asked, new_id)


def _random_uuid(rng: Rng) -> str:
    return str(UUID(bytes=rng.randbytes(16), version=4))


def _add(turn: Turn, request: Request, asked: JoinGroupRequest, member_id: str) -> None:
    group = turn.group
    member = ClassicMember(
        member_id=member_id,
        group_instance_id=asked.group_instance_id,
        client_id=request.context.client_id,
        client_host=request.context.client_host,
        rebalance_timeout_ms=rebalance_timeout_ms(request, asked),
        session_timeout_ms=asked.session_timeout_ms,
        protocols=protocols_of(asked),
        join=parked(request),
        is_new=True,
    )
    if group.initial_delay is not None:
        group.initial_delay.has_new_member = True
    group.add(member, asked.protocol_type)
    group.touch(member_id, turn.env, NEW_MEMBER_JOIN_TIMEOUT_MS)
    rebalance_or_complete(turn)


# --- as a member


def _rejoin(turn: Turn, request: Request, asked: JoinGroupRequest) -> None:
    group = turn.group
    error = group.check_member(asked.member_id, asked.group_instance_id)
    if error is not ErrorCode.NONE:
        turn.answer(join_error(parked(request), error, asked.member_id))
        return
    member = group.members[asked.member_id]
    if _knows_no_better(group, member, protocols_of(asked)):
        lists = (
            group.state is ClassicState.COMPLETING_REBALANCE and member.member_id == group.leader_id
        )
        turn.answer(joined(parked(request), group, member.member_id, with_members=lists))
        return
    group.set_protocols(member, protocols_of(asked))
    member.rebalance_timeout_ms = rebalance_timeout_ms(request, asked)
    member.session_timeout_ms = asked.session_timeout_ms
    group.park_join(member, parked(request))
    rebalance_or_complete(turn)


def _knows_no_better(group: ClassicGroup, member: ClassicMember, protocols: Protocols) -> bool:
    """It asks for the generation that it is in: the answer may have been lost. A leader that asks
    in a stable group wants it to be rebalanced (it has seen new partitions, say)."""
    if group.state is ClassicState.PREPARING_REBALANCE or protocols != member.protocols:
        return False
    return group.state is ClassicState.COMPLETING_REBALANCE or member.member_id != group.leader_id
