"""Sockets between simulated clients and brokers: bytes over the fabric, as TCP carries them.

The broker's end is an asyncio transport around the product's own `Connection`; the client's end
gives whole frames of Kafka's protocol. What can happen to streams can happen to these.
"""

import asyncio
import struct
from collections import deque
from collections.abc import Callable, Iterable
from contextvars import Context
from typing import TYPE_CHECKING, Any

from barnabas_core.ports.link import Address
from tests.sim.sim_links import Fabric, StreamEnd
from tests.sim.virtual_loop import PROCESS, Process, current_process

if TYPE_CHECKING:
    from barnabas_core.ports.link import Purpose
    from tests.sim.sim_machine import SimMachine

_LENGTH = struct.Struct(">i")
_PIECE_BYTES = 64 * 1024


class SocketBroken(Exception):
    """There is no connection, or no more."""


class SimListener:
    """The product's listener port, on a simulated machine."""

    def __init__(self, machine: "SimMachine") -> None:
        self._fabric = machine.world.fabric
        self._host = machine.host
        self.address = Address(machine.host, 0)
        self.purposes: tuple[Purpose | None, ...] = (None,)
        self._process: Process | None = None
        self._new_connection: Callable[[], asyncio.BufferedProtocol] | None = None

    async def reserve(self, host: str, port: int) -> tuple[str, int]:
        return host, port

    async def listen(self, host: str, port: int, accept: Callable[[], Any]) -> tuple[str, int]:
        self._process = current_process()
        self._new_connection = accept
        self.address = Address(self._host, port)
        self._fabric.listen(self)
        return host, port

    async def close(self) -> None:
        self._fabric.forget(self)

    def accept(self, purpose: None, end: "ServedEnd") -> None:
        assert self._process is not None
        assert self._new_connection is not None
        end.process = self._process
        end.open(self._new_connection)


class ServedEnd(StreamEnd):
    """The broker's end, and the transport that its connection sees."""

    def __init__(self, fabric: Fabric, machine: int, peer: str) -> None:
        super().__init__(fabric, machine, peer)
        self._transport: _Transport | None = None
        self._connection: asyncio.BufferedProtocol | None = None
        self._arrived: deque[bytes] = deque()
        self._is_reading = True

    def open(self, new_connection: Callable[[], asyncio.BufferedProtocol]) -> None:
        self._soon(self._open, new_connection)

    def _open(self, new_connection: Callable[[], asyncio.BufferedProtocol]) -> None:
        self._connection = new_connection()
        self._transport = _Transport(self)
        self._connection.connection_made(self._transport)
        self._feed()

    def _soon(self, call: Callable[..., None], *arguments: object) -> None:
        """As the broker's process, when it is its turn."""
        assert self.process is not None
        context = Context()
        context.run(PROCESS.set, self.process)
        self._fabric.loop.call_soon(call, *arguments, context=context)

    def put(self, data: bytes) -> None:
        if self.ended is None:
            self._arrived.append(data)
            self._soon(self._feed)

    def end(self, reason: str) -> None:
        if self.ended is None:
            self.ended = reason
            if self.process is not None:
                self._soon(self._lose)

    def _feed(self) -> None:
        connection = self._connection
        while self._arrived and self._is_reading and connection is not None:
            data = self._arrived.popleft()
            room = memoryview(connection.get_buffer(-1))
            piece, rest = data[: len(room)], data[len(room) :]
            if rest:
                self._arrived.appendleft(rest)
            room[: len(piece)] = piece
            connection.buffer_updated(len(piece))
            if self.ended is not None:
                return

    def _lose(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.connection_lost(None)

    # --- for the transport

    def write(self, data: bytes) -> None:
        if self.ended is None:
            for start in range(0, len(data), _PIECE_BYTES):
                self._fabric.send(self.out, data[start : start + _PIECE_BYTES])

    def set_reading(self, *, is_reading: bool) -> None:
        self._is_reading = is_reading
        if is_reading:
            self._soon(self._feed)

    def shut(self) -> None:
        if self.ended is None:
            self._fabric.finish(self.out)
            self.end("closed by this end")


class _Transport(asyncio.Transport):
    def __init__(self, end: ServedEnd) -> None:
        super().__init__({"peername": (end.peer, 1)})
        self._end = end
        self._reads = True

    def write(self, data: Any) -> None:  # noqa: ANN401 - any buffer
        self._end.write(bytes(data))

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        self._end.write(b"".join(list_of_data))

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """There is room without end: how a slow reader is treated is tested elsewhere."""

    def pause_reading(self) -> None:
        self._reads = False
        self._end.set_reading(is_reading=False)

    def resume_reading(self) -> None:
        self._reads = True
        self._end.set_reading(is_reading=True)

    def is_reading(self) -> bool:
        return self._reads

    def is_closing(self) -> bool:
        return self._end.ended is not None

    def close(self) -> None:
        self._end.shut()

    def abort(self) -> None:
        self._end.shut()


class ClientEnd(StreamEnd):
    """A client's end: frames of Kafka's protocol."""

    def __init__(self, fabric: Fabric, machine: int, peer: str) -> None:
        super().__init__(fabric, machine, peer)
        self._received = bytearray()

    def put(self, data: bytes) -> None:
        if self.ended is None:
            self._received += data
            self._wake()

    def send_frame(self, frame: bytes) -> None:
        if self.ended is not None:
            raise SocketBroken(self.ended)
        self._fabric.send(self.out, _LENGTH.pack(len(frame)) + frame)

    def reset(self) -> None:
        if self.ended is None:
            self._fabric.reset(self.out)
        self.end("reset by this end")

    async def receive_frame(self) -> bytes:
        while True:
            received = self._received
            if len(received) >= _LENGTH.size:
                end = _LENGTH.size + _LENGTH.unpack_from(received)[0]
                if len(received) >= end:
                    frame = bytes(received[_LENGTH.size : end])
                    del received[:end]
                    return frame
            if self.ended is not None:
                raise SocketBroken(self.ended)
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter


def connect(machine: "SimMachine", address: Address) -> ClientEnd:
    fabric = machine.world.fabric
    near = ClientEnd(fabric, machine.number, str(address))
    far = ServedEnd(fabric, fabric.machine_of(address.host), machine.host)
    fabric.join(near, far, None, address)
    return near
