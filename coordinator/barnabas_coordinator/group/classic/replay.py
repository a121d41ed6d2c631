"""Records of classic groups, taken over: when a shard is loaded, and as they are decided.

A group that is live made the record itself and only takes note of it: the first record of a group
says that it is there and empty, while its first member is joining already.
"""

from collections.abc import Sequence

from barnabas_coordinator.group.classic.arming import arm_members
from barnabas_coordinator.group.classic.group import ClassicGroup, ClassicState, classic_group
from barnabas_coordinator.group.classic.member import ClassicMember
from barnabas_coordinator.group.classic.rebalance import prepare_rebalance
from barnabas_coordinator.group.classic.turn import begin_turn
from barnabas_coordinator.group.group_state import GroupState
from barnabas_coordinator.shard.decision import Decision, Env
from barnabas_core.wire.messages.group_metadata_key import GroupMetadataKey
from barnabas_core.wire.messages.group_metadata_value import GroupMetadataValue, MemberMetadata


def replay_group(
    state: GroupState, key: GroupMetadataKey, value: GroupMetadataValue | None, env: Env
) -> None:
    del env
    group = state.groups.get(key.group)
    if value is None:
        # Of a group that has changed to the other protocol nothing is to be deleted here.
        if isinstance(group, ClassicGroup):
            del state.groups[key.group]
    elif isinstance(group, ClassicGroup) and group.is_live:
        group.written = value
    else:
        state.groups[key.group] = _load(state, key.group, value)


def _load(state: GroupState, group_id: str, value: GroupMetadataValue) -> ClassicGroup:
    since_ms = value.current_state_timestamp
    group = ClassicGroup(
        group_id,
        state.deadlines,
        state=ClassicState.STABLE if value.members else ClassicState.EMPTY,
        state_since_ms=None if since_ms == -1 else since_ms,
        generation=value.generation,
        protocol_type=value.protocol_type,
        protocol_name=value.protocol,
        leader_id=value.leader,
        written=value,
    )
    for one in value.members:
        group.add(_load_member(one, value.protocol), value.protocol_type)
    group.read_topics()
    return group


def _load_member(one: MemberMetadata, protocol_name: str | None) -> ClassicMember:
    is_told = one.rebalance_timeout != -1
    return ClassicMember(
        member_id=one.member_id,
        group_instance_id=one.group_instance_id,
        client_id=one.client_id,
        client_host=one.client_host,
        rebalance_timeout_ms=one.rebalance_timeout if is_told else one.session_timeout,
        session_timeout_ms=one.session_timeout,
        # The others that it supports were not written; it brings them when it joins again.
        protocols=((protocol_name or "", bytes(one.subscription)),),
        assignment=bytes(one.assignment),
    )


def on_loaded(state: GroupState, env: Env) -> Sequence[Decision]:
    """Every member has its full session from now on."""
    arm_members(state, env)
    decisions = []
    for group_id in list(state.groups):
        group = classic_group(state, group_id)
        if group is not None and len(group.members) > state.settings.max_size:
            # The limit was lowered: all come again, and the last of them find no room.
            turn = begin_turn(state, group, env)
            prepare_rebalance(turn)
            decisions.append(turn.decision)
    return decisions
