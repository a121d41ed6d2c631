"""The target assignment: asked for when the group's epoch is ahead of it, computed as a job.

A change of the group begins a new epoch (`bumped`). The assignor runs at most once in an assignment
interval (KIP-1263), so many changes at a time cost one run; whatever it is given is a copy. Its
outcome counts only for the epoch it was made for; when the group has moved on, it is made anew.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from barnabas_coordinator.group.consumer.assignor import ASSIGNORS
from barnabas_coordinator.group.consumer.assignor_view import Assignment, GroupView, Subscriber
from barnabas_coordinator.group.consumer.consumer_group import (
    ConsumerGroup,
    topics_of,
    topics_of_member,
)
from barnabas_coordinator.group.consumer.group_records import (
    epoch_record,
    partition_metadata_tombstone,
    target_epoch_record,
    target_record,
)
from barnabas_coordinator.group.consumer.group_timing import assignment_interval_ms
from barnabas_coordinator.group.consumer.heartbeat_answer import answer_parked
from barnabas_coordinator.group.consumer.member import Member
from barnabas_coordinator.group.consumer.topic_hash import hash_of
from barnabas_coordinator.group.consumer.topic_regex import ResolvedRegex
from barnabas_coordinator.group.group_state import DeadlineKey, GroupState
from barnabas_coordinator.shard.decision import Decision, Env, Job, Record

ASSIGN_DEADLINE: Final = "consumer-assign"
_TARGET_BYTES_MAX: Final = 64
"""Of a member's target, besides texts and topics."""
_TOPIC_BYTES_MAX: Final = 24
"""Of a topic in it, besides partitions."""


class Change(NamedTuple):
    """What a group will be when the records of a decision are replayed."""

    members: Mapping[str, Member]
    regexes: Mapping[str, ResolvedRegex]
    epoch: int


class Outcome(NamedTuple):
    epoch: int
    """Of the group when it was asked for."""
    assignment: Assignment


def unchanged(group: ConsumerGroup) -> Change:
    return Change(group.members, group.regexes, group.epoch)


def bumped(
    group: ConsumerGroup,
    members: Mapping[str, Member],
    regexes: Mapping[str, ResolvedRegex],
    env: Env,
) -> tuple[Change, list[Record]]:
    """The next epoch of the group."""
    group.changed_at_ms = env.monotonic_ms
    found = hash_of(topics_of(members, regexes), env.image)
    records = [epoch_record(group.group_id, group.epoch + 1, found)]
    if group.has_partition_metadata:
        records.insert(0, partition_metadata_tombstone(group.group_id))
    return Change(members, regexes, group.epoch + 1), records


def preferred_assignor(members: Mapping[str, Member], default: str) -> str:
    """The one that most members ask for."""
    counts = Counter(one.assignor for one in members.values() if one.assignor in ASSIGNORS)
    if not counts:
        return default
    return max(sorted(counts), key=lambda name: counts[name])  # type: ignore[type-var,return-value]


def maybe_assign(state: GroupState, group: ConsumerGroup, change: Change, env: Env) -> list[Job]:
    """At once if it may, else when the assignment interval is over."""
    if not change.members or change.epoch <= group.assignment_epoch:
        return []
    if group.computing_epoch is not None:
        return []  # its outcome will not count, and then it is made anew
    interval_ms = assignment_interval_ms(state, group.group_id, env)
    # Wall time may have been set back: never wait longer than the interval.
    wait_ms = min(group.assigned_at_ms + interval_ms - env.now_ms, interval_ms)
    if wait_ms > 0:
        key = (ASSIGN_DEADLINE, group.group_id, "")
        if key not in state.deadlines:
            state.deadlines.set(key, env.monotonic_ms + wait_ms)
        return []
    return [_job(state, group, change, env)]


def is_assignment_due(group: ConsumerGroup, change: Change) -> bool:
    return change.epoch > group.assignment_epoch


def _job(state: GroupState, group: ConsumerGroup, change: Change, env: Env) -> Job:
    state.deadlines.cancel((ASSIGN_DEADLINE, group.group_id, ""))
    group.computing_epoch = change.epoch
    name = preferred_assignor(change.members, state.settings.consumer_assignors[0])
    run = partial(_run, name, change.epoch, view_of(group, change, env))
    return Job(f"assign:{group.group_id}", run)


def _run(assignor: str, epoch: int, view: GroupView) -> Outcome:
    return Outcome(epoch, ASSIGNORS[assignor](view))


def view_of(group: ConsumerGroup, change: Change, env: Env) -> GroupView:
    topics = env.image.topics
    ids: dict[frozenset[str], frozenset[bytes]] = {}
    subscribers: dict[str, Subscriber] = {}
    for member_id, member in change.members.items():
        names = topics_of_member(member, change.regexes)
        if names not in ids:  # mostly all members have the same
            found = (topics.id_by_name.get(name) for name in names)
            ids[names] = frozenset(each for each in found if each is not None)
        current = _current_target(group, member)
        subscribers[member_id] = Subscriber(ids[names], current, member.instance_id)
    used = frozenset[bytes]().union(*ids.values())
    return GroupView(subscribers, {each: len(topics.by_id[each].partitions) for each in used})


def _current_target(group: ConsumerGroup, member: Member) -> Mapping[bytes, frozenset[int]]:
    if member.member_id not in group.targets and member.instance_id is not None:
        # It takes the place of the member that was this instance before.
        return group.target_of(group.statics.get(member.instance_id, ""))
    return group.target_of(member.member_id)


# --- outcomes and deadlines


def on_assigned(state: GroupState, key: str, outcome: Any, env: Env) -> Sequence[Decision]:  # noqa: ANN401
    group = state.groups.get(key.partition(":")[2])
    if not isinstance(group, ConsumerGroup) or group.computing_epoch is None:
        return ()  # a group that is gone
    assert isinstance(outcome, Outcome)
    group.computing_epoch = None
    if not group.members:
        return ()
    if outcome.epoch != group.epoch or outcome.assignment.keys() != group.members.keys():
        # At once: what is waiting has waited long enough.
        return [Decision([group.group_id], jobs=[_job(state, group, unchanged(group), env)])]
    group.changed_at_ms = env.monotonic_ms
    decisions = _target_decisions(group, outcome, state.settings.batch_bytes_max)
    decisions[-1].records.append(target_epoch_record(group.group_id, outcome.epoch, env.now_ms))
    answer_parked(state, group, outcome.epoch, outcome.assignment, decisions[-1], env)
    return decisions


def _target_decisions(
    group: ConsumerGroup, outcome: Outcome, batch_bytes_max: int
) -> list[Decision]:
    """More than one where they would not fit into a batch. Should only some of them come to be,
    the epoch of the assignment, written last, is not that of the group: it is made again."""
    decisions = [Decision([group.group_id])]
    room = batch_bytes_max // 2
    for member_id, partitions in outcome.assignment.items():
        if group.targets.get(member_id) == partitions:
            continue
        size = _TARGET_BYTES_MAX + len(group.group_id.encode()) + len(member_id.encode())
        size += sum(_TOPIC_BYTES_MAX + 4 * len(numbers) for numbers in partitions.values())
        if decisions[-1].records and size > room:
            decisions.append(Decision([group.group_id]))
            room = batch_bytes_max // 2
        room -= size
        decisions[-1].records.append(target_record(group.group_id, member_id, partitions))
    return decisions


def on_assign_deadline(state: GroupState, key: DeadlineKey, env: Env) -> Sequence[Decision]:
    group = state.groups.get(key[1])
    if not isinstance(group, ConsumerGroup) or group.computing_epoch is not None:
        return ()
    if not group.members or not is_assignment_due(group, unchanged(group)):
        return ()
    # Whatever wall time says by now: it has waited for its interval.
    return [Decision([group.group_id], jobs=[_job(state, group, unchanged(group), env)])]
