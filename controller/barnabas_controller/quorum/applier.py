"""Hands what is committed to the state machine: a snapshot if there is one, then batch by batch.

A turn takes at most a few milliseconds. While this node is active it makes the records itself, and
nothing is handed over.
"""

import asyncio
from collections.abc import Callable, Iterator

from barnabas_controller.quorum.listener import QuorumListener
from barnabas_controller.quorum.metadata_log import MetadataLog
from barnabas_core.metadata.feed import CommittedBatch, parse_batches
from barnabas_core.ports import Clock
from barnabas_core.raft import SnapshotId

SLICE_MS = 5
_SLICE_BATCHES = 200
_READ_BYTES = 256 * 1024


class Applier:
    def __init__(
        self,
        log: MetadataLog,
        listener: QuorumListener,
        clock: Clock,
        on_applied: Callable[[int], None],
        on_caught_up: Callable[[], None],
    ) -> None:
        self._log = log
        self._listener = listener
        self._clock = clock
        self._on_applied = on_applied
        self._on_caught_up = on_caught_up
        self._wake = asyncio.Event()
        self._load_id: SnapshotId | None = None
        self._high_watermark = 0
        self.applied_offset = 0
        """Everything before it is with the listener."""
        self.is_active = False

    def load(self, snapshot_id: SnapshotId) -> None:
        """This snapshot comes before anything else."""
        self._load_id = snapshot_id
        self._wake.set()

    def advance(self, high_watermark: int) -> None:
        self._high_watermark = high_watermark
        self._wake.set()

    def look_again(self) -> None:
        """A snapshot may have become readable."""
        if self._load_id is not None:
            self._wake.set()

    @property
    def is_caught_up(self) -> bool:
        return self._load_id is None and self.applied_offset >= self._high_watermark

    async def run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._can_go_on():
                if self._load_id is not None:
                    await self._load(self._load_id)
                else:
                    self._apply_some()
                await asyncio.sleep(0)
            if self.is_caught_up:
                self._on_caught_up()

    def _can_go_on(self) -> bool:
        if self._load_id is not None:
            return self._log.find_snapshot(self._load_id) is not None
        return not self.is_active and self.applied_offset < self._high_watermark

    def _apply_some(self) -> None:
        until_ms = self._clock.monotonic_ms() + SLICE_MS
        for batch in self._log.read(self.applied_offset, _READ_BYTES):
            if batch.end_offset > self._high_watermark:
                break
            assert batch.base_offset == self.applied_offset, "batches follow each other"
            for committed in parse_batches(batch.payload):
                self._listener.on_batch(committed)
            self.applied_offset = batch.end_offset
            self._on_applied(batch.size_bytes)
            if self._clock.monotonic_ms() >= until_ms:
                break

    async def _load(self, snapshot_id: SnapshotId) -> None:
        """Given up where a newer snapshot is to be loaded instead."""
        self._listener.on_snapshot_begin(snapshot_id)
        batches = parse_batches(self._log.store.view(snapshot_id))
        while self._load_some(batches):
            await asyncio.sleep(0)
            if self._load_id != snapshot_id:
                return
        self._listener.on_snapshot_end()
        self._load_id = None
        self.applied_offset = snapshot_id.end_offset

    def _load_some(self, batches: Iterator[CommittedBatch]) -> bool:
        """Whether there may be more."""
        until_ms = self._clock.monotonic_ms() + SLICE_MS
        for _ in range(_SLICE_BATCHES):
            batch = next(batches, None)
            if batch is None:
                return False
            self._listener.on_batch(batch)
            if self._clock.monotonic_ms() >= until_ms:
                break
        return True
