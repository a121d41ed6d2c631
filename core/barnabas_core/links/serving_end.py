"""The serving end: streams that others opened, each call a task, answers in any order.

A call is taken only if there is room for its answer, and refused as `Busy` otherwise: reading goes
on whatever happens. When a stream is lost, its calls are carried out to their end all the same,
only nobody gets the answers.
"""

from barnabas_core.links.greeting import why_not
from barnabas_core.links.item import (
    WHOLE_STREAM,
    Answer,
    CallItem,
    Hello,
    Item,
    Push,
    Reason,
    Refusal,
)
from barnabas_core.links.link_config import LinkParts
from barnabas_core.links.session import Session
from barnabas_core.links.transport import Transport
from barnabas_core.ports.disk import Buffer
from barnabas_core.ports.link import Busy, CallFailed, CallRefused, Identity, Loss, Purpose, Service
from barnabas_core.runtime.supervisor import TaskList


class ServingEnd:
    """All streams that one process serves at one address."""

    def __init__(self, services: dict[Purpose, Service], parts: LinkParts) -> None:
        self._services = services
        self._parts = parts
        self._calls = TaskList(parts.log)
        self._stream_count = 0

    async def accept(self, purpose: Purpose, transport: Transport) -> None:
        """Serve one stream until it ends."""
        self._stream_count += 1
        try:
            is_too_many = self._stream_count > self._parts.config.stream_count_max
            served = _ServedStream(
                Session(transport, self._parts), self._services[purpose], self._parts, self._calls
            )
            await served.run("too many streams are served" if is_too_many else None)
        finally:
            self._stream_count -= 1

    async def close(self) -> None:
        """After the last stream has ended: what is still carried out is cancelled."""
        await self._calls.stop()


class _ServedStream:
    """One stream, and the `Caller` that its service sees."""

    def __init__(
        self, session: Session, service: Service, parts: LinkParts, calls: TaskList
    ) -> None:
        self._session = session
        self._service = service
        self._parts = parts
        self._calls = calls
        self._call_count = 0
        self._identity: Identity | None = None
        self._refusal: str | None = None

    @property
    def identity(self) -> Identity:
        assert self._identity is not None, "services see a caller after its hello"
        return self._identity

    @property
    def in_touch_ms(self) -> int:
        return self._session.in_touch_ms

    async def push(self, kind: int, body: Buffer) -> None:
        await self._session.push(Push(kind, body))

    def close(self) -> None:
        self._session.end(Loss.CLOSED, "closed by the service")

    async def run(self, refusal: str | None) -> None:
        self._refusal = refusal
        loss = Loss.CLOSED
        try:
            loss = (await self._session.run(self._on_item)).loss
        finally:
            if self._identity is not None:
                self._service.on_lost(self, loss)

    def _on_item(self, item: Item) -> None:
        if isinstance(item, CallItem) and self._identity is not None:
            self._on_call(item)
        elif isinstance(item, Hello):
            self._on_hello(item)
        elif self._identity is not None:
            self._session.end(Loss.CLOSED, "the calling end answered or pushed")

    def _on_hello(self, hello: Hello) -> None:
        reason = self._refusal or why_not(self._parts.identity, hello)
        if reason is None:
            self._identity = hello.identity
            self._session.offer(self._parts.hello())
            return
        self._parts.flood.warning("a stream was refused", peer=self._session.peer, reason=reason)
        self._session.offer(Refusal(WHOLE_STREAM, Reason.REFUSED, reason))
        self._session.finish()

    def _on_call(self, item: CallItem) -> None:
        config = self._parts.config
        is_full = self._call_count >= config.call_count_max
        if not is_full and self._session.waiting_bytes <= config.waiting_bytes_max:
            self._call_count += 1
            self._calls.start(self._carry_out(item))
            return
        if self._session.waiting_bytes > 2 * config.waiting_bytes_max:
            self._session.end(Loss.CLOSED, "it calls, and does not take its answers")
            return
        busy = Busy(f"{self._call_count} calls are under way")
        self._session.offer(Refusal.of(item.call_id, busy))

    async def _carry_out(self, item: CallItem) -> None:
        answer: Item = Refusal(item.call_id, Reason.FAILED, "an internal error")
        try:
            body = await self._service.on_call(self, item.call)
            answer = self._answer(item.call_id, body)
        except CallRefused as refused:
            answer = Refusal.of(item.call_id, refused)
        except CallFailed as failed:
            answer = Refusal(item.call_id, Reason.FAILED, str(failed))
        finally:
            # Whatever else it raised is a defect: the task list logs it, the caller is told.
            self._call_count -= 1
            if not self._session.is_over:
                self._session.offer(answer)

    def _answer(self, call_id: int, body: Buffer) -> Item:
        largest = self._parts.config.item_bytes_max
        if len(body) <= largest:
            return Answer(call_id, body)
        return Refusal(call_id, Reason.FAILED, f"an answer of {len(body)} bytes is too large")
