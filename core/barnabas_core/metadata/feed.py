"""Committed metadata as it reaches whoever replays it: batch by batch, in the order of the log.

A `MetadataSink` gets either batches that go on where the last one ended, or a snapshot, which
stands for everything before its end offset: `on_snapshot_begin`, its batches, `on_snapshot_end`.
The offsets of batches within a snapshot number its own records and mean nothing in the log.
Control batches (leader changes, voters, a snapshot's head and foot) come with no values: they count
for their offsets, and for the level of `kraft.version`, which no metadata record tells.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from barnabas_core.ports.disk import Buffer
from barnabas_core.raft.raft_log import SnapshotId
from barnabas_core.records.batch import BatchFault, BatchHeader, check_batch, split_batches
from barnabas_core.records.error import CorruptBatch
from barnabas_core.records.quorum_control import parse_quorum_control
from barnabas_core.records.record import Record, iter_records
from barnabas_core.wire.messages.kraft_version_record import KRaftVersionRecord


@dataclass(frozen=True, slots=True)
class CommittedBatch:
    base_offset: int
    end_offset: int
    """The offset after the last record."""
    epoch: int
    """Of the leader that wrote it."""
    append_at_ms: int
    values: list[memoryview]
    """The metadata records, still encoded; none for a control batch."""
    kraft_version: int | None = None
    """The level that the quorum runs at from here on; None: as before."""


class MetadataSink(Protocol):
    """Whoever replays the metadata of the cluster."""

    def on_snapshot_begin(self, snapshot_id: SnapshotId) -> None:
        """Forget what was replayed: a whole state follows.

        Called again before `on_snapshot_end` when the snapshot could not be read to its end.
        """
        ...

    def on_batch(self, batch: CommittedBatch) -> None: ...

    def on_snapshot_end(self) -> None: ...


def parse_batches(buffer: Buffer) -> Iterator[CommittedBatch]:
    """The batches in `buffer`, which holds only whole ones; `CorruptBatch` if one is not sound."""
    for position, header in split_batches(buffer):
        check_batch(buffer, position, header)
        yield CommittedBatch(
            header.base_offset,
            header.next_offset,
            header.partition_leader_epoch,
            header.max_timestamp,
            [] if header.is_control else _values(buffer, position, header),
            _kraft_version(buffer, position, header) if header.is_control else None,
        )


def _values(buffer: Buffer, position: int, header: BatchHeader) -> list[memoryview]:
    return [_value(record) for record in iter_records(buffer, position, header=header)]


def _kraft_version(buffer: Buffer, position: int, header: BatchHeader) -> int | None:
    records = iter_records(buffer, position, header=header)
    told = (parse_quorum_control(record) for record in records)
    levels = [one.kraft_version for one in told if isinstance(one, KRaftVersionRecord)]
    return levels[-1] if levels else None


def _value(record: Record) -> memoryview:
    if record.value is None:
        raise CorruptBatch(
            BatchFault.BAD_RECORD, f"the metadata record at offset {record.offset} has no value"
        )
    return memoryview(record.value)
