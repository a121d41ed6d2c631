"""How soon a member shall come again: as configured, or sooner while there will be news for it.

A member hears of its group in answers to its heartbeats alone. At the configured interval each step
of a rebalance takes that long; so who waits for an assignment, or for partitions that others are to
give up, is told to come sooner. Clients take the interval from each answer (KIP-848). Sessions are
what they were.

Sooner is for a while only: others hear within an interval that they have to give something up, and
have another one to do so. Who waits longer waits for somebody that is slow, or dead, and comes as
configured. Who has what it shall have comes sooner for half an interval: where one joins there soon
are more (KIP-134), and it may be the one that all of them wait for.

It costs no more than a coordinator can bear: the more members there are, the less soon, as all of
them may be waiting for one; and `GroupCounts` bounds it for all groups of the process together.
"""

from typing import Final

from barnabas_coordinator.group.consumer.consumer_group import ConsumerGroup
from barnabas_coordinator.group.consumer.group_timing import heartbeat_interval_ms
from barnabas_coordinator.group.group_state import GroupState
from barnabas_coordinator.shard.decision import Env

_SOON_PART: Final = 10
_SOON_MIN_MS: Final = 500
"""librdkafka waits for an answer no longer than the interval it was told, and then disconnects:
well above what an answer takes that waits for its records or for the assignor."""
_SOON_PER_MEMBER_MS: Final = 2
"""So a group sends 500 heartbeats a second at most; at five seconds, 2,500 members do anyway."""


def told_interval_ms(state: GroupState, group: ConsumerGroup, env: Env, *, is_final: bool) -> int:
    """`is_final`: the member has what it shall have, by an assignment that is up to date."""
    interval_ms = heartbeat_interval_ms(state, group.group_id, env)
    soon_for_ms = interval_ms // 2 if is_final else 2 * interval_ms
    if env.monotonic_ms - group.changed_at_ms >= soon_for_ms:
        return interval_ms
    if not state.counts.may_come_soon(env.now_ms):
        return interval_ms
    soon_ms = max(interval_ms // _SOON_PART, _SOON_MIN_MS)
    return min(max(soon_ms, _SOON_PER_MEMBER_MS * len(group.members)), interval_ms)
