"""A transport for driving a server connection without a socket, as a simulator's listener would."""

import asyncio
from collections.abc import Iterable
from typing import Any

Data = bytes | bytearray | memoryview


class FakeTransport(asyncio.Transport):
    """Takes what is written; `room` is how much before it asks the protocol to pause."""

    def __init__(self, protocol: asyncio.BufferedProtocol, room: int | None = None) -> None:
        super().__init__({"peername": ("192.0.2.1", 4711)})
        self.protocol = protocol
        self.written = bytearray()
        self.room = room
        self.is_paused = False
        self._reads = True
        self.closed = False
        self.left = b""
        self.lost = False
        protocol.connection_made(self)

    def give(self, data: bytes) -> None:
        """Deliver bytes as an event loop does, as long as the protocol wants to read."""
        position = 0
        while position < len(data) and self._reads and not self.closed:
            room = memoryview(self.protocol.get_buffer(-1))
            piece = data[position : position + len(room)]
            room[: len(piece)] = piece
            self.protocol.buffer_updated(len(piece))
            position += len(piece)
        self.left = data[position:]

    def drain(self) -> bytes:
        """What was written so far; the peer has read it."""
        data = bytes(self.written)
        self.written.clear()
        if self.is_paused:
            self.is_paused = False
            self.protocol.resume_writing()
        return data

    def write(self, data: Data) -> None:
        assert not self.lost
        self.written += data
        if self.room is not None and len(self.written) > self.room and not self.is_paused:
            self.is_paused = True
            self.protocol.pause_writing()

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        self.write(b"".join(list_of_data))

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """The test says how much there is room for."""

    def pause_reading(self) -> None:
        assert self._reads
        self._reads = False

    def resume_reading(self) -> None:
        assert not self._reads
        self._reads = True

    def is_reading(self) -> bool:
        return self._reads

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True

    def lose(self) -> None:
        """What a loop does some time after `close`, or when the peer has gone."""
        self.closed = True
        if not self.lost:
            self.lost = True
            self.protocol.connection_lost(None)
