"""A member goes: because it says so, because it was silent too long, or revoked too slowly."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from barnabas_coordinator.group.consumer.consumer_group import ConsumerGroup, is_revoking
from barnabas_coordinator.group.consumer.downgrade import downgraded, may_downgrade
from barnabas_coordinator.group.consumer.group_records import (
    current_record,
    member_tombstones,
    regex_tombstone,
)
from barnabas_coordinator.group.consumer.heartbeat_answer import (
    MEMBER_DEADLINES,
    REBALANCE_DEADLINE,
    unknown_member,
)
from barnabas_coordinator.group.consumer.member import STATIC_LEAVE_EPOCH, Member
from barnabas_coordinator.group.consumer.target_assignment import bumped, maybe_assign
from barnabas_coordinator.group.group_state import DeadlineKey, GroupState
from barnabas_coordinator.shard.decision import Answer, Decision, Env


def leave_for_good(
    state: GroupState, group: ConsumerGroup, members: Sequence[Member], env: Env
) -> Decision:
    """What they had is free at once. The last of the new protocol leaves a classic group."""
    gone = dict.fromkeys(member.member_id for member in members)
    left = {each: one for each, one in group.members.items() if each not in gone}
    for member_id in gone:
        for kind in MEMBER_DEADLINES:
            state.deadlines.cancel((kind, group.group_id, member_id))
    if may_downgrade(group, left, state.settings):
        decision = downgraded(state, group, left, env)
    else:
        decision = _without(state, group, left, gone, env)
    decision.answers += _call_off(group, gone)
    return decision


def _call_off(group: ConsumerGroup, gone: Collection[str]) -> list[Answer]:
    """Heartbeats of theirs that wait must not be taken for signs of life later on."""
    answers = [
        unknown_member(group.group_id, beat) for beat in group.parked if beat.member_id in gone
    ]
    group.parked = [beat for beat in group.parked if beat.member_id not in gone]
    return answers


def _without(
    state: GroupState,
    group: ConsumerGroup,
    left: Mapping[str, Member],
    gone: Iterable[str],
    env: Env,
) -> Decision:
    used = {member.topic_regex for member in left.values()}
    regexes = {each: found for each, found in group.regexes.items() if each in used}
    decision = Decision([group.group_id])
    for member_id in gone:
        decision.records += member_tombstones(group.group_id, member_id)
    unused = group.regexes.keys() - regexes.keys()
    decision.records += [regex_tombstone(group.group_id, each) for each in sorted(unused)]
    change, records = bumped(group, left, regexes, env)
    decision.records += records
    decision.jobs += maybe_assign(state, group, change, env)
    return decision


def leave_for_a_while(state: GroupState, group: ConsumerGroup, member: Member) -> Decision:
    """A static member may come back before its session is over, and finds its partitions."""
    state.deadlines.cancel((REBALANCE_DEADLINE, group.group_id, member.member_id))
    away = replace(member, epoch=STATIC_LEAVE_EPOCH, revoking={})
    answers = _call_off(group, (member.member_id,))
    return Decision([group.group_id], [current_record(group.group_id, away)], answers)


def on_session_deadline(state: GroupState, key: DeadlineKey, env: Env) -> Sequence[Decision]:
    _, group_id, member_id = key
    group = state.groups.get(group_id)
    if not isinstance(group, ConsumerGroup) or member_id not in group.members:
        return ()
    return [leave_for_good(state, group, [group.members[member_id]], env)]


def on_rebalance_deadline(state: GroupState, key: DeadlineKey, env: Env) -> Sequence[Decision]:
    _, group_id, member_id = key
    group = state.groups.get(group_id)
    if not isinstance(group, ConsumerGroup) or member_id not in group.members:
        return ()
    if not is_revoking(group.members[member_id]):
        return ()
    return [leave_for_good(state, group, [group.members[member_id]], env)]
