"""The calling side of the metadata feed: follows any controller that answers, replays in order.

It never goes below what it has applied. After a loss it goes on from its offset with the next
controller. A controller that is behind is waited for, but not for ever: one that cannot give what
the cluster is known to have, because it is cut off from the others, is left for the next.

Replaying is sliced: after a few milliseconds of work the event loop gets its turn.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from barnabas_core.links.feed_message import (
    NO_EPOCH,
    BadAnswer,
    FeedRequest,
    SnapshotRequest,
    feed_call,
    read_feed_answer,
    read_snapshot_answer,
    snapshot_call,
)
from barnabas_core.metadata.feed import CommittedBatch, MetadataSink, parse_batches
from barnabas_core.ports import Clock
from barnabas_core.ports.disk import Buffer
from barnabas_core.ports.link import Address, Link, LinkError, Links, Purpose
from barnabas_core.raft.raft_log import SnapshotId
from barnabas_core.records.batch import split_batches
from barnabas_core.records.error import CorruptBatch
from barnabas_core.runtime.log_setup import EventLog, FloodLimit

_MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class FeedConfig:
    fetch_bytes: int = _MIB
    wait_ms: int = 1_000
    """How long a controller may hold a request for which it has nothing."""
    timeout_ms: int = 5_000
    """Beyond that, for an answer."""
    behind_ms_max: int = 3_000
    """How long a controller may stay behind what is known to be committed."""
    retry_ms: int = 100
    slice_ms: int = 5


class MetadataFeed:
    """Run `run` as a task; everything else may be asked meanwhile."""

    def __init__(
        self,
        links: Links,
        addresses: Sequence[Address],
        sink: MetadataSink,
        clock: Clock,
        log: EventLog,
        config: FeedConfig = FeedConfig(),  # noqa: B008 - it is frozen
    ) -> None:
        assert addresses, "a feed needs somebody to follow"
        self._links = links
        self._addresses = list(addresses)
        self._log = log.named("barnabas.metadata")
        # Without any controller it looks for one ten times a second.
        self._searches = FloodLimit(self._log, clock)
        self._config = config
        self._replay = _Replay(sink, clock, config.slice_ms)
        self._clock = clock
        self._next_address = 0
        self._behind_since_ms: int | None = None
        self._required_offset = 0
        self._high_watermark = 0
        self._moved = asyncio.Event()

    @property
    def offset(self) -> int:
        """Everything before it has been applied."""
        return self._replay.offset

    @property
    def high_watermark(self) -> int:
        """The highest that a controller has told."""
        return self._high_watermark

    def require(self, offset: int) -> None:
        """The cluster is known to have committed all before `offset`: get there."""
        self._required_offset = max(self._required_offset, offset)

    async def wait_for(self, offset: int) -> None:
        """Until everything before `offset` has been applied; the caller sets the deadline."""
        self.require(offset)
        while self.offset < offset:
            self._moved.clear()
            await self._moved.wait()

    async def run(self) -> None:
        """Follow one controller after the other, until cancelled."""
        while True:
            address = self._addresses[self._next_address % len(self._addresses)]
            link = self._links.open(Purpose.METADATA_FEED, address)
            try:
                await self._follow(link)
            except (LinkError, BadAnswer, CorruptBatch) as error:
                self._searches.info(
                    "the metadata feed looks for another controller",
                    left=str(address), offset=self.offset, reason=str(error),
                )  # fmt: skip
            finally:
                await link.close()
            self._next_address += 1
            await asyncio.sleep(self._config.retry_ms / 1000)

    async def _follow(self, link: Link) -> None:
        """Until the controller is lost, or it is time to try another."""
        self._behind_since_ms = None
        while not self._is_left_behind():
            answer = read_feed_answer(await self._call_feed(link))
            self._high_watermark = max(self._high_watermark, answer.high_watermark)
            if answer.snapshot_id is not None:
                await self._load_snapshot(link, answer.snapshot_id)
            elif answer.records:
                await self._replay.records(answer.records)
            elif answer.high_watermark > self.offset:
                raise BadAnswer(f"it has records up to {answer.high_watermark} and gives none")
            self._moved.set()
            self._note_progress(answer.high_watermark)
        raise BadAnswer("it stays behind what is known to be committed")

    async def _call_feed(self, link: Link) -> Buffer:
        config = self._config
        request = FeedRequest(self.offset, self._replay.epoch, config.fetch_bytes, config.wait_ms)
        return await link.call(feed_call(request), config.wait_ms + config.timeout_ms)

    def _note_progress(self, high_watermark: int) -> None:
        if high_watermark >= max(self._required_offset, self.offset):
            self._behind_since_ms = None
        elif self._behind_since_ms is None:
            self._behind_since_ms = self._clock.monotonic_ms()

    def _is_left_behind(self) -> bool:
        if self._behind_since_ms is None or len(self._addresses) == 1:
            return False
        return self._clock.monotonic_ms() - self._behind_since_ms > self._config.behind_ms_max

    async def _load_snapshot(self, link: Link, snapshot_id: SnapshotId) -> None:
        if self._replay.is_beyond(snapshot_id):
            raise BadAnswer(f"its snapshot ends at {snapshot_id.end_offset}, before {self.offset}")
        self._log.info("loading a snapshot of the metadata", end_offset=snapshot_id.end_offset)
        self._replay.begin_snapshot(snapshot_id)
        position = 0
        while True:
            request = SnapshotRequest(snapshot_id, position, self._config.fetch_bytes)
            body = await link.call(snapshot_call(request), self._config.timeout_ms)
            chunk = read_snapshot_answer(body)
            if chunk is None:
                raise BadAnswer(f"its snapshot {snapshot_id} is gone")
            await self._replay.snapshot_chunk(chunk.data)
            position += len(chunk.data)
            if position >= chunk.size_bytes:
                break
            if not chunk.data:
                raise BadAnswer(f"its snapshot {snapshot_id} stops at {position}")
        self._replay.end_snapshot(snapshot_id)


class _Replay:
    """What was applied, and the sink it went to."""

    def __init__(self, sink: MetadataSink, clock: Clock, slice_ms: int) -> None:
        self._sink = sink
        self._clock = clock
        self._slice_ms = slice_ms
        self._slice_end_ms = 0
        self._tail = b""
        self.offset = 0
        self.epoch = NO_EPOCH

    def is_beyond(self, snapshot_id: SnapshotId) -> bool:
        """It would take us back."""
        return self.epoch != NO_EPOCH and snapshot_id.end_offset <= self.offset

    async def records(self, buffer: Buffer) -> None:
        for batch in parse_batches(buffer):
            rest = self._rest_of(batch)
            if rest is not None:
                self._sink.on_batch(rest)
                self.offset, self.epoch = rest.end_offset, rest.epoch
                await self._maybe_yield()

    def _rest_of(self, batch: CommittedBatch) -> CommittedBatch | None:
        """What of the batch has not been applied yet: a reader may start within one."""
        if batch.base_offset == self.offset:
            return batch
        if batch.end_offset <= self.offset:
            return None
        if batch.base_offset > self.offset:
            raise BadAnswer(
                f"records from {batch.base_offset} on, after those before {self.offset}"
            )
        values = batch.values[self.offset - batch.base_offset :]
        return CommittedBatch(
            self.offset, batch.end_offset, batch.epoch, batch.append_at_ms, values
        )

    def begin_snapshot(self, snapshot_id: SnapshotId) -> None:
        self._tail = b""
        self._sink.on_snapshot_begin(snapshot_id)

    async def snapshot_chunk(self, data: bytes) -> None:
        """Chunks end anywhere; batches are replayed when they are whole."""
        buffer = self._tail + data
        whole = sum(
            header.size_bytes for _, header in split_batches(buffer, allow_partial_tail=True)
        )
        for batch in parse_batches(memoryview(buffer)[:whole]):
            self._sink.on_batch(batch)
            await self._maybe_yield()
        self._tail = buffer[whole:]

    def end_snapshot(self, snapshot_id: SnapshotId) -> None:
        if self._tail:
            raise BadAnswer(f"the snapshot {snapshot_id} ends within a batch")
        self._sink.on_snapshot_end()
        self.offset, self.epoch = snapshot_id

    async def _maybe_yield(self) -> None:
        if self._clock.monotonic_ms() >= self._slice_end_ms:
            await asyncio.sleep(0)
            self._slice_end_ms = self._clock.monotonic_ms() + self._slice_ms
