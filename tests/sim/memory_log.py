"""A quorum's log in memory: the `RaftLog` of the simulator and of the unit tests.

The same class stands for what a process has staged and for what is on its disk; `apply` brings the
latter up to the former, one `LogWrite` at a time.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from barnabas_core.raft.raft_log import EpochEnd, SnapshotChunk, SnapshotId, SnapshotInfo
from barnabas_core.raft.ready import (
    Append,
    DeleteBefore,
    InstallSnapshot,
    LogWrite,
    Truncate,
    WriteSnapshot,
)
from barnabas_core.raft.record import Batch

BATCH_HEAD_BYTES = 1


@dataclass(frozen=True, slots=True)
class Snapshot:
    info: SnapshotInfo
    data: bytes


class SnapshotStore:
    """Every snapshot that was ever taken, by its content: what a chunked download adds up to."""

    def __init__(self) -> None:
        self._by_id: dict[SnapshotId, Snapshot] = {}

    def put(self, snapshot: Snapshot) -> None:
        known = self._by_id.setdefault(snapshot.info.id, snapshot)
        assert known == snapshot, f"two snapshots are called {snapshot.info.id}"

    def parse(self, snapshot_id: SnapshotId, data: bytes) -> Snapshot:
        """The head of a real snapshot names its voters; here the store remembers them."""
        snapshot = self._by_id[snapshot_id]
        assert snapshot.data == data, f"{snapshot_id} was put together wrongly"
        return snapshot


class MemoryLog:
    __slots__ = (
        "_bases",
        "_batches",
        "_epoch_starts",
        "_epochs",
        "_partial",
        "_snapshots",
        "_store",
        "end_offset",
        "start_offset",
    )

    def __init__(self, store: SnapshotStore) -> None:
        self._store = store
        self.start_offset = 0
        self.end_offset = 0
        self._batches: list[Batch] = []
        self._bases: list[int] = []
        self._epochs: list[int] = []
        self._epoch_starts: list[int] = []
        self._snapshots: list[Snapshot] = []
        self._partial: tuple[SnapshotId, bytes] | None = None

    def copy(self) -> "MemoryLog":
        """What a new process finds; a download that was under way is not taken up again."""
        other = MemoryLog(self._store)
        other.start_offset = self.start_offset
        other.end_offset = self.end_offset
        other._batches = self._batches.copy()
        other._bases = self._bases.copy()
        other._epochs = self._epochs.copy()
        other._epoch_starts = self._epoch_starts.copy()
        other._snapshots = self._snapshots.copy()
        return other

    # --- reading

    @property
    def last_epoch(self) -> int:
        return self._epochs[-1] if self._epochs else 0

    def epoch_at(self, offset: int) -> int | None:
        """Of the record at `offset`, as far as this log can tell."""
        if not max(self.start_offset - 1, 0) <= offset < self.end_offset:
            return None
        if offset < self.start_offset:
            return self._snapshots[-1].info.id.epoch if self._snapshots else None
        return self._epochs[bisect_right(self._epoch_starts, offset) - 1]

    def end_offset_for_epoch(self, epoch: int) -> EpochEnd | None:
        index = bisect_right(self._epochs, epoch) - 1
        if index < 0:
            return None
        is_last = index == len(self._epochs) - 1
        end_offset = self.end_offset if is_last else self._epoch_starts[index + 1]
        return EpochEnd(self._epochs[index], end_offset)

    def read(self, offset: int, max_bytes: int) -> tuple[Batch, ...]:
        first = bisect_left(self._bases, offset)
        if first and self._batches[first - 1].end_offset > offset:
            first -= 1
        last = first
        size_bytes = 0
        while last < len(self._batches):
            size_bytes += self._batches[last].size_bytes + BATCH_HEAD_BYTES
            if size_bytes > max_bytes and last > first:
                break
            last += 1
        return tuple(self._batches[first:last])

    def snapshot(self) -> SnapshotInfo | None:
        return self._snapshots[-1].info if self._snapshots else None

    def find_snapshot(self, snapshot_id: SnapshotId) -> Snapshot | None:
        for snapshot in self._snapshots:
            if snapshot.info.id == snapshot_id:
                return snapshot
        return None

    def read_snapshot(
        self, snapshot_id: SnapshotId, position: int, max_bytes: int
    ) -> SnapshotChunk | None:
        snapshot = self.find_snapshot(snapshot_id)
        if snapshot is None:
            return None
        chunk = snapshot.data[position : position + max_bytes]
        return SnapshotChunk(len(snapshot.data), chunk)

    # --- writing

    def append(self, batches: Sequence[Batch]) -> None:
        for batch in batches:
            assert batch.base_offset == self.end_offset, "offsets are dense"
            self._note_epoch(batch.epoch, batch.base_offset)
            self._batches.append(batch)
            self._bases.append(batch.base_offset)
            self.end_offset = batch.end_offset

    def _note_epoch(self, epoch: int, start_offset: int) -> None:
        if self._epochs and self._epochs[-1] == epoch:
            return
        assert not self._epochs or self._epochs[-1] < epoch, "epochs rise along the log"
        self._epochs.append(epoch)
        self._epoch_starts.append(start_offset)

    def truncate(self, end_offset: int) -> None:
        assert self.start_offset <= end_offset <= self.end_offset, "nothing there to cut"
        keep = bisect_left(self._bases, end_offset)
        assert not keep or self._batches[keep - 1].end_offset <= end_offset, "a batch is whole"
        del self._batches[keep:]
        del self._bases[keep:]
        while len(self._epochs) > (self.start_offset > 0) and self._epoch_starts[-1] >= end_offset:
            self._epochs.pop()
            self._epoch_starts.pop()
        self.end_offset = end_offset

    def add_snapshot(self, snapshot: Snapshot) -> None:
        if not self._snapshots or self._snapshots[-1].info.id < snapshot.info.id:
            self._store.put(snapshot)
            self._snapshots.append(snapshot)

    def write_snapshot(self, snapshot_id: SnapshotId, position: int, data: bytes) -> None:
        if position == 0:
            self._partial = (snapshot_id, b"")
        assert self._partial is not None, "a download starts at position 0"
        assert self._partial[0] == snapshot_id, "one download at a time"
        assert len(self._partial[1]) == position, "chunks come in order"
        self._partial = (snapshot_id, self._partial[1] + data)

    def install_snapshot(self, snapshot_id: SnapshotId) -> SnapshotInfo:
        assert self._partial is not None, "there is a download"
        assert self._partial[0] == snapshot_id, "it is this one"
        snapshot = self._store.parse(snapshot_id, self._partial[1])
        self._partial = None
        self._snapshots = [snapshot]
        self._batches.clear()
        self._bases.clear()
        self._epochs = [snapshot_id.epoch]
        self._epoch_starts = [snapshot_id.end_offset]
        self.start_offset = self.end_offset = snapshot_id.end_offset
        return snapshot.info

    def delete_before(self, snapshot_id: SnapshotId) -> None:
        assert self.find_snapshot(snapshot_id) is not None, "what replaces the records is there"
        offset = snapshot_id.end_offset
        drop = bisect_left(self._bases, offset)
        del self._batches[:drop]
        del self._bases[:drop]
        while len(self._epochs) > 1 and self._epoch_starts[1] <= offset:
            self._epochs.pop(0)
            self._epoch_starts.pop(0)
        if self._epochs[0] != snapshot_id.epoch:
            self._epochs.insert(0, snapshot_id.epoch)
            self._epoch_starts.insert(0, offset)
        self._epoch_starts[0] = offset
        self.start_offset = offset
        self._snapshots = [one for one in self._snapshots if one.info.id >= snapshot_id]

    def apply(self, write: LogWrite) -> None:
        """Do on the disk what was staged before."""
        if isinstance(write, Append):
            self.append(write.batches)
        elif isinstance(write, Truncate):
            self.truncate(write.end_offset)
        elif isinstance(write, WriteSnapshot):
            self.write_snapshot(write.snapshot_id, write.position, write.data)
        elif isinstance(write, InstallSnapshot):
            self.install_snapshot(write.snapshot_id)
        elif isinstance(write, DeleteBefore):
            self.delete_before(write.snapshot_id)
