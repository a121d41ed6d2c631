"""The calling end of a link: connects, again after a loss, and matches answers with calls.

Calls that are made while there is no connection wait for the attempt under way, or for the next
one, and fail with it. Call ids go on from one stream to the next, so that a late answer can only be
one that nobody waits for.
"""

import asyncio
from collections import deque
from dataclasses import dataclass

from barnabas_core.links.greeting import why_not
from barnabas_core.links.item import (
    WHOLE_STREAM,
    Answer,
    CallItem,
    Hello,
    Item,
    Push,
    Refusal,
    item_bytes,
)
from barnabas_core.links.link_config import LinkParts
from barnabas_core.links.session import Ended, Session
from barnabas_core.links.transport import Network, StreamEnded
from barnabas_core.ports.disk import Buffer
from barnabas_core.ports.link import (
    Address,
    Call,
    CallRefused,
    CallTimedOut,
    LinkBroken,
    LinkError,
    LinkEvents,
    LinkFull,
    Loss,
    NotSent,
    Purpose,
)
from barnabas_core.runtime.supervisor import Supervisor


@dataclass(slots=True, eq=False)
class _Pending:
    item: CallItem
    answer: asyncio.Future[Buffer]

    def fail(self, error: LinkError) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


class CallingLink:
    def __init__(
        self,
        purpose: Purpose,
        address: Address,
        network: Network,
        parts: LinkParts,
        events: LinkEvents,
    ) -> None:
        self._purpose = purpose
        self._address = address
        self._network = network
        self._parts = parts
        self._config = parts.config
        self._events = events
        self._session: Session | None = None
        self._pending: dict[int, _Pending] = {}
        self._pending_bytes = 0
        self._last_call_id = WHOLE_STREAM
        self._is_closed = False
        self._last_reason = "no attempt has been made yet"
        self._pushes = _PushQueue(events)
        self._tasks = Supervisor(parts.log)
        self._tasks.start("link", self._stay_connected)
        self._tasks.start("pushes", self._pushes.run)

    @property
    def address(self) -> Address:
        return self._address

    @property
    def is_connected(self) -> bool:
        return self._session is not None

    async def call(self, call: Call, timeout_ms: int) -> Buffer:
        pending = self._admit(call)
        loop = asyncio.get_running_loop()
        timer = loop.call_later(timeout_ms / 1000, self._on_timeout, pending, timeout_ms)
        if self._session is not None:
            self._session.offer(pending.item)
        try:
            return await pending.answer
        finally:
            timer.cancel()
            self._forget(pending)

    async def close(self) -> None:
        self._is_closed = True
        await self._tasks.stop()
        self._session = None
        for pending in list(self._pending.values()):
            pending.fail(LinkBroken(f"the link to {self._address} was closed"))

    def _admit(self, call: Call) -> _Pending:
        size = len(call.body)
        if self._is_closed:
            raise NotSent(f"the link to {self._address} was closed")
        if size > self._config.item_bytes_max:
            raise CallRefused(f"{size} bytes, and {self._config.item_bytes_max} is the largest")
        # A large call is taken when it would be alone, rather than never.
        has_room = not self._pending or self._pending_bytes + size <= self._config.waiting_bytes_max
        if len(self._pending) >= self._config.call_count_max or not has_room:
            raise LinkFull(f"{len(self._pending)} calls to {self._address} are under way")
        self._last_call_id += 1
        item = CallItem(self._last_call_id, call)
        pending = _Pending(item, asyncio.get_running_loop().create_future())
        self._pending[item.call_id] = pending
        self._pending_bytes += item_bytes(item)
        return pending

    def _forget(self, pending: _Pending) -> None:
        self._pending.pop(pending.item.call_id)
        self._pending_bytes -= item_bytes(pending.item)
        if not _is_answered(pending) and self._session is not None:
            self._session.withdraw(pending.item)

    def _on_timeout(self, pending: _Pending, timeout_ms: int) -> None:
        where = f"{self._address} within {timeout_ms} ms"
        if self._session is None:
            pending.fail(NotSent(f"no connection to {where}: {self._last_reason}"))
        else:
            pending.fail(CallTimedOut(f"no answer from {where}"))

    async def _stay_connected(self) -> None:
        delay_ms = self._config.reconnect_ms_min
        while True:
            was_connected = await self._connect_once()
            if was_connected:
                delay_ms = self._config.reconnect_ms_min
            await asyncio.sleep(delay_ms / 1000)
            delay_ms = min(2 * delay_ms, self._config.reconnect_ms_max)

    async def _connect_once(self) -> bool:
        """Whether there was a connection, when it has ended again."""
        try:
            async with asyncio.timeout(self._config.connect_ms / 1000):
                transport = await self._network.connect(self._purpose, self._address)
        except StreamEnded as error:
            self._on_attempt_failed(str(error))
            return False
        except TimeoutError:
            self._on_attempt_failed("nobody answers")
            return False
        session = Session(transport, self._parts)
        session.offer(self._parts.hello())
        ended = await session.run(lambda item: self._on_item(session, item))
        if self._session is None:
            self._on_attempt_failed(ended.reason)
            return False
        self._on_session_lost(session, ended)
        return True

    def _on_attempt_failed(self, reason: str) -> None:
        self._last_reason = reason
        self._parts.log.debug("no connection", to=str(self._address), reason=reason)
        for pending in self._pending.values():
            pending.fail(NotSent(f"no connection to {self._address}: {reason}"))

    def _on_session_lost(self, session: Session, ended: Ended) -> None:
        self._session = None
        self._last_reason = ended.reason
        self._pushes.clear()
        unsent = {item.call_id for item in session.unsent_items if isinstance(item, CallItem)}
        why = f"the stream to {self._address} ended: {ended.reason}"
        for pending in self._pending.values():
            kind = NotSent if pending.item.call_id in unsent else LinkBroken
            pending.fail(kind(why))
        if self._events.on_lost is not None:
            self._events.on_lost(ended.loss)

    def _on_item(self, session: Session, item: Item) -> None:
        if isinstance(item, Answer):
            pending = self._pending.get(item.call_id)
            if pending is not None and not pending.answer.done():
                pending.answer.set_result(item.body)
        elif isinstance(item, Push):
            self._pushes.add(session, item)
        elif isinstance(item, Refusal):
            self._on_refusal(session, item)
        elif isinstance(item, Hello):
            self._on_hello(session, item)
        else:
            session.end(Loss.CLOSED, "the serving end made a call")

    def _on_refusal(self, session: Session, refusal: Refusal) -> None:
        if refusal.call_id == WHOLE_STREAM:
            self._warn(refusal.message)
            session.end(Loss.CLOSED, f"refused: {refusal.message}")
            return
        pending = self._pending.get(refusal.call_id)
        if pending is not None:
            pending.fail(refusal.error())

    def _on_hello(self, session: Session, hello: Hello) -> None:
        reason = why_not(self._parts.identity, hello)
        if reason is not None:
            self._warn(reason)
            session.end(Loss.CLOSED, f"refused: {reason}")
            return
        self._session = session
        for pending in self._pending.values():
            if not pending.answer.done():
                session.offer(pending.item)
        if self._events.on_connected is not None:
            self._events.on_connected()

    def _warn(self, reason: str) -> None:
        purpose = self._purpose.value
        self._parts.flood.warning(
            "a stream was refused", to=str(self._address), purpose=purpose, reason=reason
        )


def _is_answered(pending: _Pending) -> bool:
    answer = pending.answer
    return answer.done() and not answer.cancelled() and answer.exception() is None


class _PushQueue:
    """Pushes that wait for the application; how many there can be is bounded by their window."""

    def __init__(self, events: LinkEvents) -> None:
        self._on_push = events.on_push
        self._waiting: deque[tuple[Session, Push]] = deque()
        self._is_filled = asyncio.Event()

    def add(self, session: Session, push: Push) -> None:
        self._waiting.append((session, push))
        self._is_filled.set()

    def clear(self) -> None:
        """Their stream is gone: what it had to say is not news any more."""
        self._waiting.clear()

    async def run(self) -> None:
        while True:
            await self._is_filled.wait()
            self._is_filled.clear()
            while self._waiting:
                await self._handle(*self._waiting.popleft())

    async def _handle(self, session: Session, push: Push) -> None:
        is_handled = False
        try:
            if self._on_push is not None:
                await self._on_push(push.kind, push.body)
            is_handled = True
        finally:
            if not is_handled:
                # It is lost to the application, which has to start afresh; the supervisor logs why.
                session.end(Loss.CLOSED, "a push could not be dealt with")
        session.on_push_handled(push)
