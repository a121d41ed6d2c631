"""The metadata log as the Raft core sees it: a `RaftLog` over a partition's log and its snapshots.

Every change is staged here and visible at once. What the disk is still to do is kept as a list of
writes, in order, which `take_writes` hands to the `DiskWriter`. The newest batches are in memory,
those that are not written yet in any case; older ones are read from the files.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

from barnabas_controller.quorum.checkpoint_store import StoredSnapshot, stored_snapshot
from barnabas_controller.quorum.epoch_line import EpochLine
from barnabas_controller.quorum.opening import OpenedLog
from barnabas_core.ports import Clock
from barnabas_core.raft import SnapshotId, SnapshotInfo
from barnabas_core.raft.control_mapping import batches_in, control_batch
from barnabas_core.raft.raft_log import EpochEnd, SnapshotChunk
from barnabas_core.raft.ready import (
    Append,
    DeleteBefore,
    InstallSnapshot,
    LogWrite,
    Truncate,
    WriteSnapshot,
)
from barnabas_core.raft.record import Batch
from barnabas_core.records.batch import parse_header

MEMORY_BYTES_MAX = 4 << 20


class MetadataLog:
    __slots__ = (
        "_bases",
        "_batches",
        "_clock",
        "_download",
        "_epochs",
        "_memory_bytes",
        "_memory_bytes_max",
        "_snapshots",
        "_undurable",
        "_unwritten_cuts",
        "_writes",
        "end_offset",
        "partition_log",
        "start_offset",
        "store",
    )

    def __init__(
        self, opened: OpenedLog, clock: Clock, memory_bytes_max: int = MEMORY_BYTES_MAX
    ) -> None:
        self.partition_log = opened.partition_log
        self.store = opened.store
        self.start_offset = opened.start_offset
        self.end_offset = opened.partition_log.log_end_offset
        self._clock = clock
        self._memory_bytes_max = memory_bytes_max
        self._snapshots = list(opened.snapshots)
        self._epochs = EpochLine(opened.partition_log.epochs.entries)
        if self._snapshots and self.start_offset:
            self._epochs.start_at(self._snapshots[0].id)
        self._batches: list[Batch] = []
        self._bases: list[int] = []
        self._memory_bytes = 0
        self._writes: list[LogWrite] = []
        # (id, size so far, first bytes) of a snapshot that comes in chunks.
        self._download: tuple[SnapshotId, int, bytes] | None = None
        # Installed, but not yet under its name.
        self._undurable: SnapshotId | None = None
        # Truncations and installed snapshots that the files have not seen.
        self._unwritten_cuts = 0

    # --- reading

    @property
    def last_epoch(self) -> int:
        return self._epochs.last

    def epoch_before(self, offset: int) -> int:
        """Of the last record before `offset`, which this log must know."""
        assert self.start_offset <= offset <= self.end_offset, f"{offset} is not in the log"
        return self._epochs.at(offset - 1)

    def end_offset_for_epoch(self, epoch: int) -> EpochEnd | None:
        return self._epochs.end_of(epoch, self.end_offset)

    @property
    def _memory_start(self) -> int:
        return self._bases[0] if self._bases else self.end_offset

    def read(self, offset: int, max_bytes: int) -> tuple[Batch, ...]:
        if offset >= self.end_offset:
            return ()
        if offset < self._memory_start:
            read = self.partition_log.read(offset, max_bytes, up_to=self._memory_start)
            return batches_in(read.bytes(), verify=False)
        first = bisect_left(self._bases, offset)
        if first == len(self._bases) or self._bases[first] > offset:
            first -= 1
        last, room = first, max_bytes
        while last < len(self._batches):
            room -= self._batches[last].size_bytes
            if room < 0 and last > first:
                break
            last += 1
        return tuple(self._batches[first:last])

    @property
    def snapshots(self) -> Sequence[StoredSnapshot]:
        """Oldest first."""
        return self._snapshots

    @property
    def size_bytes(self) -> int:
        """Of the log's files and its snapshots."""
        return self.partition_log.size_bytes + sum([one.size_bytes for one in self._snapshots])

    def snapshot(self) -> SnapshotInfo | None:
        return self._snapshots[-1].info if self._snapshots else None

    def find_snapshot(self, snapshot_id: SnapshotId) -> StoredSnapshot | None:
        """One that can be read: it is under its name."""
        if snapshot_id == self._undurable:
            return None
        return next((one for one in self._snapshots if one.id == snapshot_id), None)

    def read_snapshot(
        self, snapshot_id: SnapshotId, position: int, max_bytes: int
    ) -> SnapshotChunk | None:
        stored = self.find_snapshot(snapshot_id)
        return None if stored is None else self.store.read(stored, position, max_bytes)

    # --- staging

    def append(self, batches: Sequence[Batch]) -> None:
        staged = tuple([self._in_form(batch) for batch in batches])
        for batch in staged:
            assert batch.base_offset == self.end_offset, "offsets are dense"
            self._epochs.note(batch.epoch, batch.base_offset)
            self._batches.append(batch)
            self._bases.append(batch.base_offset)
            self._memory_bytes += batch.size_bytes
            self.end_offset = batch.end_offset
        self._writes.append(Append(staged))

    def _in_form(self, batch: Batch) -> Batch:
        """With the bytes that go into the file: the core makes controls without."""
        if not batch.payload:
            data = control_batch(
                batch.controls,
                base_offset=batch.base_offset,
                epoch=batch.epoch,
                timestamp_ms=self._clock.now_ms(),
            )
            return replace(batch, payload=bytes(data))
        header = parse_header(batch.payload)
        assert header.base_offset == batch.base_offset, "a batch is where it says"
        assert header.partition_leader_epoch == batch.epoch, "a batch is of its epoch"
        return batch

    def truncate(self, end_offset: int) -> None:
        assert self.start_offset <= end_offset <= self.end_offset, "nothing there to cut"
        kept = bisect_left(self._bases, end_offset)
        assert not kept or self._batches[kept - 1].end_offset <= end_offset, "a batch is whole"
        self._memory_bytes -= sum([batch.size_bytes for batch in self._batches[kept:]])
        del self._batches[kept:], self._bases[kept:]
        self._epochs.truncate(end_offset)
        self.end_offset = end_offset
        self._unwritten_cuts += 1
        self._writes.append(Truncate(end_offset))

    def write_snapshot(self, snapshot_id: SnapshotId, position: int, data: bytes) -> None:
        if position == 0:
            self._download = (snapshot_id, 0, data)
        assert self._download is not None, "a download starts at position 0"
        wanted, size_bytes, start = self._download
        assert (wanted, size_bytes) == (snapshot_id, position), "chunks come in order"
        self._download = (snapshot_id, size_bytes + len(data), start)
        self._writes.append(WriteSnapshot(snapshot_id, position, data))

    def install_snapshot(self, snapshot_id: SnapshotId) -> SnapshotInfo:
        assert self._download is not None, "there is a download"
        wanted, size_bytes, start = self._download
        assert wanted == snapshot_id, "it is this one"
        snapshot = stored_snapshot(snapshot_id, start, size_bytes)
        self._download = None
        self._undurable = snapshot_id
        self._snapshots = [snapshot]
        self._batches.clear()
        self._bases.clear()
        self._memory_bytes = 0
        self._epochs.reset(snapshot_id)
        self.start_offset = self.end_offset = snapshot_id.end_offset
        self._unwritten_cuts += 1
        self._writes.append(InstallSnapshot(snapshot_id))
        return snapshot.info

    def delete_before(self, snapshot_id: SnapshotId) -> None:
        assert self.find_snapshot(snapshot_id) is not None, "what replaces the records is there"
        self._epochs.start_at(snapshot_id)
        self.start_offset = snapshot_id.end_offset
        self._snapshots = [one for one in self._snapshots if one.id >= snapshot_id]
        self._writes.append(DeleteBefore(snapshot_id))

    def add_snapshot(self, snapshot: StoredSnapshot) -> bool:
        """One of our own is whole and durable; False if the log has gone beyond it meanwhile."""
        if self._snapshots and self._snapshots[-1].id >= snapshot.id:
            return False
        self._snapshots.append(snapshot)
        return True

    # --- for whoever writes

    def take_writes(self) -> list[LogWrite]:
        """What was staged since the last call."""
        writes, self._writes = self._writes, []
        return writes

    def on_cut(self, write: Truncate | InstallSnapshot) -> None:
        """The files have lost what this log had lost when the write was staged."""
        self._unwritten_cuts -= 1
        if isinstance(write, InstallSnapshot) and self._undurable == write.snapshot_id:
            self._undurable = None

    def on_written(self) -> None:
        """Batches that the files have need not be in memory, unless they are among the newest."""
        if self._unwritten_cuts:
            return  # the files may have other batches at these offsets
        written_offset = self.partition_log.log_end_offset
        count, room = 0, self._memory_bytes - self._memory_bytes_max
        while room > 0 and self._batches[count].end_offset <= written_offset:
            room -= self._batches[count].size_bytes
            count += 1
        if count:
            self._memory_bytes = room + self._memory_bytes_max
            del self._batches[:count], self._bases[:count]
