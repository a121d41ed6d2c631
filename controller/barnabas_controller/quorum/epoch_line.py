"""Which epoch wrote which offsets of the metadata log, as staged: rising epochs with their starts.

Where the log starts at a snapshot, the first entry is the snapshot's epoch, starting where the log
does: it stands for the record before the start.
"""

from bisect import bisect_right
from collections.abc import Iterable

from barnabas_core.raft import SnapshotId
from barnabas_core.raft.raft_log import EpochEnd


class EpochLine:
    __slots__ = ("_epochs", "_has_snapshot", "_starts")

    def __init__(self, entries: Iterable[tuple[int, int]] = ()) -> None:
        self._epochs: list[int] = []
        self._starts: list[int] = []
        self._has_snapshot = False
        for epoch, start_offset in entries:
            self.note(epoch, start_offset)

    @property
    def last(self) -> int:
        return self._epochs[-1] if self._epochs else 0

    def note(self, epoch: int, offset: int) -> None:
        """A batch of `epoch` is appended at `offset`."""
        if self._epochs and self._epochs[-1] == epoch:
            return
        assert epoch > self.last or not self._epochs, "epochs rise along the log"
        self._epochs.append(epoch)
        self._starts.append(offset)

    def at(self, offset: int) -> int:
        """Of the record at `offset`, which is in the log or just before its start."""
        return self._epochs[max(bisect_right(self._starts, offset) - 1, 0)]

    def end_of(self, epoch: int, log_end_offset: int) -> EpochEnd | None:
        """The newest epoch at or below `epoch`, and where it ends."""
        index = bisect_right(self._epochs, epoch) - 1
        if index < 0:
            return None
        is_last = index == len(self._epochs) - 1
        return EpochEnd(self._epochs[index], log_end_offset if is_last else self._starts[index + 1])

    def truncate(self, end_offset: int) -> None:
        kept = int(self._has_snapshot)
        while len(self._epochs) > kept and self._starts[-1] >= end_offset:
            self._epochs.pop()
            self._starts.pop()

    def start_at(self, snapshot_id: SnapshotId) -> None:
        """Forget what wrote the records before the snapshot, but the last of them."""
        if snapshot_id.end_offset == 0:
            return
        while len(self._epochs) > 1 and self._starts[1] <= snapshot_id.end_offset:
            del self._epochs[0], self._starts[0]
        if not self._epochs or self._epochs[0] != snapshot_id.epoch:
            self._epochs.insert(0, snapshot_id.epoch)
            self._starts.insert(0, snapshot_id.end_offset)
        self._starts[0] = snapshot_id.end_offset
        self._has_snapshot = True

    def reset(self, snapshot_id: SnapshotId) -> None:
        """The log is empty, and follows this snapshot."""
        self._epochs = [snapshot_id.epoch]
        self._starts = [snapshot_id.end_offset]
        self._has_snapshot = True
