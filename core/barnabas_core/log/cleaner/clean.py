"""Compacting one partition's closed segments into `.cleaned` files: what a worker process does.

Two passes over files that nobody changes meanwhile. The first reads the dirty part and notes the
newest offset of each key, up to where the segments end or the key map is full. The second reads
from the start of the log to there and writes what stays, group by group. The log itself is not
touched: the broker swaps the result in, or throws it away.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from barnabas_core.log.cleaner.batch_cleaner import (
    BatchCleaner,
    CleanerStats,
    LastBatch,
    header_alone,
)
from barnabas_core.log.cleaner.error import UncleanableLog
from barnabas_core.log.cleaner.grouping import GroupBounds, SegmentFiles, fits
from barnabas_core.log.cleaner.key_map import KeyMap, KeyMapTooSmall
from barnabas_core.log.cleaner.output import CleanedSegment
from barnabas_core.log.cleaner.source import SegmentSource
from barnabas_core.log.cleaner.throttle import Throttle
from barnabas_core.log.cleaner.transactions import TransactionPass
from barnabas_core.log.index.transaction_index import AbortedTransaction
from barnabas_core.log.segments.file_name import CLEANED
from barnabas_core.ports import Disk
from barnabas_core.records.batch import BatchHeader, CorruptBatch
from barnabas_core.records.record_scan import iter_keys


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanTask:
    """What to clean and by which rules; all of it fits on a command line."""

    dir_path: str
    first_dirty_offset: int
    first_uncleanable_offset: int
    now_ms: int
    delete_retention_ms: int
    segment_bytes: int
    segment_index_bytes: int
    index_interval_bytes: int
    key_map_bytes: int
    """`log.cleaner.dedupe.buffer.size`"""
    key_map_load_factor: float
    """`log.cleaner.io.buffer.load.factor`"""
    io_buffer_bytes: int
    """`log.cleaner.io.buffer.size`: what is written at once."""
    io_bytes_per_second: float
    """`log.cleaner.io.max.bytes.per.second`"""


@dataclass(frozen=True, slots=True)
class CleanedGroup:
    """A rewritten segment and those it stands for."""

    base_offset: int
    size_bytes: int
    has_aborted: bool
    """Its transaction index is not empty."""
    replaced: tuple[tuple[int, int], ...]
    """(base offset, size in bytes) of each."""


@dataclass(frozen=True, slots=True)
class CleanResult:
    groups: tuple[CleanedGroup, ...]
    clean_up_to: int
    """The next cleaning starts here."""
    stats: CleanerStats


class Cleaner:
    """One run. Raises `UncleanableLog` if the log is damaged; `.cleaned` files may then remain."""

    def __init__(
        self,
        disk: Disk,
        task: CleanTask,
        throttle: Throttle,
        producers: Mapping[int, LastBatch],
        aborted_later: Iterable[AbortedTransaction] = (),
    ) -> None:
        """`aborted_later`: from segments at or after the first uncleanable offset."""
        self._disk = disk
        self._task = task
        self._throttle = throttle
        self._source = SegmentSource(disk, task.dir_path, throttle)
        self._producers = producers
        self._segments = self._source.segments(task.first_uncleanable_offset)
        self._aborted = [*self._source.aborted(self._segments), *aborted_later]

    def run(self) -> CleanResult:
        remove_leftovers(self._disk, self._task.dir_path)
        if not self._segments or self._segments[-1].end_offset <= self._task.first_dirty_offset:
            return CleanResult((), self._task.first_dirty_offset, CleanerStats())
        try:
            key_map = self._map_keys()
            result = self._rewrite(key_map)
        except (CorruptBatch, KeyMapTooSmall) as error:
            raise UncleanableLog(f"{self._task.dir_path}: {error}") from error
        self._disk.sync_dir(self._task.dir_path)
        return result

    # First pass

    def _map_keys(self) -> KeyMap:
        task = self._task
        span = max(task.first_uncleanable_offset - task.first_dirty_offset, 0)
        key_map = KeyMap(task.key_map_bytes, task.key_map_load_factor, expected_keys=span)
        transactions = TransactionPass(self._aborted)
        dirty = [it for it in self._segments if it.end_offset > task.first_dirty_offset]
        for segment in dirty:
            if not self._map_segment(segment, key_map, transactions):
                break
            # Compaction and aborted offsets leave gaps: the segment is known to its very end.
            key_map.latest_offset = segment.end_offset - 1
        if key_map.latest_offset < task.first_dirty_offset:
            raise KeyMapTooSmall("the keys of a single batch do not fit into the key map")
        return key_map

    def _map_segment(
        self, segment: SegmentFiles, key_map: KeyMap, transactions: TransactionPass
    ) -> bool:
        """False if the map is full before the segment's end."""
        for _, header, batch in self._source.batches([segment]):
            if header.last_offset < self._task.first_dirty_offset:
                continue
            if not self._map_batch(header, batch, key_map, transactions):
                return False
            key_map.latest_offset = header.last_offset
        return True

    def _map_batch(
        self,
        header: BatchHeader,
        batch: memoryview,
        key_map: KeyMap,
        transactions: TransactionPass,
    ) -> bool:
        if header.is_control or transactions.is_aborted(header):
            return True
        return all(
            key_map.put(record.key, record.offset)
            for record in iter_keys(batch, header=header)
            if record.key is not None
        )

    # Second pass

    def _rewrite(self, key_map: KeyMap) -> CleanResult:
        task = self._task
        clean_up_to = key_map.latest_offset + 1
        segments = [it for it in self._segments if it.base_offset < clean_up_to]
        cleaner = BatchCleaner(
            key_map=key_map,
            transactions=TransactionPass(self._aborted),
            producers=self._producers,
            now_ms=task.now_ms,
            delete_retention_ms=task.delete_retention_ms,
        )
        pending = deque(segments)
        groups: list[CleanedGroup] = []
        while pending:
            group = self._rewrite_group(pending, cleaner)
            groups += [group] if group is not None else []
        return CleanResult(tuple(groups), clean_up_to, cleaner.stats)

    def _rewrite_group(
        self, pending: deque[SegmentFiles], cleaner: BatchCleaner
    ) -> CleanedGroup | None:
        """Take as many of `pending` as fit; None if it is one that loses nothing."""
        task = self._task
        bounds = GroupBounds(task.segment_bytes, task.segment_index_bytes)
        output = self._open_output(pending[0].base_offset)
        group: list[SegmentFiles] = []
        while pending and (not group or fits(output.files, pending[0], bounds)):
            group.append(pending.popleft())
            self._rewrite_segment(group[-1], cleaner, output)
        aborted = cleaner.transactions.take_aborted()
        if len(group) == 1 and not output.is_changed:
            output.discard()
            return None
        output.finish(aborted, self._source.modified_ms(group[-1]))
        replaced = tuple((it.base_offset, it.size_bytes) for it in group)
        files = output.files
        return CleanedGroup(files.base_offset, files.size_bytes, bool(aborted), replaced)

    def _rewrite_segment(
        self, segment: SegmentFiles, cleaner: BatchCleaner, output: CleanedSegment
    ) -> None:
        for _, header, batch in self._source.batches([segment]):
            kept = cleaner.clean(header, batch)
            if kept is None:
                output.drop(header_alone(header, batch))
            else:
                output.append(kept, is_changed=kept is not batch)

    def _open_output(self, base_offset: int) -> CleanedSegment:
        return CleanedSegment(
            self._disk,
            self._task.dir_path,
            base_offset,
            self._throttle,
            interval_bytes=self._task.index_interval_bytes,
            buffer_bytes=self._task.io_buffer_bytes,
        )


def remove_leftovers(disk: Disk, dir_path: str) -> None:
    """`.cleaned` files of a run that was cut off."""
    for name, _ in disk.list_dir(dir_path):
        if name.endswith(CLEANED):
            disk.remove(f"{dir_path}/{name}")
