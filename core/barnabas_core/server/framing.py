"""The framing of Kafka's protocol: bytes in, whole request frames out; no socket in sight.

A frame is an int32 length and that many bytes. `FrameReader` is given bytes in one of two ways
and behaves the same whichever is used:

- `feed(data)`: bytes that lie in somebody else's buffer, which is reused after the call. Small
  frames are copied out of it, each into a bytearray of its own size.
- `get_buffer()` and `filled(count)`: once the length of a large frame is known, the rest of it is
  read straight into the frame's own bytearray: the records in it are never copied again.

A frame is a *writable* bytearray that nobody else holds: the log patches offsets into it in
place.

A length is a promise of a stranger. It is checked against the bound before anything is allocated,
and memory follows what has really arrived: `FIRST_BYTES`, then `SECOND_BYTES`, then twice what is
in hand. What a growth will take is told beforehand in `wanted_bytes`, so that the owner can wait
until the server as a whole has room for it.
"""

import struct
from collections import deque
from typing import Final

_LENGTH: Final = struct.Struct(">i")
LENGTH_BYTES: Final = 4
# Allocated on the strength of a length alone. One read of the socket brings at most this much, so a
# frame up to this size costs one copy and never waits for room.
FIRST_BYTES: Final = 64 * 1024
# Takes a request of one largest batch (1 MiB by default, and some bytes around it) whole.
SECOND_BYTES: Final = 1024 * 1024 + FIRST_BYTES


class FrameError(Exception):
    """The peer does not speak the protocol: its connection is to be closed."""


class FrameReader:
    """Cuts one connection's byte stream into frames.

    After a `FrameError` the reader takes nothing more: the stream has lost its frame borders.
    """

    __slots__ = (
        "_arrivals_ns",
        "_body",
        "_filled",
        "_frame_bytes_max",
        "_frames",
        "_length",
        "_prefix",
        "_queued_bytes",
        "fed_at_ns",
        "taken_arrival_ns",
    )

    def __init__(self, frame_bytes_max: int) -> None:
        self._frame_bytes_max = frame_bytes_max
        self._frames: deque[bytearray] = deque()
        self._arrivals_ns: deque[int] = deque()
        self.fed_at_ns = 0
        """When the bytes came that are fed next; kept with the frames that they complete."""
        self.taken_arrival_ns = 0
        """When the frame was whole that was taken last."""
        self._queued_bytes = 0
        self._prefix = b""  # what has come of a length that was cut in two
        self._length = 0  # of the frame in `_body`
        self._body: bytearray | None = None
        self._filled = 0

    @property
    def queued_bytes(self) -> int:
        """Bytes of whole frames that wait to be taken."""
        return self._queued_bytes

    @property
    def body_bytes(self) -> int:
        """Bytes allocated for the frame that is still coming in."""
        return 0 if self._body is None else len(self._body)

    @property
    def wanted_bytes(self) -> int:
        """What `get_buffer` will allocate before it can give more room; 0: nothing."""
        if self._body is None or self._filled < len(self._body):
            return 0
        return self._next_size() - len(self._body)

    def take(self) -> bytearray | None:
        """The oldest whole frame, without its length."""
        if not self._frames:
            return None
        frame = self._frames.popleft()
        self.taken_arrival_ns = self._arrivals_ns.popleft()
        self._queued_bytes -= len(frame)
        return frame

    def get_buffer(self) -> memoryview | None:
        """Room for the next bytes of a large frame; None: use a buffer of your own, then `feed`."""
        if self._body is None:
            return None
        if self._filled == len(self._body):
            self._grow()
        return memoryview(self._body)[self._filled :]

    def filled(self, count: int) -> None:
        """`count` bytes have been put at the start of what `get_buffer` gave."""
        self._filled += count
        if self._filled == self._length:
            self._finish()

    def sole_frame(self, data: memoryview) -> bytearray | None:
        """The frame that `data` is, if it is just one and nothing came before it: not to be fed."""
        if self._frames or self._body is not None or self._prefix or len(data) <= LENGTH_BYTES:
            return None
        length: int = _LENGTH.unpack_from(data)[0]
        if length != len(data) - LENGTH_BYTES or length > self._frame_bytes_max:
            return None
        self.taken_arrival_ns = self.fed_at_ns
        return bytearray(data[LENGTH_BYTES:])

    def feed(self, data: memoryview) -> None:
        """Take all of `data`; it may be overwritten afterwards."""
        position, end = 0, len(data)
        while position < end:
            if self._body is not None:
                position = self._fill(data, position)
                continue
            if self._prefix or end - position < LENGTH_BYTES:
                position = self._collect_length(data, position)
                if len(self._prefix) < LENGTH_BYTES:
                    return
                length = self._checked_length(self._prefix, 0)
                self._prefix = b""
            else:
                length = self._checked_length(data, position)
                position += LENGTH_BYTES
            stop = position + length
            if stop <= end:
                self._append(bytearray(data[position:stop]))
                position = stop
            else:
                self._start(length)

    def _checked_length(self, data: memoryview | bytes, position: int) -> int:
        length: int = _LENGTH.unpack_from(data, position)[0]
        if not 0 <= length <= self._frame_bytes_max:
            raise FrameError(f"frame of {length} bytes, at most {self._frame_bytes_max} are taken")
        return length

    def _collect_length(self, data: memoryview, position: int) -> int:
        stop = position + LENGTH_BYTES - len(self._prefix)
        self._prefix += bytes(data[position:stop])
        return min(stop, len(data))

    def _start(self, length: int) -> None:
        self._length = length
        self._body = bytearray(min(length, FIRST_BYTES))
        self._filled = 0

    def _fill(self, data: memoryview, position: int) -> int:
        room = self.get_buffer()
        assert room is not None
        count = min(len(room), len(data) - position)
        room[:count] = data[position : position + count]
        self.filled(count)
        return position + count

    def _next_size(self) -> int:
        return min(self._length, max(SECOND_BYTES, 2 * self._filled))

    def _grow(self) -> None:
        assert self._body is not None
        larger = bytearray(self._next_size())
        larger[: self._filled] = self._body
        self._body = larger

    def _finish(self) -> None:
        assert self._body is not None
        body, self._body = self._body, None
        self._append(body)

    def _append(self, frame: bytearray) -> None:
        self._frames.append(frame)
        self._arrivals_ns.append(self.fed_at_ns)
        self._queued_bytes += len(frame)
