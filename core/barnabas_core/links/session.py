"""One end of one stream, running: the `Stream` machine between a transport and its user.

Two tasks, one that reads and one that writes, and a timer that ticks. Reading never waits for
anything but the transport. Whatever ends one of the tasks ends the session.
"""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from barnabas_core.links.contact import Contact
from barnabas_core.links.item import Item, Push
from barnabas_core.links.link_config import LinkParts
from barnabas_core.links.stream import BadFrame, Stream
from barnabas_core.links.transport import StreamEnded, Transport
from barnabas_core.ports.link import LinkBroken, Loss
from barnabas_core.runtime.supervisor import TaskList


class Ended(NamedTuple):
    loss: Loss
    reason: str


class Session:
    """Made inside a running loop."""

    def __init__(self, transport: Transport, parts: LinkParts) -> None:
        self._transport = transport
        self._parts = parts
        self._stream = Stream(parts.config.stream)
        self._contact = Contact(parts.clock.monotonic_ms(), parts.config.pause_ms)
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[Ended] = self._loop.create_future()
        self._has_work = asyncio.Event()
        self._has_progressed = asyncio.Event()
        self._push_turn = asyncio.Lock()
        self._is_finishing = False
        self._tick: asyncio.TimerHandle | None = None

    @property
    def peer(self) -> str:
        return self._transport.peer

    @property
    def is_over(self) -> bool:
        return self._ended.done()

    @property
    def in_touch_ms(self) -> int:
        return self._contact.length_ms(self._parts.clock.monotonic_ms())

    @property
    def waiting_bytes(self) -> int:
        return self._stream.waiting_bytes

    @property
    def unsent_items(self) -> tuple[Item, ...]:
        return self._stream.unsent_items

    async def run(self, on_item: Callable[[Item], None]) -> Ended:
        """Until the stream ends; `on_item` gets what arrives, in order."""
        tasks = TaskList(self._parts.log)
        tasks.start(self._read(on_item))
        tasks.start(self._write())
        self._arm()
        try:
            return await self._ended
        finally:
            self.end(Loss.CLOSED, "closed by this end")
            if self._tick is not None:
                self._tick.cancel()
            try:
                await tasks.stop()
            finally:
                # Also when cancelled while doing this: the other end must not wait in vain.
                await self._transport.close()

    def offer(self, item: Item) -> None:
        self._stream.offer(item)
        self._has_work.set()

    def withdraw(self, item: Item) -> bool:
        return self._stream.withdraw(item)

    async def push(self, push: Push) -> None:
        """Offer it when there is room, in the order of asking."""
        async with self._push_turn:
            while not self.is_over and not self._stream.push_room(push):
                self._has_progressed.clear()
                await self._has_progressed.wait()
            if self.is_over:
                raise LinkBroken(f"the stream to {self.peer} has ended")
            self.offer(push)

    def on_push_handled(self, push: Push) -> None:
        self._stream.on_push_handled(push)
        self._has_work.set()

    def finish(self) -> None:
        """End once everything that was offered has been sent."""
        self._is_finishing = True
        self._has_work.set()

    def end(self, loss: Loss, reason: str) -> None:
        """The first reason counts."""
        if not self._ended.done():
            self._ended.set_result(Ended(loss, reason))
            self._has_progressed.set()

    async def _read(self, on_item: Callable[[Item], None]) -> None:
        try:
            while not self.is_over:
                frame = await self._transport.receive()
                now_ms = self._parts.clock.monotonic_ms()
                self._contact.on_heard(frame.received_frame_count, now_ms)
                for item in self._stream.on_frame(frame):
                    on_item(item)
                self._has_work.set()
                self._has_progressed.set()
        except StreamEnded as error:
            self.end(Loss.CLOSED, str(error))
        except BadFrame as error:
            self._parts.flood.warning(
                "a stream between processes broke the protocol", peer=self.peer, reason=str(error)
            )
            self.end(Loss.CLOSED, f"protocol broken: {error}")
        finally:
            self.end(Loss.CLOSED, "reading failed")

    async def _write(self) -> None:
        try:
            while True:
                frame = self._stream.next_frame()
                if frame is not None:
                    if frame.items:
                        self._contact.on_sent(self._parts.clock.monotonic_ms())
                    await self._transport.send(frame)
                elif self._is_finishing and not self._stream.unsent_items:
                    self.end(Loss.CLOSED, "closed by this end")
                    return
                else:
                    self._has_work.clear()
                    await self._has_work.wait()
        except StreamEnded as error:
            # What was received before is read to its end: it may say why.
            self._parts.log.debug("a stream cannot be written", peer=self.peer, reason=str(error))
            return
        except BaseException:
            self.end(Loss.CLOSED, "writing failed")
            raise

    def _arm(self) -> None:
        self._tick = self._loop.call_later(self._parts.config.tick_ms / 1000, self._on_tick)

    def _on_tick(self) -> None:
        self._arm()
        if self._stream.on_tick():
            self.end(Loss.SILENT, "nothing was heard for too long")
        self._has_work.set()
