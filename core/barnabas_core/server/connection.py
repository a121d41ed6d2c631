"""One client connection: an asyncio protocol around the frame reader and the answer stream.

One request is served at a time; the next is looked at when the answer to the last has been handed
to the transport and the transport has room. So answers keep the order of their requests, and a
client that does not read its answers is not served. What it sends meanwhile is kept up to
`QUEUED_BYTES_MAX` and one large frame, then the transport stops reading.

Bytes arrive in a buffer that all connections share (between `get_buffer` and `buffer_updated`
nothing else runs), so an idle connection holds no buffer; a large frame is read into its own.

This class knows asyncio's transport by a handful of methods, which is the seam for a simulator:
its listener hands in a transport of its own.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from barnabas_core.log.error import LogError
from barnabas_core.ports import Buffer, Clock, DiskError, Executor
from barnabas_core.runtime.log_setup import EventLog, FloodLimit
from barnabas_core.server.answer import PIECE_BYTES, AnswerStream, AnswerTorn, Part
from barnabas_core.server.budget import ByteBudget
from barnabas_core.server.connection_meter import CloseReason
from barnabas_core.server.dispatch import Dispatcher, Peer, RequestRefused
from barnabas_core.server.framing import FIRST_BYTES, FrameError, FrameReader

if TYPE_CHECKING:
    from barnabas_core.server.deferred import Deferred

QUEUED_BYTES_MAX: Final = 128 * 1024
# Requests of one connection that are served before the loop looks at the others again.
_BURST_COUNT: Final = 16
_WRITE_BUFFER_BYTES: Final = PIECE_BYTES


@dataclass(slots=True, kw_only=True)
class ConnectionEnvironment:
    """What the connections of one endpoint share."""

    dispatcher: Dispatcher
    clock: Clock
    executor: Executor
    log: EventLog
    frame_bytes_max: int
    budget: ByteBudget
    on_disk_error: Callable[[DiskError], None]
    refusals: FloodLimit = field(init=False)
    failures: FloodLimit = field(init=False)
    receive_buffer: memoryview = field(init=False)

    def __post_init__(self) -> None:
        self.refusals = FloodLimit(self.log, self.clock)
        self.failures = FloodLimit(self.log, self.clock)
        self.receive_buffer = memoryview(bytearray(FIRST_BYTES))


class Connection(asyncio.BufferedProtocol):
    __slots__ = (
        "_can_write",
        "_environment",
        "_frame_bytes",
        "_held_bytes",
        "_is_busy",
        "_is_held",
        "_is_reading",
        "_is_serving",
        "_listener",
        "_on_lost",
        "_on_made",
        "_peer",
        "_pending",
        "_reader",
        "_reads_direct",
        "_stream",
        "_trace",
        "_transport",
        "_waits_for_room",
        "close_reason",
        "last_active_ms",
    )

    def __init__(
        self,
        environment: ConnectionEnvironment,
        listener: str,
        on_made: Callable[["Connection"], bool],
        on_lost: Callable[["Connection"], None],
    ) -> None:
        self.last_active_ms = environment.clock.monotonic_ms()
        self._environment = environment
        self._listener = listener
        self._on_made = on_made
        self._on_lost = on_lost
        self._reader = FrameReader(environment.frame_bytes_max)
        self._reads_direct = False  # into a frame's own buffer
        self._transport: asyncio.Transport | None = None
        self._peer = Peer("", 0, listener)
        self._is_busy = False  # with a request, until its answer is with the transport
        self._is_serving = False  # in the loop of `_serve`
        self._frame_bytes = 0  # of that request
        self._pending: Deferred[Any] | None = None
        self._stream: AnswerStream | None = None
        self._held_bytes = 0  # taken from the budget
        self._waits_for_room = False
        self._is_held = False  # until its turn comes
        self._is_reading = True
        self._can_write = True
        meter = environment.dispatcher.meter
        self._trace = None if meter is None else meter.new_trace()
        self.close_reason = CloseReason.CLIENT  # unless this side closes it

    # -- what the transport calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        host, port = (self._transport.get_extra_info("peername") or ("", 0))[:2]
        self._peer = Peer(str(host), port, self._listener)
        self._transport.set_write_buffer_limits(_WRITE_BUFFER_BYTES)
        if not self._on_made(self):
            self._transport.abort()

    def get_buffer(self, sizehint: int) -> Buffer:
        room = self._reader.get_buffer()
        self._reads_direct = room is not None
        return self._environment.receive_buffer if room is None else room

    def buffer_updated(self, nbytes: int) -> None:
        environment, reader = self._environment, self._reader
        now_ns = environment.clock.monotonic_ns()
        self.last_active_ms = now_ns // 1_000_000
        reader.fed_at_ns = now_ns
        try:
            if self._reads_direct:
                reader.filled(nbytes)
            else:
                data = environment.receive_buffer[:nbytes]
                if not self._is_busy and self._can_write:
                    # Most requests are small, come alone, and find nothing under way.
                    frame = reader.sole_frame(data)
                    if frame is not None:
                        self._request(frame)
                        return
                reader.feed(data)
        except FrameError as error:
            self._refuse(error)
            return
        if reader.wanted_bytes:
            self._ask_for_room()
        self._serve()

    def pause_writing(self) -> None:
        self._can_write = False

    def resume_writing(self) -> None:
        self.last_active_ms = self._environment.clock.monotonic_ms()
        self._can_write = True
        self._pump()
        self._serve()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._stream = None
        environment = self._environment
        if self._pending is not None:
            self._pending.cancel()
            self._pending = None
        if self._waits_for_room:
            environment.budget.forget(self._on_room)
        if self._held_bytes:
            environment.budget.give_back(self._held_bytes)
            self._held_bytes = 0
        self._on_lost(self)

    # -- what the endpoint asks

    @property
    def peer(self) -> Peer:
        return self._peer

    @property
    def is_awaited(self) -> bool:
        """It is this side's turn: a request is under way, and its answer is not held up outside."""
        return self._is_busy and self._can_write

    @property
    def holds_room(self) -> bool:
        """A large frame of it is still coming in."""
        return self._reader.body_bytes > 0 and self._held_bytes > 0

    def close(self, reason: CloseReason) -> None:
        """Send what was answered, then close."""
        if self._transport is not None:
            self._note_close(reason)
            self._transport.close()

    def abort(self, reason: CloseReason) -> None:
        if self._transport is not None:
            self._note_close(reason)
            self._transport.abort()

    def _note_close(self, reason: CloseReason) -> None:
        if self.close_reason is CloseReason.CLIENT:  # the first is the reason
            self.close_reason = reason

    def hold(self) -> None:
        """Serve nothing before `release`; what comes meanwhile is kept, as much as ever is."""
        self._is_held = True

    def release(self) -> None:
        self._is_held = False
        self._serve()

    # -- requests

    def _serve(self) -> None:
        """Serve the requests that have come, until one is under way or the transport is full."""
        self._is_serving = True
        for _ in range(_BURST_COUNT):
            if self._is_busy or self._is_held or not self._can_write or self._transport is None:
                break
            frame = self._reader.take()
            if frame is None:
                break
            self._request(frame)
        else:
            asyncio.get_running_loop().call_soon(self._serve)
        self._is_serving = False
        self._set_reading()

    def _request(self, frame: bytearray) -> None:
        self._is_busy = True
        self._frame_bytes = len(frame)
        environment = self._environment
        trace = self._trace
        if trace is not None:
            trace.on_started(self._reader.taken_arrival_ns)
        try:
            self._pending = environment.dispatcher.dispatch(
                frame, self._peer, self._on_answer, trace
            )
        except RequestRefused as error:
            self._refuse(error)
        except Exception as error:
            # The boundary of what a request can break: its own connection.
            environment.failures.failure("a request failed", error, peer=str(self._peer))
            self.abort(CloseReason.FAILED)

    def _on_answer(self, parts: list[Part] | None) -> None:
        self._pending = None
        if self._transport is None or self._transport.is_closing():
            return
        if parts is None:
            self.abort(CloseReason.FAILED)
        elif len(parts) == 1 and isinstance(parts[0], bytes):
            self._transport.write(parts[0])
            self._finish()
        else:
            self._stream = AnswerStream(parts)
            self._pump()

    def _finish(self) -> None:
        """The answer is with the transport: the next request may come."""
        self._is_busy = False
        if self._trace is not None:
            self._trace.on_sent()
        if self._frame_bytes > FIRST_BYTES:
            reserved = self._frame_bytes - FIRST_BYTES
            self._held_bytes -= reserved
            self._environment.budget.give_back(reserved)
        if self._reader.queued_bytes and not self._is_serving:
            # Not from here: whoever gave the answer has others to give.
            asyncio.get_running_loop().call_soon(self._serve)

    # -- the way out

    def _pump(self) -> None:
        """Hand out pieces until the answer is done, the transport is full, or a read waits."""
        while self._stream is not None and self._can_write:
            if self._transport is None or self._transport.is_closing():
                return
            try:
                pieces = self._stream.take()
            except (AnswerTorn, LogError, DiskError) as error:
                self._tear(error)
                return
            if pieces:
                self._transport.writelines(cast("list[bytes]", pieces))
            elif not self._stream.is_done:
                self._read_in_thread(self._stream)
                return
            if self._stream is not None and self._stream.is_done:
                self._stream = None
                self._finish()

    def _read_in_thread(self, stream: AnswerStream) -> None:
        file_range, position, size = stream.blocked()
        self._stream = None  # a `resume_writing` meanwhile finds nothing to do
        reading = asyncio.ensure_future(
            self._environment.executor.in_thread(lambda: file_range.read(position, size))
        )
        reading.add_done_callback(lambda done: self._on_read(stream, done))

    def _on_read(self, stream: AnswerStream, reading: asyncio.Future[Buffer]) -> None:
        if self._transport is None or self._transport.is_closing() or reading.cancelled():
            return
        try:
            data = stream.supply(reading.result())
        except (AnswerTorn, LogError, DiskError) as error:
            self._tear(error)
            return
        self._transport.write(data)
        self._stream = stream
        if stream.is_done:
            self._stream = None
            self._finish()
        else:
            self._pump()

    def _tear(self, error: Exception) -> None:
        """Half an answer is out and the rest cannot be had: only closing says so."""
        if isinstance(error, DiskError):
            self._environment.on_disk_error(error)
        self._environment.refusals.warning(
            "connection closed in the middle of an answer", peer=str(self._peer), reason=str(error)
        )
        self.abort(CloseReason.FAILED)

    def _refuse(self, error: Exception) -> None:
        self._environment.refusals.warning(
            "connection closed: bad request", peer=str(self._peer), reason=str(error)
        )
        self.close(CloseReason.BAD_REQUEST)

    # -- back-pressure

    def _ask_for_room(self) -> None:
        wanted = self._reader.wanted_bytes
        if self._environment.budget.take_or_wait(wanted, self._on_room):
            self._held_bytes += wanted
        else:
            self._waits_for_room = True

    def _on_room(self) -> None:
        self._waits_for_room = False
        self._held_bytes += self._reader.wanted_bytes
        self._set_reading()

    def _set_reading(self) -> None:
        wanted = not self._waits_for_room and self._reader.queued_bytes < QUEUED_BYTES_MAX
        if wanted is self._is_reading or self._transport is None or self._transport.is_closing():
            return
        self._is_reading = wanted
        if wanted:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()
