"""Offsets that nobody needs any more: kept for too long (KIP-211), or of topics that are gone.

From time to time all groups are looked at, some of them in a turn: what has expired is deleted, and
with its last offset an empty group goes too. Whether an offset's time runs is for its group to say;
the time that an old client said for itself counts instead of ours.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from barnabas_coordinator.group.group_state import DeadlineKey, Group, GroupState
from barnabas_coordinator.group.offsets.offset_record import deletion, offset_tombstone
from barnabas_coordinator.group.offsets.offset_store import NEVER, Committed
from barnabas_coordinator.group.offsets.simple_group import all_group_ids, find_group
from barnabas_coordinator.shard.decision import Decision, Env, Record
from barnabas_core.metadata.image import Image
from barnabas_core.wire.error_code import ErrorCode

EXPIRY: Final = "offset-expiry"
_KEY: Final[DeadlineKey] = (EXPIRY, "", "")
_MS_PER_MINUTE: Final = 60_000
_OFFSETS_PER_TURN: Final = 5_000
_GROUP_COST: Final = 5
"""What looking at a group costs, in offsets."""
_PRODUCER_KEPT_LONGER_MS: Final = 3_600_000
"""Than the log remembers a producer, which looks only now and then: to decide what it refuses would
end the session."""


def arm_expiry(state: GroupState, env: Env) -> Sequence[Decision]:
    state.offsets.unswept = []
    interval_ms = state.settings.offsets_retention_check_interval_ms
    state.deadlines.set(_KEY, env.monotonic_ms + interval_ms)
    return ()


def on_expiry(state: GroupState, key: DeadlineKey, env: Env) -> Sequence[Decision]:
    if not state.offsets.unswept:
        state.offsets.unswept = all_group_ids(state)[::-1]
        _forget_producers(state, env)
    decisions = _sweep(state, env)
    if state.offsets.unswept:
        state.deadlines.set(_KEY, env.monotonic_ms)  # go on after what waits has had its turn
    else:
        arm_expiry(state, env)
    return decisions


def _sweep(state: GroupState, env: Env) -> list[Decision]:
    decisions: list[Decision] = []
    left = _OFFSETS_PER_TURN
    while state.offsets.unswept and left > 0:
        group = find_group(state, state.offsets.unswept.pop())
        if group is None:
            continue
        topics = state.offsets.topics(group.group_id).values()
        left -= _GROUP_COST + sum(map(len, topics))
        records = _expired_records(state, group, env)
        decisions += deletion((group.group_id,), records, [], state.settings.batch_bytes_max)
    return decisions


def _expired_records(state: GroupState, group: Group, env: Env) -> list[Record]:
    group_id = group.group_id
    count = sum(map(len, state.offsets.topics(group_id).values()))
    records = [
        offset_tombstone(group_id, topic, partition)
        for topic, partition in _expired(state, group, env)
    ]
    is_left = len(records) < count or state.offsets.has_pending(group_id)
    if not is_left and group.is_empty and group.check_delete() is ErrorCode.NONE:
        records += group.tombstones()
    return records


def _expired(state: GroupState, group: Group, env: Env) -> Iterator[tuple[str, int]]:
    offsets, group_id = state.offsets, group.group_id
    retention_ms = state.settings.offsets_retention_minutes * _MS_PER_MINUTE
    for topic, partitions in offsets.topics(group_id).items():
        if group.is_subscribed_to(topic):
            continue
        for partition, committed in partitions.items():
            if _is_expired(group, committed, env.now_ms, retention_ms) and not offsets.is_pending(
                group_id, topic, partition
            ):
                yield topic, partition


def _is_expired(group: Group, committed: Committed, now_ms: int, retention_ms: int) -> bool:
    _, _, _, committed_at_ms, expire_at_ms, _ = committed
    from_ms = group.offsets_expire_from_ms(committed_at_ms)
    if from_ms is None:
        return False
    if expire_at_ms != NEVER:
        return now_ms >= expire_at_ms
    return now_ms - from_ms >= retention_ms


def _forget_producers(state: GroupState, env: Env) -> None:
    offsets = state.offsets
    kept_ms = state.settings.producer_expiration_ms + _PRODUCER_KEPT_LONGER_MS
    oldest_ms = env.now_ms - kept_ms
    old = [each for each, known in offsets.producers.items() if known.seen_ms < oldest_ms]
    for producer_id in old:
        if not offsets.is_open(producer_id):
            del offsets.producers[producer_id]


def delete_of_gone_topics(state: GroupState, before: Image, env: Env) -> Sequence[Decision]:
    """A topic that came back under its name is another one."""
    if before.topics is env.image.topics:
        return ()
    after = env.image.topics.by_id
    gone = {topic.name: None for topic in before.topics if topic.id not in after}
    decisions: list[Decision] = []
    for group_id in state.offsets.group_ids() if gone else ():
        records = [
            offset_tombstone(group_id, topic, partition)
            for topic, partition in state.offsets.partitions(group_id)
            if topic in gone
        ]
        decisions += deletion((group_id,), records, [], state.settings.batch_bytes_max)
    return decisions
