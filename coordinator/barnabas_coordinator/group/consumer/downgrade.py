"""A consumer group becomes a classic group while its members go on (KIP-848, migration).

Only members that speak the classic protocol are left in it. They keep what they have, and are to
join again as if somebody had left.
"""

from collections.abc import Mapping
from typing import Final

from barnabas_coordinator.group.classic.group import ClassicGroup, ClassicState
from barnabas_coordinator.group.classic.member import ClassicMember
from barnabas_coordinator.group.classic.rebalance import prepare_rebalance
from barnabas_coordinator.group.classic.record import group_record
from barnabas_coordinator.group.classic.turn import begin_turn
from barnabas_coordinator.group.consumer.classic_bytes import (
    PROTOCOL_TYPE,
    assignment_bytes,
    version_of,
)
from barnabas_coordinator.group.consumer.consumer_group import ConsumerGroup
from barnabas_coordinator.group.consumer.heartbeat_answer import MEMBER_DEADLINES
from barnabas_coordinator.group.consumer.member import Member
from barnabas_coordinator.group.group_settings import GroupSettings
from barnabas_coordinator.group.group_state import GroupState
from barnabas_coordinator.shard.decision import Answer, Decision, Env
from barnabas_core.wire.error import DecodeError
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.join_group_response import JoinGroupResponse

DOWNGRADES: Final = frozenset({"downgrade", "bidirectional"})


def may_downgrade(
    group: ConsumerGroup, left: Mapping[str, Member], settings: GroupSettings
) -> bool:
    """The last one that speaks the new protocol goes, and others stay."""
    if not left or any(member.classic is None for member in left.values()):
        return False
    had_modern = any(member.classic is None for member in group.members.values())
    is_allowed = settings.consumer_migration_policy.lower() in DOWNGRADES
    return had_modern and is_allowed and len(left) <= settings.max_size


def downgraded(
    state: GroupState, group: ConsumerGroup, left: Mapping[str, Member], env: Env
) -> Decision:
    classic = ClassicGroup(
        group.group_id,
        state.deadlines,
        state=ClassicState.STABLE,
        state_since_ms=env.now_ms,
        generation=group.epoch,
        protocol_type=PROTOCOL_TYPE,
        is_live=True,
    )
    for member in left.values():
        classic.add(_member(member, env), PROTOCOL_TYPE)
    classic.protocol_name = classic.select_protocol()
    classic.read_topics()
    turn = begin_turn(state, classic, env)
    turn.decision.records += [*group.tombstones(), group_record(classic)]
    turn.decision.answers += [
        Answer(beat.call, JoinGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
        for beat in group.parked
        if beat.member_id in left
    ]
    state.groups[group.group_id] = classic
    for member_id in classic.members:
        for kind in MEMBER_DEADLINES:
            state.deadlines.cancel((kind, group.group_id, member_id))
        classic.touch(member_id, env)
    prepare_rebalance(turn)
    return turn.decision


def _member(member: Member, env: Env) -> ClassicMember:
    assert member.classic is not None
    protocols = member.classic.supported
    return ClassicMember(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        session_timeout_ms=member.classic.session_timeout_ms,
        protocols=protocols,
        assignment=assignment_bytes(member.assigned, env.image.topics, _version(protocols[0][1])),
    )


def _version(metadata: bytes) -> int:
    try:
        return version_of(metadata)
    except DecodeError:
        return 0
