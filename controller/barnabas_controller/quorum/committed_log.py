"""The committed part of the metadata log, for whoever feeds it to brokers."""

import asyncio

from barnabas_controller.quorum.checkpoint_store import StoredSnapshot
from barnabas_controller.quorum.metadata_log import MetadataLog
from barnabas_core.raft import RaftNode, SnapshotId
from barnabas_core.raft.raft_log import SnapshotChunk


class CommittedLog:
    def __init__(self, node: RaftNode, log: MetadataLog) -> None:
        self._node = node
        self._log = log
        self._moved = asyncio.Event()

    @property
    def log_start_offset(self) -> int:
        return self._log.start_offset

    @property
    def high_watermark(self) -> int:
        return self._node.quorum.high_watermark

    @property
    def stored_snapshot(self) -> StoredSnapshot | None:
        """The newest, on disk or about to be."""
        return self._log.snapshots[-1] if self._log.snapshots else None

    def latest_snapshot(self) -> SnapshotId | None:
        """The newest that can be read."""
        snapshots = reversed(self._log.snapshots)
        ids = (one.id for one in snapshots if self._log.find_snapshot(one.id) is not None)
        return next(ids, None)

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Whole batches from the one with `offset` on, all of them committed.

        At least one if there is one; `offset` must not be before the log's start.
        """
        assert offset >= self._log.start_offset, f"{offset} is only in a snapshot"
        high_watermark = self.high_watermark
        if offset >= high_watermark:
            return b""
        batches = self._log.read(offset, max_bytes)
        return b"".join([one.payload for one in batches if one.end_offset <= high_watermark])

    def read_snapshot(
        self, snapshot_id: SnapshotId, position: int, max_bytes: int
    ) -> SnapshotChunk | None:
        """Bytes of the file; None if there is no such snapshot any more."""
        return self._log.read_snapshot(snapshot_id, position, max_bytes)

    async def wait_beyond(self, offset: int) -> None:
        """Until the high watermark is beyond `offset`."""
        while self.high_watermark <= offset:
            await self._moved.wait()

    def on_moved(self) -> None:
        """Wakes whoever waits; whoever comes now waits for the next time."""
        self._moved.set()
        self._moved = asyncio.Event()
