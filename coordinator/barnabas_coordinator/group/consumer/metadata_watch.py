"""Topics come, go and grow: groups that are subscribed to them begin a new epoch.

And after loading: what has changed while nobody watched, and every deadline with its full length;
the latter also when records can be written again.
"""

from collections.abc import Iterator, Sequence

from barnabas_coordinator.group.consumer.consumer_group import ConsumerGroup, is_revoking
from barnabas_coordinator.group.consumer.heartbeat_answer import (
    JOIN_DEADLINE,
    REBALANCE_DEADLINE,
    SYNC_DEADLINE,
    keep_session,
)
from barnabas_coordinator.group.consumer.regex_refresh import refresh_soon, resolve
from barnabas_coordinator.group.consumer.target_assignment import (
    bumped,
    maybe_assign,
    unchanged,
)
from barnabas_coordinator.group.consumer.topic_hash import hash_of
from barnabas_coordinator.group.group_state import GroupState
from barnabas_coordinator.shard.decision import Decision, Env
from barnabas_core.metadata.image import Image
from barnabas_core.metadata.topics_image import TopicImage


def on_image(state: GroupState, before: Image, env: Env) -> Sequence[Decision]:
    after = env.image
    has_other_racks = _racks(before) != _racks(after)
    if before.topics is after.topics and not has_other_racks:
        return ()
    changed = _changed_topics(before, after)
    has_other_names = before.topics.id_by_name.keys() != after.topics.id_by_name.keys()
    decisions = []
    for group in _groups(state):
        if has_other_racks or not changed.isdisjoint(group.subscribed_topics()):
            decisions += _check_topics(state, group, env)
        if has_other_names and group.regexes_in_use():
            refresh_soon(state, group, env)
    return decisions


def on_loaded(state: GroupState, env: Env) -> Sequence[Decision]:
    decisions: list[Decision] = []
    for group in _groups(state):
        _arm(state, group, env)
        if not group.members:
            continue
        if group.state_name != "Stable":
            group.changed_at_ms = env.monotonic_ms  # whoever waited then is still waiting
        decisions += _check_topics(state, group, env)
        jobs = maybe_assign(state, group, unchanged(group), env)
        used = group.regexes_in_use()
        if used and group.resolving is None:
            jobs += resolve(group, used, env)
        if jobs:
            decisions.append(Decision([group.group_id], jobs=jobs))
    return decisions


def arm_members(state: GroupState, env: Env) -> None:
    for group in _groups(state):
        _arm(state, group, env)


def _arm(state: GroupState, group: ConsumerGroup, env: Env) -> None:
    for member_id, member in group.members.items():
        keep_session(state, group.group_id, member, env)
        rebalance_at_ms = env.monotonic_ms + member.rebalance_timeout_ms
        if is_revoking(member) and member.classic is None:
            state.deadlines.set((REBALANCE_DEADLINE, group.group_id, member_id), rebalance_at_ms)
        for kind in (JOIN_DEADLINE, SYNC_DEADLINE):
            if (kind, group.group_id, member_id) in state.deadlines:
                state.deadlines.set((kind, group.group_id, member_id), rebalance_at_ms)


def _check_topics(state: GroupState, group: ConsumerGroup, env: Env) -> list[Decision]:
    if not group.members:
        return []
    if hash_of(group.subscribed_topics(), env.image) == group.metadata_hash:
        return []
    change, records = bumped(group, group.members, group.regexes, env)
    return [Decision([group.group_id], records, jobs=maybe_assign(state, group, change, env))]


def _groups(state: GroupState) -> Iterator[ConsumerGroup]:
    return (group for group in state.groups.values() if isinstance(group, ConsumerGroup))


def _changed_topics(before: Image, after: Image) -> set[str]:
    changed = {topic.name for topic in before.topics if topic.id not in after.topics.by_id}
    for topic in after.topics:
        old = before.topics.by_id.get(topic.id)
        if old is not topic and (old is None or _matters(old, topic)):
            changed.add(topic.name)
    return changed


def _matters(old: TopicImage, new: TopicImage) -> bool:
    """Another leader is no reason to assign anything anew; other replicas may be other racks."""
    if len(old.partitions) != len(new.partitions):
        return True
    return any(old.partitions[n].replicas != one.replicas for n, one in new.partitions.items())


def _racks(image: Image) -> dict[int, str]:
    return {one.id: one.rack for one in image.cluster.brokers.values() if one.rack}
