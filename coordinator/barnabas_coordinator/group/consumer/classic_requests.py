"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup of members that speak the classic protocol in a
consumer group (KIP-848, migration).

To them a member epoch is a generation of which they are the only member and nobody the leader. A
Heartbeat tells them to join again when there is something new to them; JoinGroup takes them one
step on, saying what they own; SyncGroup fetches what they have then.

Knowingly missing: a static member of the classic protocol that takes the place of the last one of
the new protocol leaves the group a consumer group; Kafka makes it a classic one.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, cast
from uuid import UUID

from barnabas_coordinator.group.classic.join import join as join_classic_group
from barnabas_coordinator.group.classic.join_terms import protocols_of, rebalance_timeout_ms
from barnabas_coordinator.group.consumer.classic_bytes import (
    PROTOCOL_TYPE,
    Subscription,
    assignment_bytes,
    subscription_of,
    version_of,
)
from barnabas_coordinator.group.consumer.consumer_group import ConsumerGroup, Parked
from barnabas_coordinator.group.consumer.heartbeat_answer import (
    JOIN_DEADLINE,
    SYNC_DEADLINE,
    keep_session,
)
from barnabas_coordinator.group.consumer.heartbeat_check import Refused, check_fits, check_size
from barnabas_coordinator.group.consumer.leaving import leave_for_good
from barnabas_coordinator.group.consumer.member import ClassicProtocols, Member, MemberState
from barnabas_coordinator.group.consumer.member_turn import (
    Turn,
    go_on,
    known,
    known_static,
    returning,
    write_member,
)
from barnabas_coordinator.group.group_state import DeadlineKey, GroupState
from barnabas_coordinator.shard.decision import Answer, Decision, Env, Request
from barnabas_core.wire.error import DecodeError
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.heartbeat_request import HeartbeatRequest
from barnabas_core.wire.messages.heartbeat_response import HeartbeatResponse
from barnabas_core.wire.messages.join_group_request import JoinGroupRequest
from barnabas_core.wire.messages.join_group_response import JoinGroupResponse
from barnabas_core.wire.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from barnabas_core.wire.messages.leave_group_response import LeaveGroupResponse, MemberResponse
from barnabas_core.wire.messages.sync_group_request import SyncGroupRequest
from barnabas_core.wire.messages.sync_group_response import SyncGroupResponse

_MEMBER_ID_REQUIRED_FROM: Final = 4
_SEVERAL_LEAVE_FROM: Final = 3


# --- JoinGroup


def join(state: GroupState, request: Request, env: Env) -> Sequence[Decision]:
    asked = cast("JoinGroupRequest", request.message)
    group = _group(state, asked.group_id)
    if group.is_empty:
        return join_classic_group(state, request, env)
    try:
        return [_join(state, group, request, env)]
    except Refused as refused:
        response = JoinGroupResponse(error_code=refused.code, member_id=asked.member_id)
        return [Decision([asked.group_id], answers=[Answer(request.call, response)])]


def _join(state: GroupState, group: ConsumerGroup, request: Request, env: Env) -> Decision:
    asked = cast("JoinGroupRequest", request.message)
    settings = state.settings
    least_ms, most_ms = settings.min_session_timeout_ms, settings.max_session_timeout_ms
    if not least_ms <= asked.session_timeout_ms <= most_ms:
        raise Refused(ErrorCode.INVALID_SESSION_TIMEOUT, "")
    check_size(group, asked.member_id, settings.consumer_max_size)
    _check_protocols(group, asked)
    check_fits(settings, (one.metadata for one in asked.protocols))
    subscription = _subscription(asked, env)
    if _needs_member_id(request, asked):
        response = JoinGroupResponse(
            error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id=_new_id(request, asked, env)
        )
        return Decision([group.group_id], answers=[Answer(request.call, response)])
    turn = _turn(group, asked, asked.member_id or _new_id(request, asked, env))
    turn.after = _updated(turn.after, request, asked, subscription)
    change = write_member(turn, env)
    member_id = turn.after.member_id
    state.deadlines.cancel((JOIN_DEADLINE, group.group_id, member_id))
    key = (SYNC_DEADLINE, group.group_id, member_id)
    state.deadlines.set(key, env.monotonic_ms + turn.after.rebalance_timeout_ms)
    protocol = asked.protocols[0].name
    owned = subscription.owned
    beat = Parked(request.call, member_id, owned, turn.after.assigned, True, protocol)
    return go_on(state, turn, change, beat, env, joins=True)


def _needs_member_id(request: Request, asked: JoinGroupRequest) -> bool:
    """KIP-394."""
    is_new = not asked.member_id and asked.group_instance_id is None
    return is_new and request.context.api_version >= _MEMBER_ID_REQUIRED_FROM


def _check_protocols(group: ConsumerGroup, asked: JoinGroupRequest) -> None:
    """One that all members of the classic protocol have, lest it cannot become a classic group."""
    names = {one.name for one in asked.protocols}
    for member in group.members.values():
        if member.classic is not None:
            names &= {name for name, _ in member.classic.supported}
    if asked.protocol_type != PROTOCOL_TYPE or not names:
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")


def _subscription(asked: JoinGroupRequest, env: Env) -> Subscription:
    try:
        return subscription_of(bytes(asked.protocols[0].metadata), env.image.topics)
    except DecodeError as error:
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "") from error


def _turn(group: ConsumerGroup, asked: JoinGroupRequest, member_id: str) -> Turn:
    if asked.group_instance_id is not None:
        static = group.static_member(asked.group_instance_id)
        if static is not None and not asked.member_id:
            return returning(group, static, member_id, is_modern=False)
        if asked.member_id:
            known_static(group, asked.member_id, asked.group_instance_id)
    member = group.members.get(member_id)
    return Turn(group, member, member or Member(member_id=member_id))


def _updated(
    member: Member, request: Request, asked: JoinGroupRequest, subscription: Subscription
) -> Member:
    instance_id, rack_id = asked.group_instance_id, subscription.rack_id
    return replace(
        member,
        instance_id=member.instance_id if instance_id is None else instance_id,
        rack_id=member.rack_id if rack_id is None else rack_id,
        client_id=request.context.client_id,
        client_host=request.context.client_host,
        topic_names=subscription.topics,
        topic_regex="",
        rebalance_timeout_ms=rebalance_timeout_ms(request, asked),
        classic=ClassicProtocols(asked.session_timeout_ms, protocols_of(asked)),
    )


def _new_id(request: Request, asked: JoinGroupRequest, env: Env) -> str:
    name = asked.group_instance_id or request.context.client_id
    return f"{name}-{UUID(bytes=env.rng.randbytes(16), version=4)}"


# --- SyncGroup


def sync(state: GroupState, request: Request, env: Env) -> Sequence[Decision]:
    asked = cast("SyncGroupRequest", request.message)
    group = _group(state, asked.group_id)
    try:
        response = _sync(state, group, asked, env)
    except Refused as refused:
        response = SyncGroupResponse(error_code=refused.code)
    return [Decision([asked.group_id], answers=[Answer(request.call, response)])]


def _sync(
    state: GroupState, group: ConsumerGroup, asked: SyncGroupRequest, env: Env
) -> SyncGroupResponse:
    member = _classic_member(group, asked.member_id, asked.group_instance_id)
    assert member.classic is not None
    _check_generation(member, asked.generation_id)
    name, metadata = member.classic.supported[0]
    if asked.protocol_type not in (None, PROTOCOL_TYPE) or asked.protocol_name not in (None, name):
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")
    # Who has to give something up is told so first; then it joins again by itself.
    if group.assignment_epoch > member.epoch and not _is_unrevoked(member):
        _await_join(state, group, member, env)
        raise Refused(ErrorCode.REBALANCE_IN_PROGRESS, "")
    state.deadlines.cancel((SYNC_DEADLINE, group.group_id, member.member_id))
    keep_session(state, group.group_id, member, env)
    return SyncGroupResponse(
        protocol_type=PROTOCOL_TYPE,
        protocol_name=name,
        assignment=assignment_bytes(member.assigned, env.image.topics, version_of(metadata)),
    )


# --- Heartbeat


def heartbeat(state: GroupState, request: Request, env: Env) -> Sequence[Decision]:
    asked = request.message
    assert isinstance(asked, HeartbeatRequest)
    group = _group(state, asked.group_id)
    error = ErrorCode.NONE
    try:
        member = _classic_member(group, asked.member_id, asked.group_instance_id)
        _check_generation(member, asked.generation_id)
        keep_session(state, group.group_id, member, env)
        if _has_news(group, member):
            error = ErrorCode.REBALANCE_IN_PROGRESS
            _await_join(state, group, member, env)
    except Refused as refused:
        error = refused.code
    response = HeartbeatResponse(error_code=error)
    return [Decision([asked.group_id], answers=[Answer(request.call, response)])]


def _has_news(group: ConsumerGroup, member: Member) -> bool:
    if member.epoch < group.assignment_epoch or _is_unrevoked(member):
        return True
    return member.state is MemberState.UNRELEASED_PARTITIONS and not any(
        group.owner_of(topic_id, number) not in (None, member.member_id)
        for topic_id, numbers in group.target_of(member.member_id).items()
        for number in numbers
    )


# --- LeaveGroup


def leave(state: GroupState, request: Request, env: Env) -> Sequence[Decision]:
    asked = cast("LeaveGroupRequest", request.message)
    group = _group(state, asked.group_id)
    has_several = request.context.api_version >= _SEVERAL_LEAVE_FROM
    leaving = asked.members if has_several else [MemberIdentity(member_id=asked.member_id)]
    told: list[MemberResponse] = []
    gone: dict[str, Member] = {}
    for who in leaving:
        one = MemberResponse(member_id=who.member_id, group_instance_id=who.group_instance_id)
        try:
            member = _leaving_member(group, who)
            gone[member.member_id] = member
        except Refused as refused:
            one.error_code = refused.code
        told.append(one)
    if gone:
        decision = leave_for_good(state, group, list(gone.values()), env)
    else:
        decision = Decision([group.group_id])
    response = LeaveGroupResponse(members=told)
    if not has_several:
        response = LeaveGroupResponse(error_code=told[0].error_code)
    decision.answers.append(Answer(request.call, response))
    return [decision]


def _leaving_member(group: ConsumerGroup, who: MemberIdentity) -> Member:
    """Administrators remove static members of either protocol by their instance alone."""
    if who.group_instance_id is not None and not who.member_id:
        member = group.static_member(who.group_instance_id)
        if member is None:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, "")
        return member
    return _classic_member(group, who.member_id, who.group_instance_id)


# --- of all of them


def _group(state: GroupState, group_id: str) -> ConsumerGroup:
    group = state.groups[group_id]
    assert isinstance(group, ConsumerGroup), "the shard hands over no others"
    return group


def _classic_member(group: ConsumerGroup, member_id: str, instance_id: str | None) -> Member:
    if instance_id is None:
        member = known(group, member_id)
    else:
        member = known_static(group, member_id, instance_id)
    if member.classic is None:
        raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, "it does not speak the classic protocol")
    return member


def _check_generation(member: Member, generation: int) -> None:
    if generation != member.epoch:
        raise Refused(ErrorCode.ILLEGAL_GENERATION, "")


def _is_unrevoked(member: Member) -> bool:
    return member.state is MemberState.UNREVOKED_PARTITIONS


def _await_join(state: GroupState, group: ConsumerGroup, member: Member, env: Env) -> None:
    key = (JOIN_DEADLINE, group.group_id, member.member_id)
    if key not in state.deadlines:
        state.deadlines.set(key, env.monotonic_ms + member.rebalance_timeout_ms)


def on_classic_deadline(state: GroupState, key: DeadlineKey, env: Env) -> Sequence[Decision]:
    """It was to join again, or to fetch what is its own, and did not."""
    _, group_id, member_id = key
    group = state.groups.get(group_id)
    if not isinstance(group, ConsumerGroup):
        return ()
    member = group.members.get(member_id)
    if member is None or member.classic is None:
        return ()
    return [leave_for_good(state, group, [member], env)]
