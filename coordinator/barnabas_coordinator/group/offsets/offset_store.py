"""Committed offsets of the groups of one shard, and those of transactions under way.

A million of them must load in seconds and be kept for long: they are plain tuples (the collector
stops looking at these, unlike at objects) by group, topic and partition, and texts and ids that
many share are kept once.

An offset committed in a transaction is pending until the marker. Where commits of several kinds
meet at one partition, the one that was written last counts, whenever its marker comes: what is
compacted away in the log must not have been of importance. So an older pending commit is
superseded by a newer one that counts; it stays pending, but is worth nothing.
"""

from collections.abc import Iterator, Mapping
from sys import intern
from typing import Final, NamedTuple, TypeAlias

from barnabas_core.wire.messages.offset_commit_value import OffsetCommitValue
from barnabas_core.wire.schema import ZERO_UUID

Committed: TypeAlias = tuple[int, int, str, int, int, bytes]
"""(offset, leader epoch or -1, metadata, committed at, expires at or -1, topic id or zeros)"""
NEVER: Final = -1
_Partitions: TypeAlias = dict[int, Committed]
_Topics: TypeAlias = dict[str, _Partitions]
_Pending: TypeAlias = dict[tuple[str, int], dict[int, tuple[int, Committed | None]]]
"""By (topic, partition) and producer id: (when, counted in pending commits; what, unless
superseded)."""


class KnownProducer(NamedTuple):
    epoch: int
    """The newest."""
    coordinator_epoch: int
    """Of whoever ended its last transaction; -1: nobody did."""
    seen_ms: int


class OffsetStore:
    """Changed by replaying alone."""

    __slots__ = (
        "_groups",
        "_open",
        "_pending",
        "_pending_count",
        "_shared",
        "count",
        "producers",
        "unswept",
    )

    def __init__(self) -> None:
        self._groups: dict[str, _Topics] = {}
        self.count = 0
        """Of those that count: what is pending is not among them."""
        self._pending: dict[str, _Pending] = {}
        self._open: dict[int, dict[str, None]] = {}
        """Groups by the producer whose transaction has pending commits of theirs."""
        self._pending_count = 0
        self._shared: dict[bytes, bytes] = {ZERO_UUID: ZERO_UUID}
        self.producers: dict[int, KnownProducer] = {}
        """By id. Not durable: old ones are forgotten."""
        self.unswept: list[str] = []
        """Groups that the sweep for expired offsets has still to look at. Not durable."""

    # --- reading

    def get(self, group: str, topic: str, partition: int) -> Committed | None:
        return self._groups.get(group, {}).get(topic, {}).get(partition)

    def topics(self, group: str) -> Mapping[str, Mapping[int, Committed]]:
        return self._groups.get(group, {})

    def has(self, group: str) -> bool:
        return group in self._groups or group in self._pending

    def is_pending(self, group: str, topic: str, partition: int) -> bool:
        pending = self._pending.get(group)
        return pending is not None and (topic, partition) in pending

    def has_pending(self, group: str) -> bool:
        return group in self._pending

    def is_open(self, producer_id: int) -> bool:
        """Whether a transaction of it has pending commits here, or had until they were deleted."""
        return producer_id in self._open

    def open_groups(self, producer_id: int) -> list[str]:
        """Those that its marker will change."""
        return list(self._open.get(producer_id, ()))

    def partitions(self, group: str) -> Iterator[tuple[str, int]]:
        """Of all commits, pending ones too; each once."""
        topics = self._groups.get(group, {})
        for topic, partitions in topics.items():
            for partition in partitions:
                yield topic, partition
        for topic, partition in self._pending.get(group, ()):
            if partition not in topics.get(topic, {}):
                yield topic, partition

    def group_ids(self) -> list[str]:
        return [*self._groups, *(group for group in self._pending if group not in self._groups)]

    def durable(self) -> object:
        return self._groups, self._pending

    # --- replaying

    def put(self, group: str, topic: str, partition: int, value: OffsetCommitValue) -> None:
        self.put_committed(group, topic, partition, self._committed(value))

    def put_committed(self, group: str, topic: str, partition: int, committed: Committed) -> None:
        self._put(group, topic, partition, committed)
        if group in self._pending:
            self._supersede(group, (topic, partition), before=self._pending_count + 1)

    def put_pending(
        self, producer_id: int, group: str, topic: str, partition: int, value: OffsetCommitValue
    ) -> None:
        self._pending_count += 1
        at = self._pending.setdefault(group, {}).setdefault((intern(topic), partition), {})
        at[producer_id] = (self._pending_count, self._committed(value))
        self._open.setdefault(producer_id, {})[group] = None

    def remove(self, group: str, topic: str, partition: int) -> None:
        """Pending ones too: a marker does not bring back what was deleted."""
        topics = self._groups.get(group)
        if topics is not None and (partitions := topics.get(topic)) is not None:
            if partitions.pop(partition, None) is not None:
                self.count -= 1
            if not partitions:
                del topics[topic]
            if not topics:
                del self._groups[group]
        pending = self._pending.get(group)
        if pending is not None and pending.pop((topic, partition), None) is not None:
            self._forget_if_empty(group, pending)

    def complete(self, producer_id: int, *, commit: bool) -> None:
        """The marker of a transaction: what is pending counts, or never was."""
        for group in self._open.pop(producer_id, ()):
            pending = self._pending.get(group, {})
            for at, by_producer in list(pending.items()):
                written, committed = by_producer.pop(producer_id, (0, None))
                if commit and committed is not None:
                    self._put(group, *at, committed)
                    self._supersede(group, at, before=written)
                if not by_producer:
                    del pending[at]
            self._forget_if_empty(group, pending)

    def _put(self, group: str, topic: str, partition: int, committed: Committed) -> None:
        topics = self._groups.get(group)
        if topics is None:
            topics = self._groups[group] = {}
        partitions = topics.get(topic)
        if partitions is None:
            partitions = topics[intern(topic)] = {}
        if partition not in partitions:
            self.count += 1
        partitions[partition] = committed

    def shared_id(self, topic_id: bytes) -> bytes:
        """The same, kept once."""
        return self._shared.setdefault(topic_id, topic_id)

    def _committed(self, value: OffsetCommitValue) -> Committed:
        return (
            value.offset,
            value.leader_epoch,
            value.metadata,
            value.commit_timestamp,
            value.expire_timestamp,
            self.shared_id(value.topic_id),
        )

    def _supersede(self, group: str, at: tuple[str, int], *, before: int) -> None:
        by_producer = self._pending[group].get(at, {})
        for producer_id, (written, _) in by_producer.items():
            if written < before:
                by_producer[producer_id] = (written, None)

    def _forget_if_empty(self, group: str, pending: _Pending) -> None:
        if not pending:
            self._pending.pop(group, None)
