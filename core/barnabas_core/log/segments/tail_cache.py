"""The last bytes of each busy partition, kept referenced: tail readers cost no disk read.

A `Tail` belongs to one log and holds what was appended last, without a gap, in whole appends; it is
bounded per log, and all tails together by their `TailCache`, where the log written to longest ago
loses its tail first. Buffers are the very ones that were written. A small view of a large request
buffer is copied, because it would keep the whole of it alive.
"""

from bisect import bisect_right
from collections.abc import Sequence

from barnabas_core.log.segments.scan import ReadAt, find_batch
from barnabas_core.ports import Buffer
from barnabas_core.records.batch import parse_header

TOTAL_BYTES_MAX = 32 * 1024 * 1024
LOG_BYTES_MAX = 2 * 1024 * 1024


class Tail:
    __slots__ = ("_buffers", "_starts", "end_offset", "size_bytes")

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._buffers: list[Buffer] = []
        self.size_bytes = 0
        self.end_offset = 0

    def holds(self, offset: int) -> bool:
        return bool(self._starts) and self._starts[0] <= offset < self.end_offset

    def append(self, first_offset: int, next_offset: int, buffer: Buffer) -> None:
        self._starts.append(first_offset)
        self._buffers.append(buffer)
        self.end_offset = next_offset
        self.size_bytes += len(buffer)

    def shrink(self, size_bytes_max: int) -> int:
        """Forget the oldest appends until the rest fits; how many bytes went."""
        count, gone = 0, 0
        while self.size_bytes - gone > size_bytes_max:
            gone += len(self._buffers[count])
            count += 1
        if count:
            del self._starts[:count], self._buffers[:count]
            self.size_bytes -= gone
        return gone

    def read(self, offset: int, max_bytes: int, up_to: int, *, min_one_batch: bool) -> list[Buffer]:
        """Bytes of batches in [offset, up_to); `offset` must be held here."""
        index = bisect_right(self._starts, offset) - 1
        first = _from_batch_with(self._buffers[index], self._starts[index], offset)
        buffers: list[Buffer] = []
        room = max_bytes
        while index < len(self._buffers) and self._starts[index] < up_to:
            buffer = self._buffers[index] if buffers else first
            if self._end_of(index) > up_to:
                buffer = _up_to_batch_with(buffer, up_to)
            if not len(buffer):
                break
            if len(buffer) > room:
                if not buffers:
                    buffers += _start_of(buffer, room, min_one_batch=min_one_batch)
                break
            buffers.append(buffer)
            room -= len(buffer)
            index += 1
        return buffers

    def _end_of(self, index: int) -> int:
        return self._starts[index + 1] if index + 1 < len(self._starts) else self.end_offset


def _from_batch_with(buffer: Buffer, start: int, offset: int) -> Buffer:
    if offset == start:
        return buffer
    view = memoryview(buffer)
    found = find_batch(_reader(view), 0, len(view), offset)
    assert found is not None, "a tail entry ends before the next one starts"
    return view[found.position :] if found.position else buffer


def _up_to_batch_with(buffer: Buffer, up_to: int) -> Buffer:
    """Without the batches that end at or after `up_to`."""
    view = memoryview(buffer)
    found = find_batch(_reader(view), 0, len(view), up_to)
    return buffer if found is None else view[: found.position]


def _reader(view: memoryview) -> ReadAt:
    return lambda position, size: view[position : position + size]


def _start_of(buffer: Buffer, max_bytes: int, *, min_one_batch: bool) -> list[Buffer]:
    """As much as may be of an append that does not fit, nothing less than a batch."""
    first_bytes = parse_header(buffer).size_bytes
    if first_bytes > max_bytes and not min_one_batch:
        return []
    return [memoryview(buffer)[: max(max_bytes, first_bytes)]]


class TailCache:
    __slots__ = ("_log_bytes_max", "_tails", "_total_bytes_max", "size_bytes")

    def __init__(
        self, total_bytes_max: int = TOTAL_BYTES_MAX, log_bytes_max: int = LOG_BYTES_MAX
    ) -> None:
        self._total_bytes_max = total_bytes_max
        self._log_bytes_max = log_bytes_max
        # In the order of their last append.
        self._tails: dict[Tail, None] = {}
        self.size_bytes = 0

    def add(self, tail: Tail, appends: Sequence[tuple[int, int, Buffer]]) -> None:
        """`appends` are (first offset, next offset, bytes) and follow what `tail` has."""
        before = tail.size_bytes
        if appends and tail.end_offset != appends[0][0]:
            self.drop(tail)
            before = 0
        for first_offset, next_offset, buffer in appends:
            tail.append(first_offset, next_offset, _kept(buffer))
        tail.shrink(self._log_bytes_max)
        self.size_bytes += tail.size_bytes - before
        self._tails.pop(tail, None)
        self._tails[tail] = None
        while self.size_bytes > self._total_bytes_max:
            self.drop(next(iter(self._tails)))

    def drop(self, tail: Tail) -> None:
        self.size_bytes -= tail.shrink(0)
        self._tails.pop(tail, None)


def _kept(buffer: Buffer) -> Buffer:
    if isinstance(buffer, memoryview) and 2 * len(buffer) < memoryview(buffer.obj).nbytes:
        return bytes(buffer)
    return buffer
