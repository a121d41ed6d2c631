"""The snapshots in a metadata directory: their files, and which of them are whole.

A snapshot is written under a name of its own (`.part`), made durable, and only then gets its name.
Everything here blocks; what takes long runs in a thread.
"""

from dataclasses import dataclass

from barnabas_core.ports import Buffer, Disk, File
from barnabas_core.raft import SnapshotId, SnapshotInfo
from barnabas_core.raft.checkpoint_file import (
    DELETED_SUFFIX,
    PARTIAL_SUFFIX,
    SUFFIX,
    checkpoint_name,
    parse_checkpoint_name,
    read_head,
)
from barnabas_core.raft.raft_log import SnapshotChunk

HEAD_BYTES_MAX = 1 << 20
"""Of the batch that names the voters: far more than any quorum needs."""


@dataclass(frozen=True, slots=True)
class StoredSnapshot:
    info: SnapshotInfo
    size_bytes: int
    last_appended_at_ms: int

    @property
    def id(self) -> SnapshotId:
        return self.info.id


def stored_snapshot(snapshot_id: SnapshotId, start: Buffer, size_bytes: int) -> StoredSnapshot:
    """From the first bytes of a file; `CorruptCheckpoint` if they hold no head."""
    head = read_head(start)
    info = SnapshotInfo(snapshot_id, head.kraft_version or 0, head.voters)
    return StoredSnapshot(info, size_bytes, head.last_appended_at_ms)


class CheckpointStore:
    __slots__ = ("_dir_path", "_disk")

    def __init__(self, disk: Disk, dir_path: str) -> None:
        self._disk = disk
        self._dir_path = dir_path

    def load(self) -> list[StoredSnapshot]:
        """What is there, oldest first. Pieces that a crash left are removed."""
        found = []
        for name, size_bytes in self._disk.list_dir(self._dir_path):
            if name.endswith((PARTIAL_SUFFIX, DELETED_SUFFIX)):
                self._disk.remove(f"{self._dir_path}/{name}")
            snapshot_id = parse_checkpoint_name(name)
            if snapshot_id is not None:
                start = self._read(snapshot_id, 0, HEAD_BYTES_MAX)
                found.append(stored_snapshot(snapshot_id, start, size_bytes))
        return sorted(found, key=lambda one: one.id)

    def path(self, snapshot_id: SnapshotId) -> str:
        return f"{self._dir_path}/{checkpoint_name(snapshot_id)}"

    def _part_path(self, snapshot_id: SnapshotId) -> str:
        return self.path(snapshot_id).removesuffix(SUFFIX) + PARTIAL_SUFFIX

    def _read(self, snapshot_id: SnapshotId, position: int, size: int) -> bytes:
        file = self._disk.open(self.path(snapshot_id), read_only=True)
        try:
            return file.read_at(position, size)
        finally:
            file.close()

    def read(self, stored: StoredSnapshot, position: int, max_bytes: int) -> SnapshotChunk:
        data = b""
        if 0 <= position < stored.size_bytes:
            data = self._read(stored.id, position, max_bytes)
        return SnapshotChunk(stored.size_bytes, data)

    def view(self, snapshot_id: SnapshotId) -> memoryview:
        """All of it, for as long as the view is held."""
        return self._disk.map(self.path(snapshot_id))

    # --- writing

    def open_part(self, snapshot_id: SnapshotId) -> File:
        """A new file for the snapshot, empty."""
        file = self._disk.open(self._part_path(snapshot_id), create=True)
        file.truncate(0)
        return file

    def finish_part(self, snapshot_id: SnapshotId, file: File) -> None:
        """All of it is written: make it durable, then give it its name."""
        file.sync()
        file.close()
        self._disk.rename(self._part_path(snapshot_id), self.path(snapshot_id))
        self._disk.sync_dir(self._dir_path)

    def drop_part(self, snapshot_id: SnapshotId, file: File) -> None:
        file.close()
        self._disk.remove(self._part_path(snapshot_id))

    def remove(self, snapshot_id: SnapshotId) -> None:
        self._disk.remove(self.path(snapshot_id))

    def remove_older(self, kept: SnapshotId) -> None:
        """Every whole snapshot before `kept`."""
        for name, _ in self._disk.list_dir(self._dir_path):
            snapshot_id = parse_checkpoint_name(name)
            if snapshot_id is not None and snapshot_id < kept:
                self._disk.remove(f"{self._dir_path}/{name}")
