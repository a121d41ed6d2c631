"""Committed metadata, applied to this broker one delta at a time.

Batches are replayed as they come; whatever has come while the last delta was being applied makes
up the next. What others see as applied is applied: logs are there before a client is told of the
topic, and the offset in a heartbeat is one up to which this broker has done all that was asked.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

from barnabas_core.metadata.delta import Delta
from barnabas_core.metadata.feed import CommittedBatch
from barnabas_core.metadata.image import EMPTY_IMAGE, Image
from barnabas_core.metadata.loader import MetadataLoader
from barnabas_core.raft import SnapshotId

Apply = Callable[[Delta, Image], Awaitable[None]]
_NOTHING: Final = -1


class MetadataApplier:
    """A `MetadataSink`; `run` as a task."""

    def __init__(self, apply: Apply) -> None:
        self._apply = apply
        self._loader = MetadataLoader(self._take, every_batch=False)
        self._taken: deque[tuple[Delta, Image]] = deque()
        self._arrived = asyncio.Event()
        self._moved = asyncio.Condition()
        self.applied_offset = _NOTHING
        """Of the last record that is applied."""
        self.kraft_version = 0
        """Not in the image: the quorum tells it beside the metadata records. It never goes down."""

    def on_snapshot_begin(self, snapshot_id: SnapshotId) -> None:
        self._loader.on_snapshot_begin(snapshot_id)

    def on_batch(self, batch: CommittedBatch) -> None:
        self._loader.on_batch(batch)
        if batch.kraft_version is not None:
            self.kraft_version = batch.kraft_version
        self._arrived.set()

    def on_snapshot_end(self) -> None:
        self._loader.on_snapshot_end()
        self._arrived.set()

    def catch_up(self) -> Image:
        """All that has come, to be applied at once; to be called before `run`.

        A snapshot may be older than what this broker had applied in its last life: on the way from
        there it would delete replicas that it was given since.
        """
        self._loader.publish()
        image = self._loader.image
        delta = Delta(EMPTY_IMAGE)
        delta.become(image)
        self._taken.clear()
        self._taken.append((delta, image))
        return image

    def _take(self, delta: Delta, image: Image) -> None:
        self._taken.append((delta, image))

    async def run(self) -> None:
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            while taken := self._next():
                await self._apply(*taken)
                async with self._moved:
                    self.applied_offset = taken[1].provenance.offset
                    self._moved.notify_all()

    def _next(self) -> tuple[Delta, Image] | None:
        if not self._taken:  # a snapshot has published itself
            self._loader.publish()
        return self._taken.popleft() if self._taken else None

    async def wait_until(self, holds: Callable[[], bool]) -> None:
        """Until something holds of what is applied; the caller sets the deadline."""
        async with self._moved:
            await self._moved.wait_for(holds)

    async def wait_applied(self, offset: int) -> None:
        """Until the record at `offset` is applied; the caller sets the deadline."""
        async with self._moved:
            await self._moved.wait_for(lambda: self.applied_offset >= offset)
