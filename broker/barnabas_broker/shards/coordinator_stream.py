"""The stream from this broker to one coordinator, which the sessions of all its shards share.

One call is under way at a time; whatever sessions have to say meanwhile goes in the next, in order.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from barnabas_core.links.shard_message import (
    ENDED_PUSH,
    FEED,
    LOADED_PUSH,
    OUTCOME_PUSH,
    VERSION,
    BadShardMessage,
    Item,
    Load,
    Outcome,
    ShardRequest,
    decode_outcome,
    decode_session,
    encode_feed,
)
from barnabas_core.ports.disk import Buffer
from barnabas_core.ports.link import (
    Address,
    Call,
    LinkError,
    LinkEvents,
    Links,
    Loss,
    Purpose,
)
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.runtime.supervisor import Supervisor

# A coordinator that loads holds feeds up; one that is gone is noticed by the link.
_TIMEOUT_MS: Final = 30_000
_FEED_BYTES: Final = 1024 * 1024
_QUEUED_BYTES_MAX: Final = 64 * 1024 * 1024
_ROOM_WAIT_S: Final = 0.002


class StreamUser(Protocol):
    """A session, as the stream sees it."""

    def on_loaded(self) -> None: ...

    def on_outcome(self, outcome: Outcome) -> None: ...

    def on_stream_lost(self) -> None:
        """The coordinator has forgotten the session, or nobody knows."""
        ...


class CoordinatorStream:
    """Made inside a running loop."""

    def __init__(
        self, links: Links, address: Address, log: EventLog, on_changed: Callable[[], None]
    ) -> None:
        """`on_changed`: it is connected, or lost, or a session has ended."""
        self.address = address
        self._on_changed = on_changed
        self._users: dict[int, StreamUser] = {}
        self._last_session = 0
        self._queue: deque[Item] = deque()
        self._queued_bytes = 0
        self._has_work = asyncio.Event()
        self._supervisor = Supervisor(log)
        events = LinkEvents(self._on_push, on_changed, self._on_lost)
        self._link = links.open(Purpose.SHARD, address, events)
        self._supervisor.start("feed", self._run)

    @property
    def is_connected(self) -> bool:
        return self._link.is_connected

    @property
    def is_full(self) -> bool:
        return self._queued_bytes > _QUEUED_BYTES_MAX

    async def wait_for_room(self) -> None:
        """For whoever loads: no more than a few feeds stand before the requests of others."""
        while self._queued_bytes > 2 * _FEED_BYTES:  # noqa: ASYNC110 - the queue is short
            await asyncio.sleep(_ROOM_WAIT_S)

    def open(self, user: StreamUser) -> int:
        """The number of a new session."""
        self._last_session += 1
        self._users[self._last_session] = user
        return self._last_session

    def forget(self, session: int) -> None:
        self._users.pop(session, None)

    def send(self, item: Item) -> None:
        self._queue.append(item)
        self._queued_bytes += _size(item)
        self._has_work.set()

    async def close(self) -> None:
        await self._supervisor.stop()
        await self._link.close()

    async def _run(self) -> None:
        while True:
            await self._has_work.wait()
            self._has_work.clear()
            while self._queue:
                body = encode_feed(self._take())
                try:
                    await self._link.call(Call(FEED, VERSION, body), _TIMEOUT_MS)
                except LinkError:
                    # How much of it was heard nobody knows: all sessions begin anew.
                    self._on_lost(Loss.SILENT)

    def _take(self) -> list[Item]:
        items: list[Item] = []
        size = 0
        while self._queue and size < _FEED_BYTES:
            item = self._queue.popleft()
            size += _size(item)
            items.append(item)
        self._queued_bytes -= size
        return items

    async def _on_push(self, kind: int, body: Buffer) -> None:
        try:
            if kind == OUTCOME_PUSH:
                outcome = decode_outcome(body)
                user = self._users.get(outcome.session)
                if user is not None:
                    user.on_outcome(outcome)
            elif kind == LOADED_PUSH:
                user = self._users.get(decode_session(body))
                if user is not None:
                    user.on_loaded()
            elif kind == ENDED_PUSH:
                user = self._users.pop(decode_session(body), None)
                if user is not None:
                    user.on_stream_lost()
                    self._on_changed()
        except BadShardMessage:
            self._on_lost(Loss.CLOSED)

    def _on_lost(self, _: Loss) -> None:
        users, self._users = self._users, {}
        self._queue.clear()
        self._queued_bytes = 0
        for user in users.values():
            user.on_stream_lost()
        self._on_changed()


def _size(item: Item) -> int:
    if isinstance(item, Load):
        return 64 + len(item.batches)
    if isinstance(item, ShardRequest):
        return 128 + len(item.body)
    return 64
