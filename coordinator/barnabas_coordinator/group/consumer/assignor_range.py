"""The range assignor: of every topic, each subscriber gets a run of neighbouring partitions.

Where all subscribe to the same topics and these have as many partitions each, a member gets the
same numbers of every topic, so that they can be joined. It keeps what it had only in so far as the
order of members stays: static members are ordered by instance.
"""

from barnabas_coordinator.group.consumer.assignor_view import (
    Assignment,
    GroupView,
    stable_order,
)


def assign_range(view: GroupView) -> Assignment:
    found: dict[str, dict[bytes, frozenset[int]]] = {each: {} for each in view.subscribers}
    members_of: dict[bytes, list[str]] = {}
    for member_id in stable_order(view.subscribers):
        for topic_id in view.subscribers[member_id].topics:
            members_of.setdefault(topic_id, []).append(member_id)
    for topic_id, members in sorted(members_of.items()):
        quota, extra = divmod(view.partition_counts[topic_id], len(members))
        start = 0
        for place, member_id in enumerate(members):
            end = start + quota + (place < extra)
            if start < end:
                found[member_id][topic_id] = frozenset(range(start, end))
            start = end
    return found
