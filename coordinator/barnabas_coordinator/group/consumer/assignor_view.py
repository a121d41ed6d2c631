"""What an assignor is given and what it returns. It is pure: it runs apart from the shard."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from barnabas_coordinator.group.consumer.member import Partitions


class Subscriber(NamedTuple):
    topics: frozenset[bytes]
    """The ids of those of its topics that exist."""
    current: Partitions
    """Its part of the last target assignment."""
    instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class GroupView:
    subscribers: Mapping[str, Subscriber]
    """By member id."""
    partition_counts: Mapping[bytes, int]
    """Of every topic that somebody subscribes to."""


Assignment: TypeAlias = Mapping[str, Partitions]
"""By member id; every subscriber has an entry."""


def stable_order(subscribers: Mapping[str, Subscriber]) -> list[str]:
    """Member ids, those of static members first and by instance: a restart does not reorder."""

    def key(member_id: str) -> tuple[bool, str]:
        instance_id = subscribers[member_id].instance_id
        return (instance_id is None, member_id if instance_id is None else instance_id)

    return sorted(subscribers, key=key)
