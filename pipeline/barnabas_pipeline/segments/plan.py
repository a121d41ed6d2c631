"""Which segments answer a query, and what of each: one `SegmentSlice` is one partition for Spark.

What the query asks (`Selection`) meets what a reader may see (`log_files`, `stability`). Segments
that hold nothing of it are left out here, by their offsets and by the largest timestamp in their
time index; where in a segment to begin is found later, by whoever reads it.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from barnabas_core.log.index.time_index import is_sound, last_entry
from barnabas_core.log.index.transaction_index import AbortedTransaction
from barnabas_core.log.segments.file_name import LOG, TIME_INDEX
from barnabas_core.ports import Disk
from barnabas_pipeline.segments.log_files import NO_END, PartitionFiles, SegmentFile
from barnabas_pipeline.segments.stability import find_stability

T = TypeVar("T")


class Isolation(StrEnum):
    COMMITTED = "read_committed"
    UNCOMMITTED = "read_uncommitted"


@dataclass(frozen=True, slots=True)
class Selection:
    """What a query asks for; `None` is everything."""

    topics: frozenset[str] | None = None
    partitions: frozenset[int] | None = None
    start_offset: int = 0
    end_offset: int = NO_END
    min_timestamp_ms: int | None = None

    def narrowed(self, other: "Selection") -> "Selection":
        """What both ask for."""
        times = [it.min_timestamp_ms for it in (self, other) if it.min_timestamp_ms is not None]
        return Selection(
            _both(self.topics, other.topics),
            _both(self.partitions, other.partitions),
            max(self.start_offset, other.start_offset),
            min(self.end_offset, other.end_offset),
            max(times, default=None),
        )

    def takes(self, files: PartitionFiles) -> bool:
        return (self.topics is None or files.topic in self.topics) and (
            self.partitions is None or files.partition in self.partitions
        )


def _both(one: frozenset[T] | None, other: frozenset[T] | None) -> frozenset[T] | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other


@dataclass(frozen=True, slots=True)
class SegmentSlice:
    """What one task reads: records of a segment from `start_offset` on, before `end_offset`."""

    topic: str
    partition: int
    path: str
    segment: SegmentFile
    file_number: int
    """The inode: a segment that was compacted or deleted meanwhile must not be read instead."""
    start_offset: int
    end_offset: int
    min_timestamp_ms: int | None
    aborted: tuple[AbortedTransaction, ...]
    is_committed: bool
    """Whether aborted transactions are left out."""
    cleaned_up_to: int
    """Compaction may have taken records before this offset."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a reader may see, whatever it asks for."""

    isolation: Isolation = Isolation.COMMITTED
    reads_active: bool = False


def plan_slices(
    disk: Disk, partitions: Iterable[PartitionFiles], selection: Selection, limits: Limits
) -> list[SegmentSlice]:
    return [
        planned
        for files in partitions
        if selection.takes(files)
        for planned in _plan_partition(disk, files, selection, limits)
    ]


def _plan_partition(
    disk: Disk, files: PartitionFiles, selection: Selection, limits: Limits
) -> Iterator[SegmentSlice]:
    stability = find_stability(disk, files)
    is_committed = limits.isolation is Isolation.COMMITTED
    end = stability.last_stable_offset if is_committed else files.high_watermark
    start = max(selection.start_offset, files.log_start_offset)
    end = min(selection.end_offset, end)
    for segment in files.segments:
        first = max(start, segment.base_offset)
        last = min(end, segment.next_base_offset)
        if first >= last or not (segment.is_closed or limits.reads_active):
            continue
        if _is_too_old(disk, files, segment, selection.min_timestamp_ms):
            continue
        yield SegmentSlice(
            files.topic,
            files.partition,
            files.path,
            segment,
            os.stat(files.file(segment.base_offset, LOG)).st_ino,
            first,
            last,
            selection.min_timestamp_ms,
            _overlapping(stability.aborted, first, last),
            is_committed,
            files.cleaned_up_to,
        )


def _overlapping(
    aborted: Sequence[AbortedTransaction], start: int, end: int
) -> tuple[AbortedTransaction, ...]:
    # A batch may begin before the first offset that is wanted of it.
    return tuple(it for it in aborted if it.last_offset >= start and it.first_offset < end)


def _is_too_old(
    disk: Disk, files: PartitionFiles, segment: SegmentFile, min_timestamp_ms: int | None
) -> bool:
    """Whether the time index, which ends with the segment's largest timestamp, rules it out."""
    if min_timestamp_ms is None or not segment.is_closed:
        return False
    index = disk.read(files.file(segment.base_offset, TIME_INDEX))
    if not index or not is_sound(index):
        return False
    return last_entry(index, segment.base_offset).timestamp_ms < min_timestamp_ms
