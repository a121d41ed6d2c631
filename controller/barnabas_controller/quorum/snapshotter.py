"""Writes snapshots of the committed state: by the bytes that came since the last one, and by time.

Standbys write theirs as the active node does: none is ever sent but to a node that needs one.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from barnabas_controller.quorum.applier import SLICE_MS
from barnabas_controller.quorum.checkpoint_store import StoredSnapshot
from barnabas_controller.quorum.disk_writer import DiskTools
from barnabas_controller.quorum.listener import QuorumListener, SnapshotSource
from barnabas_controller.quorum.metadata_log import MetadataLog
from barnabas_controller.quorum.quorum_config import QuorumConfig
from barnabas_controller.quorum.snapshot_retention import (
    RetentionLimits,
    SegmentSize,
    plan_log_start,
)
from barnabas_core.ports import File
from barnabas_core.raft import RaftNode, SnapshotId, SnapshotInfo
from barnabas_core.raft.checkpoint_file import CheckpointHead, CheckpointWriter

_CHUNK_BYTES = 256 * 1024
_RETRY_MS = 1_000


@dataclass(frozen=True, slots=True)
class SnapshotParts:
    """What a snapshotter works with."""

    node: RaftNode
    log: MetadataLog
    listener: QuorumListener
    tools: DiskTools
    config: QuorumConfig
    on_log_start: Callable[[SnapshotId], None]
    """The records before this snapshot may go."""


class Snapshotter:
    def __init__(self, parts: SnapshotParts) -> None:
        self._parts = parts
        self._wake = asyncio.Event()
        self._since_bytes = 0
        self._last_at_ms = parts.tools.clock.monotonic_ms()

    def note(self, size_bytes: int) -> None:
        """That much was committed, or will be."""
        self._since_bytes += size_bytes
        if self._since_bytes >= self._parts.config.snapshot_bytes:
            self._wake.set()

    async def run(self) -> None:
        while True:
            await self._wait()
            if not await self.take():
                await asyncio.sleep(_RETRY_MS / 1000)

    async def _wait(self) -> None:
        """Until a snapshot is due."""
        if self._since_bytes >= self._parts.config.snapshot_bytes:
            return
        self._wake.clear()
        interval_ms = self._parts.config.snapshot_interval_ms
        if interval_ms <= 0:
            await self._wake.wait()
            return
        wait_ms = self._last_at_ms + interval_ms - self._parts.tools.clock.monotonic_ms()
        try:
            async with asyncio.timeout(max(wait_ms, 0) / 1000):
                await self._wake.wait()
        except TimeoutError:
            pass

    async def take(self) -> bool:
        """Write a snapshot if there is anything new; False if the listener has none to give."""
        parts = self._parts
        source = parts.listener.begin_snapshot()
        if source is None:
            return False
        self._since_bytes = 0
        self._last_at_ms = parts.tools.clock.monotonic_ms()
        latest = parts.log.snapshot()
        newest_offset = 0 if latest is None else latest.id.end_offset
        assert source.end_offset <= parts.node.quorum.high_watermark, "only what is committed"
        if source.end_offset > newest_offset:
            await self._write(source)
        return True

    async def _write(self, source: SnapshotSource) -> None:
        parts = self._parts
        epoch = parts.log.epoch_before(source.end_offset)
        level, voters = parts.node.quorum.history.at(source.end_offset)
        info = SnapshotInfo(SnapshotId(source.end_offset, epoch), level, voters)
        size_bytes = await self._write_file(info, source)
        stored = StoredSnapshot(info, size_bytes, source.last_appended_at_ms)
        if parts.log.add_snapshot(stored):
            self._apply_retention()
        else:
            # The leader's own came in between: it stands for more.
            await parts.tools.executor.in_thread(lambda: parts.log.store.remove(info.id))

    async def _write_file(self, info: SnapshotInfo, source: SnapshotSource) -> int:
        store, tools = self._parts.log.store, self._parts.tools
        writer = CheckpointWriter(epoch=info.id.epoch, timestamp_ms=tools.clock.now_ms())
        head = CheckpointHead(info.kraft_version, info.voters, source.last_appended_at_ms)
        file = store.open_part(info.id)
        position = await self._append(file, 0, [writer.head(head)])
        while chunk := self._next_chunk(writer, source):
            position = await self._append(file, position, chunk)
        position = await self._append(file, position, [writer.foot()])
        await tools.executor.in_thread(lambda: store.finish_part(info.id, file))
        return position

    async def _append(self, file: File, position: int, chunk: list[bytes]) -> int:
        await self._parts.tools.executor.in_thread(lambda: file.write_at(position, chunk))
        return position + sum(map(len, chunk))

    def _next_chunk(self, writer: CheckpointWriter, source: SnapshotSource) -> list[bytes]:
        """As many batches as can be made in a turn of the loop; none at the end."""
        clock = self._parts.tools.clock
        until_ms = clock.monotonic_ms() + SLICE_MS
        chunk: list[bytes] = []
        room = _CHUNK_BYTES
        while room > 0 and (clock.monotonic_ms() < until_ms or not chunk):
            values = next(source.batches, None)
            if values is None:
                break
            chunk.append(writer.data(values))
            room -= len(chunk[-1])
        return chunk

    def _apply_retention(self) -> None:
        log, config = self._parts.log, self._parts.config
        views = log.partition_log.segments
        segments = [
            SegmentSize(following.base_offset, segment.size_bytes)
            for segment, following in pairwise(views)
        ]
        segments.append(SegmentSize(0, views[-1].size_bytes))
        limits = RetentionLimits(config.retention_bytes, config.retention_ms)
        now_ms = self._parts.tools.clock.now_ms()
        start = plan_log_start(log.snapshots, segments, limits, now_ms)
        if start is not None:
            self._parts.on_log_start(start)
