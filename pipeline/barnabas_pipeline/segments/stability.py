"""Which records a reader of committed data may see: up to where, and which transactions aborted.

The newest producer snapshot at or below the high watermark tells which transactions were open when
it was taken; the batches between it and the high watermark tell how they went on. What began before
the first open transaction is stable. Aborted transactions are in the `.txnindex` files of closed
segments; those of an active one are found on the way, because its file may not be written yet.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from barnabas_core.log.index.transaction_index import (
    AbortedTransaction,
    CorruptTransactionIndex,
    decode_aborted,
)
from barnabas_core.log.opening.replay import aborted_of, replay_batch
from barnabas_core.log.producers.producer_snapshot import CorruptSnapshot, decode_snapshot
from barnabas_core.log.producers.producer_state import ProducerState
from barnabas_core.log.segments.file_name import (
    LOG,
    OFFSET_INDEX,
    PRODUCER_SNAPSHOT,
    TRANSACTION_INDEX,
)
from barnabas_core.ports import Disk
from barnabas_core.records.batch import BatchHeader
from barnabas_pipeline.segments.log_files import PartitionFiles, SegmentFile
from barnabas_pipeline.segments.walk import Bounds, SoundBatch, walk


class Stability(NamedTuple):
    last_stable_offset: int
    aborted: tuple[AbortedTransaction, ...]
    """By first offset."""


def find_stability(disk: Disk, files: PartitionFiles) -> Stability:
    open_from, found = _replay(disk, files, files.high_watermark)
    last_stable_offset = files.high_watermark if open_from is None else open_from
    aborted = set(found)
    for segment in files.segments:
        if segment.is_closed and segment.base_offset < files.high_watermark:
            aborted.update(_indexed(disk, files, segment))
    # A transaction whose marker is beyond the high watermark is open still.
    settled = [it for it in aborted if it.last_offset < files.high_watermark]
    return Stability(
        max(min(last_stable_offset, files.high_watermark), files.log_start_offset),
        tuple(sorted(settled, key=lambda it: (it.first_offset, it.producer_id))),
    )


class AbortedLookup:
    """Whether a batch belongs to an aborted transaction: its producer has one at a time."""

    __slots__ = ("_by_producer",)

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._by_producer: dict[int, list[tuple[int, int]]] = {}
        for it in sorted(aborted, key=lambda it: it.first_offset):
            ranges = self._by_producer.setdefault(it.producer_id, [])
            ranges.append((it.first_offset, it.last_offset))

    def __contains__(self, header: BatchHeader) -> bool:
        ranges = self._by_producer.get(header.producer_id)
        if ranges is None or not header.is_transactional:
            return False
        found = bisect_right(ranges, header.base_offset, key=lambda it: it[0])
        return found > 0 and header.base_offset < ranges[found - 1][1]


def _indexed(disk: Disk, files: PartitionFiles, segment: SegmentFile) -> list[AbortedTransaction]:
    data = disk.read(files.file(segment.base_offset, TRANSACTION_INDEX))
    if not data:
        return []  # most segments never see an abort
    try:
        return decode_aborted(data)
    except CorruptTransactionIndex:
        return _replay(disk, files, segment.next_base_offset, segment.base_offset)[1]


def _replay(
    disk: Disk, files: PartitionFiles, up_to: int, snapshot_up_to: int | None = None
) -> tuple[int | None, list[AbortedTransaction]]:
    """(Where the first open transaction began, what was aborted on the way) up to an offset."""
    state, start = _from_snapshot(disk, files, up_to if snapshot_up_to is None else snapshot_up_to)
    aborted = []
    for segment in files.segments:
        if segment.next_base_offset <= start or segment.base_offset >= up_to:
            continue
        data = disk.map(files.file(segment.base_offset, LOG))
        for batch in _batches(disk, files, segment, up_to):
            if batch.header.base_offset >= start:
                completed = replay_batch(state, data, batch.position, batch.header)
                if completed is not None and completed.is_aborted:
                    aborted.append(aborted_of(completed))
    return state.first_undecided_offset(), aborted


def _batches(
    disk: Disk, files: PartitionFiles, segment: SegmentFile, up_to: int
) -> Iterator[SoundBatch]:
    """What is damaged is left out: whoever reads the records will say so."""
    path = files.file(segment.base_offset, OFFSET_INDEX)
    index = disk.read(path) if segment.is_closed else None
    bounds = Bounds(segment.base_offset, segment.next_base_offset, up_to)
    data = disk.map(files.file(segment.base_offset, LOG))
    return (it for it in walk(data, index or b"", bounds) if isinstance(it, SoundBatch))


def _from_snapshot(disk: Disk, files: PartitionFiles, up_to: int) -> tuple[ProducerState, int]:
    """The producers as the newest good snapshot has them, and its offset."""
    state = ProducerState()
    for offset in reversed(files.snapshot_offsets):
        data = disk.read(files.file(offset, PRODUCER_SNAPSHOT)) if offset <= up_to else None
        if data is None:
            continue
        try:
            # At time 0 nothing has expired: an open transaction must not be forgotten.
            state.load(decode_snapshot(data), now_ms=0, expiration_ms=1)
        except CorruptSnapshot:
            continue
        return state, offset
    return ProducerState(), files.segments[0].base_offset if files.segments else 0
