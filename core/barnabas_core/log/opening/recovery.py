"""Putting a partition's directory in order after a crash, so that it can be opened like any other.

Only files go in and out, so this runs in a worker process as well. In this order:

1. The cleaner's unfinished replacements are completed or undone, deletions finished, index files
   without a segment removed.
2. Segments before the one with the recovery point are durable: only an index file that is missing
   or cannot be right is made anew.
3. From there on each batch is read and its CRC checked. The log is cut before the first bad one;
   what follows goes, as it does after a gap, where a file in between was lost. (A compacted log
   has gaps.)
4. What was read makes new index files, leader epochs and producer snapshots.

What is left holds every batch before the recovery point, byte for byte, and a prefix of what was
written after it. None of it is synced here: the recovery point stays where it was.
"""

from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise

from barnabas_core.log.cleaner.swap import plan_swap_recovery, run_steps
from barnabas_core.log.directories.checkpoint import encode_leader_epochs
from barnabas_core.log.epochs.epoch_tracker import epochs_path, load_epochs
from barnabas_core.log.epochs.leader_epoch import LeaderEpochCache
from barnabas_core.log.index import offset_index, time_index
from barnabas_core.log.index.active_index import ActiveIndex
from barnabas_core.log.index.offset_index import RELATIVE_OFFSET_MAX
from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.opening.load import PartitionFiles, list_partition
from barnabas_core.log.opening.replay import aborted_of, replay_batch, replay_segment
from barnabas_core.log.producers.producer_snapshot import (
    CorruptSnapshot,
    decode_snapshot,
    encode_snapshot,
)
from barnabas_core.log.producers.producer_state import ProducerState
from barnabas_core.log.segments.file_name import (
    LOG,
    OFFSET_INDEX,
    PRODUCER_SNAPSHOT,
    SEGMENT_SUFFIXES,
    TIME_INDEX,
    file_name,
)
from barnabas_core.log.segments.scan import PositionedBatch, scan_batches, scan_headers
from barnabas_core.log.segments.segment import Segment
from barnabas_core.log.write import write_indexes, write_whole
from barnabas_core.ports import Disk


@dataclass(frozen=True, slots=True)
class RecoverySettings:
    recovery_point: int
    log_start_offset: int
    now_ms: int
    producer_expiration_ms: int


@dataclass(slots=True)
class Recovered:
    """What was found."""

    log_end_offset: int
    scanned_bytes: int = 0
    truncated_bytes: int = 0


def recover_partition(
    disk: Disk, dir_path: str, config: LogConfig, settings: RecoverySettings
) -> Recovered:
    return _Recovery(disk, dir_path, config, settings).run()


class _Recovery:
    __slots__ = (
        "_config",
        "_dir_path",
        "_disk",
        "_epochs",
        "_files",
        "_producers",
        "_settings",
    )

    def __init__(
        self, disk: Disk, dir_path: str, config: LogConfig, settings: RecoverySettings
    ) -> None:
        self._disk = disk
        self._dir_path = dir_path
        self._config = config
        self._settings = settings
        self._files = PartitionFiles()
        self._epochs = LeaderEpochCache()
        self._producers = ProducerState()

    def run(self) -> Recovered:
        self._tidy()
        found = self._recover_from(self._settings.recovery_point)
        if found.log_end_offset < self._settings.recovery_point:
            # The recovery point is not this log's: nothing can be taken for durable.
            found = self._recover_from(0)
        if found.log_end_offset < self._settings.log_start_offset or not self._bases():
            found.log_end_offset = self._start_over()
        self._write_state(found.log_end_offset)
        return found

    def _recover_from(self, recovery_point: int) -> Recovered:
        bases = self._bases()
        # The segment before it may have been sealed after its last flush: so look at that too.
        first = max(bisect_left(bases, recovery_point) - 1, 0)
        for base_offset in bases[:first]:
            self._maybe_rebuild_indexes(base_offset)
        self._load_state(bases, first)
        return self._scan(bases[first:])

    def _bases(self) -> list[int]:
        return sorted(self._files.of(LOG))

    def _path(self, offset: int, suffix: str) -> str:
        return f"{self._dir_path}/{file_name(offset, suffix)}"

    # 1. Leftovers

    def _tidy(self) -> None:
        names = [name for name, size in self._disk.list_dir(self._dir_path) if size >= 0]
        steps = plan_swap_recovery(names, self._end_of_swap)
        run_steps(self._disk, self._dir_path, steps)
        self._files = list_partition(self._disk, self._dir_path)
        for suffix in SEGMENT_SUFFIXES:
            for orphan in sorted(self._files.of(suffix).keys() - self._files.of(LOG).keys()):
                self._disk.remove(self._path(orphan, suffix))

    def _end_of_swap(self, name: str) -> int:
        file = self._disk.open(f"{self._dir_path}/{name}", read_only=True)
        end_offset = 0
        for batch in scan_headers(file.read_at, 0, file.size()):
            end_offset = batch.header.next_offset
        file.close()
        return end_offset

    # 2. What is durable

    def _maybe_rebuild_indexes(self, base_offset: int) -> None:
        log_bytes = self._files.of(LOG)[base_offset]
        offsets = self._disk.read(self._path(base_offset, OFFSET_INDEX))
        times = self._disk.read(self._path(base_offset, TIME_INDEX))
        if (
            offsets is None
            or times is None
            or not offset_index.is_sound(offsets, log_bytes)
            or not time_index.is_sound(times)
        ):
            self._rebuild_indexes(base_offset, log_bytes)

    def _rebuild_indexes(self, base_offset: int, log_bytes: int) -> None:
        """From the headers; aborted transactions are left as they are."""
        index = ActiveIndex(base_offset)
        interval_bytes = self._config.index_interval_bytes
        file = self._disk.open(self._path(base_offset, LOG), read_only=True)
        for position, header in scan_headers(file.read_at, 0, log_bytes):
            index.on_batch(header, header.last_offset, position, interval_bytes)
        file.close()
        offsets, times, _ = index.encode()
        self._disk.replace(self._path(base_offset, OFFSET_INDEX), offsets)
        self._disk.replace(self._path(base_offset, TIME_INDEX), times)

    def _load_state(self, bases: list[int], first: int) -> None:
        """Epochs and producers as they were where the scan begins."""
        self._epochs = load_epochs(self._disk, self._dir_path)
        self._producers = ProducerState()
        if not bases:
            self._epochs.clear()
            return
        start = bases[first]
        self._epochs.truncate_from_end(start)
        offset = self._load_snapshot(start)
        for base_offset, next_base in pairwise(bases[: first + 1]):
            if next_base > offset:
                self._replay(base_offset, offset)

    def _load_snapshot(self, up_to: int) -> int:
        """The newest good snapshot; the offset from which on batches must be replayed."""
        for offset in sorted(self._files.of(PRODUCER_SNAPSHOT), reverse=True):
            entries = self._read_snapshot(offset) if offset <= up_to else None
            if entries is not None:
                settings = self._settings
                self._producers.load(entries, settings.now_ms, settings.producer_expiration_ms)
                return offset
        return 0

    def _read_snapshot(self, offset: int) -> memoryview | None:
        data = self._disk.read(self._path(offset, PRODUCER_SNAPSHOT))
        try:
            return None if data is None else decode_snapshot(data)
        except CorruptSnapshot:
            return None

    def _replay(self, base_offset: int, from_offset: int) -> None:
        file = self._disk.open(self._path(base_offset, LOG), read_only=True)
        replay_segment(self._producers, file.read_at, 0, file.size(), from_offset)
        file.close()

    # 3. What is not

    def _scan(self, bases: list[int]) -> Recovered:
        found = Recovered(bases[0] if bases else 0)
        for index, base_offset in enumerate(bases):
            if self._is_out_of_line(base_offset, found.log_end_offset):
                self._remove_segments(bases[index:], found)
                break
            if index:
                self._write_snapshot(base_offset)
            if not self._scan_segment(base_offset, found):
                self._remove_segments(bases[index + 1 :], found)
                break
        return found

    def _is_out_of_line(self, base_offset: int, log_end_offset: int) -> bool:
        """Whether a segment cannot follow what was found so far.

        Before the recovery point every file is durable: a gap there is the cleaner's work, though
        the topic may no longer be a compacted one.
        """
        if base_offset <= log_end_offset or self._config.cleanup_compact:
            return base_offset < log_end_offset
        return log_end_offset >= self._settings.recovery_point

    def _scan_segment(self, base_offset: int, found: Recovered) -> bool:
        """Whether all of it is sound; if not, the rest is cut off."""
        file = self._disk.open(self._path(base_offset, LOG))
        size_bytes = file.size()
        segment = Segment(self._dir_path, base_offset)
        segment.active = index = ActiveIndex(base_offset)
        end_offset, end_position = base_offset, 0
        for batch in scan_batches(file.read_at, 0, size_bytes):
            header = batch.header
            if (
                header.base_offset < end_offset
                or header.last_offset - base_offset > RELATIVE_OFFSET_MAX
            ):
                break
            interval_bytes = self._config.index_interval_bytes
            index.on_batch(header, header.last_offset, batch.position, interval_bytes)
            self._take_batch(batch, index)
            end_offset = header.next_offset
            end_position = batch.position + len(batch.data)
        if end_position < size_bytes:
            file.truncate(end_position)
        file.close()
        write_indexes(self._disk, segment)
        found.log_end_offset = end_offset
        found.scanned_bytes += size_bytes
        found.truncated_bytes += size_bytes - end_position
        return end_position == size_bytes

    def _take_batch(self, batch: PositionedBatch, index: ActiveIndex) -> None:
        header = batch.header
        epoch = header.partition_leader_epoch
        if epoch >= 0 and epoch != self._epochs.latest_epoch:
            self._epochs.assign(epoch, header.base_offset)
        completed = replay_batch(self._producers, batch.data, 0, header)
        if completed is not None and completed.is_aborted:
            index.aborted.append(aborted_of(completed))

    def _remove_segments(self, bases: list[int], found: Recovered) -> None:
        for base_offset in bases:
            found.truncated_bytes += self._files.of(LOG)[base_offset]
            for suffix in SEGMENT_SUFFIXES:
                self._disk.remove(self._path(base_offset, suffix))
            del self._files.of(LOG)[base_offset]

    # 4. What is known now

    def _start_over(self) -> int:
        """Nothing is left of the log but where it must go on."""
        self._remove_segments(self._bases(), Recovered(0))
        base_offset = max(self._settings.log_start_offset, self._settings.recovery_point)
        segment = Segment(self._dir_path, base_offset)
        segment.active = ActiveIndex(base_offset)
        write_whole(self._disk, segment.path(LOG), b"")
        write_indexes(self._disk, segment)
        self._files.sizes[LOG] = {base_offset: 0}
        self._producers = ProducerState()
        self._epochs.clear()
        return base_offset

    def _write_state(self, end_offset: int) -> None:
        self._epochs.truncate_from_end(end_offset)
        epochs = encode_leader_epochs(self._epochs.entries)
        self._disk.replace(epochs_path(self._dir_path), epochs)
        self._write_snapshot(end_offset)
        kept = {*self._bases(), end_offset}
        for offset in sorted(self._files.of(PRODUCER_SNAPSHOT).keys() - kept):
            self._disk.remove(self._path(offset, PRODUCER_SNAPSHOT))

    def _write_snapshot(self, offset: int) -> None:
        snapshot = encode_snapshot(self._producers.snapshot())
        write_whole(self._disk, self._path(offset, PRODUCER_SNAPSHOT), snapshot)
