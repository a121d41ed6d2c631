"""ConsumerGroupHeartbeat (key 68), served v0-v1: members join, stay, change their minds and leave.

v1: subscriptions by regular expression, and member ids that clients make up (KIP-1082). What comes
of a member that was found is in `member_turn`.

Knowingly missing: topics found by an expression are not checked against the member's ACLs.
"""

from base64 import urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import replace

from barnabas_coordinator.group.classic.group import ClassicGroup
from barnabas_coordinator.group.consumer.consumer_group import ConsumerGroup, Parked
from barnabas_coordinator.group.consumer.heartbeat_answer import refusal
from barnabas_coordinator.group.consumer.heartbeat_check import (
    Refused,
    check_epoch,
    check_request,
    check_size,
)
from barnabas_coordinator.group.consumer.leaving import leave_for_a_while, leave_for_good
from barnabas_coordinator.group.consumer.member import (
    JOIN_EPOCH,
    STATIC_LEAVE_EPOCH,
    Member,
    Partitions,
    partitions_of,
)
from barnabas_coordinator.group.consumer.member_turn import (
    Turn,
    go_on,
    known,
    known_static,
    returning,
    write_member,
)
from barnabas_coordinator.group.consumer.upgrade import may_upgrade, upgraded
from barnabas_coordinator.group.group_state import GroupState, GroupType
from barnabas_coordinator.shard.decision import Answer, Decision, Env, Record, Request
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.consumer_group_heartbeat_request import (
    ConsumerGroupHeartbeatRequest,
)
from barnabas_core.wire.messages.consumer_group_heartbeat_response import (
    ConsumerGroupHeartbeatResponse,
)


def heartbeat(state: GroupState, request: Request, env: Env) -> Sequence[Decision]:
    message = request.message
    assert isinstance(message, ConsumerGroupHeartbeatRequest)
    try:
        check_request(message, request.context.api_version, state.settings)
        if message.member_epoch < JOIN_EPOCH:
            return [_leave(state, request, message, env)]
        return [_beat(state, request, message, env)]
    except Refused as refused:
        response = refusal(refused.code, refused.message)
        return [Decision([message.group_id], answers=[Answer(request.call, response)])]


# --- leaving


def _leave(
    state: GroupState, request: Request, message: ConsumerGroupHeartbeatRequest, env: Env
) -> Decision:
    group = _existing_group(state, message.group_id)
    if message.instance_id is None:
        member = known(group, message.member_id)
    else:
        member = known_static(group, message.member_id, message.instance_id)
    if message.member_epoch == STATIC_LEAVE_EPOCH:
        decision = leave_for_a_while(state, group, member)
    else:
        decision = leave_for_good(state, group, [member], env)
    response = ConsumerGroupHeartbeatResponse(
        member_id=message.member_id, member_epoch=message.member_epoch
    )
    decision.answers.append(Answer(request.call, response))
    return decision


# --- joining and staying


def _beat(
    state: GroupState, request: Request, message: ConsumerGroupHeartbeatRequest, env: Env
) -> Decision:
    group, records, answers = _group_of(state, message, env)
    check_size(group, message.member_id, state.settings.consumer_max_size)
    member_id = message.member_id or _new_member_id(env)
    owned = _owned(message)
    turn = _turn(group, message, member_id, owned)
    turn.records, turn.answers = records, answers
    turn.after = _updated(turn.after, message, request)
    change = write_member(turn, env)
    beat = Parked(request.call, member_id, owned, turn.after.assigned, _is_full(message))
    return go_on(state, turn, change, beat, env, joins=message.member_epoch == JOIN_EPOCH)


def _group_of(
    state: GroupState, message: ConsumerGroupHeartbeatRequest, env: Env
) -> tuple[ConsumerGroup, list[Record], list[Answer]]:
    """Who joins makes a group where there is none, or makes one of a classic group."""
    found = state.groups.get(message.group_id)
    if message.member_epoch == JOIN_EPOCH:
        if found is None:
            return ConsumerGroup(message.group_id), [], []
        if found.type is GroupType.CLASSIC and found.is_empty:
            return ConsumerGroup(message.group_id), found.tombstones(), []
        if isinstance(found, ClassicGroup) and may_upgrade(found, state.settings):
            return upgraded(state, found, env)
    return _existing_group(state, message.group_id), [], []


def _existing_group(state: GroupState, group_id: str) -> ConsumerGroup:
    group = state.groups.get(group_id)
    if group is None:
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Consumer group {group_id} not found.")
    if not isinstance(group, ConsumerGroup):
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
    return group


def _turn(
    group: ConsumerGroup,
    message: ConsumerGroupHeartbeatRequest,
    member_id: str,
    owned: Partitions | None,
) -> Turn:
    if message.member_epoch == JOIN_EPOCH:
        static = group.static_member(message.instance_id) if message.instance_id else None
        if static is not None and static.member_id != member_id:
            return returning(group, static, member_id)
        # Who is known joins again when it lost the answer, or was fenced: it has nothing now.
        member = group.members.get(member_id)
        return Turn(group, member, member or Member(member_id=member_id))
    if message.instance_id is None:
        member = known(group, member_id)
    else:
        member = known_static(group, message.member_id, message.instance_id)
    check_epoch(member, message.member_epoch, owned)
    return Turn(group, member, member)


def _updated(member: Member, message: ConsumerGroupHeartbeatRequest, request: Request) -> Member:
    """What the request leaves out stays; mostly it leaves out everything."""
    if says_nothing_new(member, message, request):
        return member
    names, regex = message.subscribed_topic_names, message.subscribed_topic_regex
    timeout_ms = message.rebalance_timeout_ms
    return replace(
        member,
        instance_id=member.instance_id if message.instance_id is None else message.instance_id,
        rack_id=member.rack_id if message.rack_id is None else message.rack_id,
        client_id=request.context.client_id,
        client_host=request.context.client_host,
        topic_names=member.topic_names if names is None else frozenset(names),
        topic_regex=member.topic_regex if regex is None else regex,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        assignor=message.server_assignor or member.assignor,
        classic=None,
    )


def says_nothing_new(
    member: Member, message: ConsumerGroupHeartbeatRequest, request: Request
) -> bool:
    return (
        message.subscribed_topic_names is None
        and message.subscribed_topic_regex is None
        and message.rebalance_timeout_ms == -1
        and message.server_assignor is None
        and message.rack_id is None
        and message.instance_id in (None, member.instance_id)
        and member.classic is None
        and member.client_id == request.context.client_id
        and member.client_host == request.context.client_host
    )


def _owned(message: ConsumerGroupHeartbeatRequest) -> Partitions | None:
    if message.topic_partitions is None:
        return None
    return partitions_of((one.topic_id, one.partitions) for one in message.topic_partitions)


def _is_full(message: ConsumerGroupHeartbeatRequest) -> bool:
    """A client that joins, or that is not sure what it knows, says everything."""
    if message.member_epoch == JOIN_EPOCH:
        return True
    has_topics = (
        message.subscribed_topic_names is not None or message.subscribed_topic_regex is not None
    )
    is_told = message.rebalance_timeout_ms != -1 and message.topic_partitions is not None
    return has_topics and is_told


def _new_member_id(env: Env) -> str:
    return urlsafe_b64encode(env.rng.randbytes(16)).decode().rstrip("=")
