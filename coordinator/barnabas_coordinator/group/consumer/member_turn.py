"""What heartbeats and classic joins have in common: the member is found, written, and goes on.

First the member is created or changed, which may begin a new epoch of the group; then it takes its
next step towards the target assignment and is answered (`heartbeat_answer`). In between the answer
may wait for an assignment that is under way: a member that has joined would otherwise learn of it
only with its next heartbeat.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from barnabas_coordinator.group.consumer.consumer_group import ConsumerGroup, Parked
from barnabas_coordinator.group.consumer.group_records import (
    current_record,
    member_record,
    member_tombstones,
    regex_tombstone,
    target_record,
)
from barnabas_coordinator.group.consumer.group_timing import assignment_interval_ms
from barnabas_coordinator.group.consumer.heartbeat_answer import (
    PARK_DEADLINE,
    SESSION_DEADLINE,
    answer,
    keep_session,
)
from barnabas_coordinator.group.consumer.heartbeat_check import Refused
from barnabas_coordinator.group.consumer.member import STATIC_LEAVE_EPOCH, Member
from barnabas_coordinator.group.consumer.reconciliation import Goal
from barnabas_coordinator.group.consumer.regex_refresh import resolve
from barnabas_coordinator.group.consumer.target_assignment import (
    Change,
    bumped,
    is_assignment_due,
    maybe_assign,
    unchanged,
)
from barnabas_coordinator.group.consumer.topic_regex import ResolvedRegex
from barnabas_coordinator.group.group_state import GroupState
from barnabas_coordinator.shard.decision import Answer, Decision, Env, Record
from barnabas_core.wire.error_code import ErrorCode

PARK_MS: Final = 1_000
MAX_PARK_MS: Final = 5_000
"""How long an answer waits for an assignment at most: well below any client's patience."""


@dataclass(slots=True)
class Turn:
    """What a request makes of its member, as far as it has been found out."""

    group: ConsumerGroup
    before: Member | None
    """None: it is new."""
    after: Member
    replaces: Member | None = None
    """The member that was this static instance before."""
    records: list[Record] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    """To others, whose requests it puts an end to."""


def known(group: ConsumerGroup, member_id: str) -> Member:
    member = group.members.get(member_id)
    if member is None:
        message = f"Member {member_id} is not a member of group {group.group_id}."
        raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, message)
    return member


def known_static(group: ConsumerGroup, member_id: str, instance_id: str) -> Member:
    member = group.static_member(instance_id)
    if member is None:
        raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if member.member_id != member_id:
        raise Refused(
            ErrorCode.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} was fenced by "
            f"member {member.member_id}.",
        )
    return member


def returning(
    group: ConsumerGroup, static: Member, member_id: str, *, is_modern: bool = True
) -> Turn:
    """A static instance comes back under another member id, and takes over all of the old one.

    The consumer protocol asks that the old one has left; the classic one just fences it."""
    if is_modern and static.classic is None and static.epoch != STATIC_LEAVE_EPOCH:
        raise Refused(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {static.instance_id} cannot join the "
            f"group because the instance id is owned by {static.member_id} member.",
        )
    member = replace(static, member_id=member_id, epoch=0, previous_epoch=0)
    return Turn(group, member, member, replaces=static)


def write_member(turn: Turn, env: Env) -> Change:
    """Adds to the records of the turn; a new epoch of the group if its subscriptions change."""
    group, before, after = turn.group, turn.before, turn.after
    group_id = group.group_id
    if turn.replaces is not None:
        turn.records += member_tombstones(group_id, turn.replaces.member_id)
        turn.records.append(member_record(group_id, after))
        target = group.target_of(turn.replaces.member_id)
        turn.records.append(target_record(group_id, after.member_id, target))
        turn.records.append(current_record(group_id, after))
    elif after is before or after == before:
        return unchanged(group)
    else:
        turn.records.append(member_record(group_id, after))
    members = dict(group.members)
    if turn.replaces is not None:
        del members[turn.replaces.member_id]
    members[after.member_id] = after
    regexes = dict(group.regexes)
    if before is not None and before.topic_regex != after.topic_regex:
        _drop_unused(turn, before.topic_regex, members, regexes)
    change = Change(members, regexes, group.epoch)
    if _is_new_epoch(before, after, change):
        change, records = bumped(group, members, regexes, env)
        turn.records += records
    return change


def _drop_unused(
    turn: Turn, regex: str, members: Mapping[str, Member], regexes: dict[str, ResolvedRegex]
) -> None:
    if regex in regexes and all(member.topic_regex != regex for member in members.values()):
        del regexes[regex]
        turn.records.append(regex_tombstone(turn.group.group_id, regex))


def _is_new_epoch(before: Member | None, after: Member, change: Change) -> bool:
    """Not for an expression that has still to be matched: that brings a new epoch by itself."""
    is_pending = after.topic_regex != "" and after.topic_regex not in change.regexes
    if before is None:
        return not is_pending or bool(after.topic_names)
    if before.topic_names != after.topic_names:
        return True
    return before.topic_regex != after.topic_regex and not is_pending


def go_on(
    state: GroupState, turn: Turn, change: Change, beat: Parked, env: Env, *, joins: bool
) -> Decision:
    """The member is written: it is answered, or waits. Nothing is refused any more."""
    group, after = turn.group, turn.after
    # For a new group: what is not written has its place in it already.
    state.groups[group.group_id] = group
    if turn.replaces is not None:
        state.deadlines.cancel((SESSION_DEADLINE, group.group_id, turn.replaces.member_id))
    keep_session(state, group.group_id, after, env)
    # What an earlier request of it that still waits says of its partitions is out of date.
    group.parked = [
        one._replace(owned=None) if one.member_id == after.member_id else one
        for one in group.parked
    ]
    decision = Decision([group.group_id], turn.records, turn.answers)
    if after.topic_regex and after.topic_regex not in change.regexes:
        decision.jobs += resolve(group, frozenset({after.topic_regex}), env)
    decision.jobs += maybe_assign(state, group, change, env)
    if _waits(group, change, joins=joins):
        _park(state, group, beat, env)
        return decision
    replaced = after.member_id if turn.replaces is None else turn.replaces.member_id
    goal = Goal(group.assignment_epoch, group.target_of(replaced))
    answered, _ = answer(state, group, beat, (after, goal), env)
    decision.records += answered.records
    decision.answers += answered.answers
    return decision


def _waits(group: ConsumerGroup, change: Change, *, joins: bool) -> bool:
    """For the assignor, as that takes no time; who joins waits for what leads to it as well."""
    if group.computing_epoch is not None:
        return True
    return joins and (is_assignment_due(group, change) or group.resolving is not None)


def _park(state: GroupState, group: ConsumerGroup, beat: Parked, env: Env) -> None:
    group.parked.append(beat)
    key = (PARK_DEADLINE, group.group_id, "")
    if key not in state.deadlines:
        wait_ms = PARK_MS + assignment_interval_ms(state, group.group_id, env)
        state.deadlines.set(key, env.monotonic_ms + min(wait_ms, MAX_PARK_MS))
