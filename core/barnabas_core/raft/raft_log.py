"""The log as the core sees it: a port. The driver backs it with a real log, the tests with a list.

Every change is staged: it is visible to the next read at once, and durable only when the driver
has answered the `Ready` that names it with `Persisted`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from barnabas_core.raft.record import Batch
from barnabas_core.raft.voter import VoterSet


class EpochEnd(NamedTuple):
    """Where an epoch's records end in a log."""

    epoch: int
    end_offset: int


class SnapshotId(NamedTuple):
    """The records before `end_offset`, the last of them written in `epoch`, as one state."""

    end_offset: int
    epoch: int


BOOTSTRAP_SNAPSHOT = SnapshotId(0, 0)
"""What formatting leaves: no records, but the first voters."""


@dataclass(frozen=True, slots=True)
class SnapshotInfo:
    """A snapshot's name and the control state in its head; `voters` None: it names none."""

    id: SnapshotId
    kraft_version: int = 0
    voters: VoterSet | None = None


class SnapshotChunk(NamedTuple):
    size_bytes: int
    data: bytes


class RaftLog(Protocol):
    @property
    def start_offset(self) -> int: ...

    @property
    def end_offset(self) -> int: ...

    @property
    def last_epoch(self) -> int:
        """Of the last record, else of the snapshot that the log starts at, else 0."""
        ...

    def end_offset_for_epoch(self, epoch: int) -> EpochEnd | None:
        """The newest epoch at or below `epoch` and where it ends; None if all here are newer.

        The snapshot that the log starts at counts as the record before the start offset.
        """
        ...

    def append(self, batches: Sequence[Batch]) -> None:
        """Batches that start at the end offset, with offsets and epochs that are kept."""
        ...

    def truncate(self, end_offset: int) -> None: ...

    def read(self, offset: int, max_bytes: int) -> tuple[Batch, ...]:
        """Whole batches from the one that holds `offset` on: at least one if there is one."""
        ...

    def snapshot(self) -> SnapshotInfo | None:
        """The latest whole one."""
        ...

    def read_snapshot(
        self, snapshot_id: SnapshotId, position: int, max_bytes: int
    ) -> SnapshotChunk | None:
        """None if there is no such snapshot (any more)."""
        ...

    def write_snapshot(self, snapshot_id: SnapshotId, position: int, data: bytes) -> None:
        """A chunk from the leader; position 0 starts afresh."""
        ...

    def install_snapshot(self, snapshot_id: SnapshotId) -> SnapshotInfo:
        """All chunks are here: the snapshot replaces the whole log, which starts and ends at it."""
        ...

    def delete_before(self, snapshot_id: SnapshotId) -> None:
        """The records before this snapshot of ours are no longer needed."""
        ...


class Valid(NamedTuple):
    pass


class Diverging(NamedTuple):
    at: EpochEnd


class Missing(NamedTuple):
    snapshot_id: SnapshotId


def locate(log: RaftLog, offset: int, last_epoch: int) -> Valid | Diverging | Missing:
    """Is a log that ends at `offset`, its last record written in `last_epoch`, a prefix of ours?

    KIP-595 for divergence, KIP-630 for what only a snapshot holds any more.
    """
    if offset == 0 and log.start_offset == 0:
        return Valid()
    end = log.end_offset_for_epoch(last_epoch)
    if offset < log.start_offset or end is None:
        # All that is left here is newer than the last record there.
        if log.start_offset == 0:
            return Diverging(EpochEnd(0, 0))
        snapshot = log.snapshot()
        assert snapshot is not None, "a log starts at 0 or at a snapshot"
        return Missing(snapshot.id)
    if end.epoch != last_epoch or end.end_offset < offset:
        return Diverging(end)
    return Valid()
