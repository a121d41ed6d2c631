"""A member of a consumer group (KIP-848): what it wants, and how far it has come with its share.

Partitions are kept by topic id. Those that a member was told to have carry the epoch at which it
got them: a commit of that epoch or later is its own, even when the member has moved on (KIP-1251).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, TypeAlias

LEAVE_EPOCH: Final = -1
STATIC_LEAVE_EPOCH: Final = -2
"""A static member that left for a while: it may come back as another member."""
JOIN_EPOCH: Final = 0

Partitions: TypeAlias = Mapping[bytes, frozenset[int]]
"""Numbers of partitions by topic id; no topic without any."""
Held: TypeAlias = Mapping[bytes, Mapping[int, int]]
"""The epoch since which a member has a partition, by topic id and number."""

NO_PARTITIONS: Final[Partitions] = {}
NOTHING_HELD: Final[Held] = {}


class MemberState(IntEnum):
    """As CurrentMemberAssignment records write it."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    """It was told to give up partitions, and has not said yet that it did."""
    UNRELEASED_PARTITIONS = 2
    """It waits for partitions that others still have."""
    UNKNOWN = 127
    """Of a later release."""


@dataclass(frozen=True, slots=True)
class ClassicProtocols:
    """Of a member that speaks the classic protocol in a consumer group (online migration)."""

    session_timeout_ms: int
    supported: tuple[tuple[str, bytes], ...]
    """(name, metadata), the one it prefers first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topic_names: frozenset[str] = frozenset()
    topic_regex: str = ""
    rebalance_timeout_ms: int = -1
    assignor: str | None = None
    classic: ClassicProtocols | None = None
    epoch: int = 0
    previous_epoch: int = 0
    state: MemberState = MemberState.STABLE
    assigned: Held = field(default_factory=dict)
    revoking: Held = field(default_factory=dict)

    def is_reconciled_to(self, epoch: int) -> bool:
        return self.state is MemberState.STABLE and self.epoch == epoch

    def held_since(self, topic_id: bytes, partition: int) -> int | None:
        """The epoch at which it got the partition, if it has it or is to give it up."""
        for held in (self.assigned, self.revoking):
            since = held.get(topic_id, {}).get(partition)
            if since is not None:
                return since
        return None


def partitions_of(pairs: Iterable[tuple[bytes, Iterable[int]]]) -> Partitions:
    return {topic_id: found for topic_id, some in pairs if (found := frozenset(some))}


def is_within(some: Partitions, held: Held) -> bool:
    return all(
        number in held.get(topic_id, ()) for topic_id, numbers in some.items() for number in numbers
    )


def overlap(some: Partitions, held: Held) -> bool:
    return any(
        number in held.get(topic_id, ()) for topic_id, numbers in some.items() for number in numbers
    )
