"""The serving side of the metadata feed: any controller, active or not, over what it has committed.

A client asks for what follows its offset and waits until there is something; everything that was
committed meanwhile goes into one answer. A controller that is behind its client has nothing to say
until it has caught up.
"""

import asyncio
from dataclasses import dataclass
from typing import Final, Protocol

from barnabas_core.links.feed_message import (
    NO_EPOCH,
    FeedAnswer,
    FeedRequest,
    feed_answer,
    read_feed_call,
    read_snapshot_call,
    snapshot_answer,
)
from barnabas_core.ports import Clock
from barnabas_core.ports.disk import Buffer
from barnabas_core.ports.link import Call, Caller, CallRefused, Loss
from barnabas_core.raft.raft_log import SnapshotChunk, SnapshotId
from barnabas_core.wire.api import ApiKey

_BYTES_MAX: Final = 8 * 1024 * 1024
_WAIT_MS_MAX: Final = 30_000


class CommittedLog(Protocol):
    """The committed part of a controller's log."""

    @property
    def log_start_offset(self) -> int: ...

    @property
    def high_watermark(self) -> int: ...

    def latest_snapshot(self) -> SnapshotId | None: ...

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Whole batches from `offset` on, below the high watermark; b"" if there are none yet."""
        ...

    def read_snapshot(
        self, snapshot_id: SnapshotId, position: int, max_bytes: int
    ) -> SnapshotChunk | None: ...

    async def wait_beyond(self, offset: int) -> None:
        """Until the high watermark is above `offset`."""
        ...


@dataclass(frozen=True, slots=True)
class FeedClient:
    """A client as DescribeQuorum lists it: an observer."""

    node_id: int
    role: str
    offset: int
    """All before it was applied there."""
    last_fetch_at_ms: int
    last_caught_up_at_ms: int
    """When it last asked for what comes after our high watermark; -1: never yet."""


class MetadataFeedService:
    """A `Service` for `Purpose.METADATA_FEED`."""

    def __init__(self, log: CommittedLog, clock: Clock) -> None:
        self._log = log
        self._clock = clock
        self._clients: dict[Caller, FeedClient] = {}

    def clients(self) -> list[FeedClient]:
        """Who follows this controller at present, by node id."""
        return sorted(self._clients.values(), key=lambda client: client.node_id)

    async def on_call(self, caller: Caller, call: Call) -> Buffer:
        if call.api_key == ApiKey.FETCH:
            request = read_feed_call(call)
            self._note(caller, request)
            return feed_answer(await self._answer(request))
        if call.api_key == ApiKey.FETCH_SNAPSHOT:
            wanted = read_snapshot_call(call)
            max_bytes = min(wanted.max_bytes, _BYTES_MAX)
            chunk = self._log.read_snapshot(wanted.snapshot_id, wanted.position, max_bytes)
            return snapshot_answer(wanted, chunk)
        raise CallRefused(f"api key {call.api_key} is no part of the metadata feed")

    def on_lost(self, caller: Caller, loss: Loss) -> None:
        self._clients.pop(caller, None)

    async def _answer(self, request: FeedRequest) -> FeedAnswer:
        snapshot_id = self._snapshot_for(request)
        if snapshot_id is None and self._log.high_watermark <= request.offset:
            await self._wait(request)
            # The log may have been cleaned, or replaced by a snapshot, in the meantime.
            snapshot_id = self._snapshot_for(request)
        high_watermark = self._log.high_watermark
        if snapshot_id is not None:
            return FeedAnswer(high_watermark, snapshot_id=snapshot_id)
        if high_watermark <= request.offset:
            return FeedAnswer(high_watermark)
        records = self._log.read(request.offset, min(request.max_bytes, _BYTES_MAX))
        return FeedAnswer(high_watermark, records)

    def _snapshot_for(self, request: FeedRequest) -> SnapshotId | None:
        """A client that has nothing takes the snapshot even where the log reaches back as far.

        It is never longer than the records that it stands for, and what formatting left (0-0)
        stands for no records at all.
        """
        is_gone = request.offset < self._log.log_start_offset
        if is_gone or (request.offset == 0 and request.epoch == NO_EPOCH):
            return self._log.latest_snapshot()
        return None

    async def _wait(self, request: FeedRequest) -> None:
        wait_ms = min(max(request.max_wait_ms, 0), _WAIT_MS_MAX)
        try:
            async with asyncio.timeout(wait_ms / 1000):
                await self._log.wait_beyond(request.offset)
        except TimeoutError:
            pass

    def _note(self, caller: Caller, request: FeedRequest) -> None:
        now_ms = self._clock.now_ms()
        known = self._clients.get(caller)
        caught_up_at_ms = known.last_caught_up_at_ms if known else -1
        if request.offset >= self._log.high_watermark:
            caught_up_at_ms = now_ms
        self._clients[caller] = FeedClient(
            caller.identity.node_id, caller.identity.role, request.offset, now_ms, caught_up_at_ms
        )
