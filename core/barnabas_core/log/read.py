"""Reading: which bytes answer a fetch. Batches are handed out as they lie on the disk.

A `LogRead` is a list of slices, in memory or in a file, to be read piece by piece as the socket
drains. A slice of a file holds the file open: it can be read to its end even if the segment is
deleted meanwhile. The first batch is the one that holds the wanted offset, so its records may start
before it; the last may be cut: clients drop both.
"""

from collections.abc import Sequence
from typing import Protocol

from barnabas_core.log.error import LogError
from barnabas_core.log.segments.file_cache import FileCache
from barnabas_core.log.segments.scan import PositionedHeader, ReadAt, find_batch
from barnabas_core.log.segments.segment import Segment
from barnabas_core.ports import Buffer, File

# Buffers smaller than this are put together: a slice costs more than the copy.
_JOIN_BYTES_MAX = 64 * 1024


class SliceTruncated(LogError):
    """The log was truncated below a slice that is still being read: its reader must ask again."""


class ReadPending(LogError):
    """The position can only be found by waiting for the disk: `warm` in a thread, then retry."""

    def __init__(self, file: File, position: int, size: int) -> None:
        super().__init__(f"{file.path}: bytes at {position} are not in memory")
        self._file = file
        self._position = position
        self._size = size

    def warm(self) -> None:
        self._file.read_at(self._position, self._size)


class LogSlice(Protocol):
    def __len__(self) -> int: ...

    def read(self, position: int, size: int) -> Buffer:
        """`size` bytes from `position` within the slice; may wait for the disk."""
        ...

    def try_read(self, position: int, size: int) -> Buffer | None:
        """None where `read` would wait."""
        ...


class MemorySlice:
    __slots__ = ("_buffer",)

    def __init__(self, buffer: Buffer) -> None:
        self._buffer = buffer

    def __len__(self) -> int:
        return len(self._buffer)

    def read(self, position: int, size: int) -> Buffer:
        if not position and size >= len(self._buffer):
            return self._buffer
        return memoryview(self._buffer)[position : position + size]

    try_read = read


class FileSlice:
    __slots__ = ("_file", "_position", "_size")

    def __init__(self, file: File, position: int, size: int) -> None:
        self._file = file
        self._position = position
        self._size = size

    def __len__(self) -> int:
        return self._size

    def read(self, position: int, size: int) -> Buffer:
        size = min(size, self._size - position)
        data = self._file.read_at(self._position + position, size)
        if len(data) < size:
            raise SliceTruncated(f"{self._file.path} ends within a slice")
        return data

    def try_read(self, position: int, size: int) -> Buffer | None:
        size = min(size, self._size - position)
        return self._file.try_read_at(self._position + position, size)


class LogRead:
    """What a fetch gets: `len` is its size in bytes."""

    __slots__ = ("_size", "slices", "start_offset")

    def __init__(self, start_offset: int, slices: Sequence[LogSlice]) -> None:
        self.start_offset = start_offset
        self.slices = slices
        self._size = sum(map(len, slices))

    def __len__(self) -> int:
        return self._size

    def bytes(self) -> "bytes":
        """All of it; may wait for the disk."""
        return b"".join([each.read(0, len(each)) for each in self.slices])


def memory_slices(buffers: list[Buffer]) -> list[LogSlice]:
    """The buffers as they are, but for small neighbours, which become one."""
    slices: list[LogSlice] = []
    small: list[Buffer] = []
    for buffer in buffers:
        if len(buffer) < _JOIN_BYTES_MAX:
            small.append(buffer)
            continue
        _flush_small(small, slices)
        slices.append(MemorySlice(buffer))
    _flush_small(small, slices)
    return slices


def _flush_small(small: list[Buffer], slices: list[LogSlice]) -> None:
    if small:
        slices.append(MemorySlice(small[0] if len(small) == 1 else b"".join(small)))
        small.clear()


class SegmentReader:
    """Finds positions in one segment, waiting for the disk only if allowed."""

    __slots__ = ("_file", "_files", "_may_block", "_segment", "is_bare")

    def __init__(self, segment: Segment, files: FileCache, *, may_block: bool) -> None:
        self._segment = segment
        self._files = files
        self._file = segment.file(files)
        self._may_block = may_block
        self.is_bare = False
        """Whether all that the last slice held was the header that compaction left at the end."""

    @property
    def read_at(self) -> ReadAt:
        return self._file.read_at if self._may_block else self._read_cached

    def _read_cached(self, position: int, size: int) -> Buffer:
        data = self._file.try_read_at(position, size)
        if data is None:
            raise ReadPending(self._file, position, size)
        return data

    def slice(
        self, offset: int, max_bytes: int, up_to: int | None, *, min_one_batch: bool
    ) -> FileSlice | None:
        """From the batch with `offset` on; None if this segment ends before it."""
        found = self._segment.find(self._files, self.read_at, offset)
        if found is None:
            return None
        self.is_bare = not found.header.record_count and self._is_last(found)
        first_bytes = found.header.size_bytes
        if first_bytes > max_bytes:
            max_bytes = first_bytes if min_one_batch else 0
        end = min(self._segment.size_bytes, found.position + max_bytes)
        if up_to is not None:
            end = self._end_below(up_to, found.position, end)
        return FileSlice(self._file, found.position, end - found.position)

    def _is_last(self, found: PositionedHeader) -> bool:
        return found.end_position == self._segment.size_bytes

    def _end_below(self, up_to: int, start: int, end: int) -> int:
        """`end`, moved back to where the first batch begins that reaches `up_to`."""
        position = max(self._segment.position_before(self._files, up_to - 1), start)
        if position >= end:
            return end
        beyond = find_batch(self.read_at, position, self._segment.size_bytes, up_to)
        return end if beyond is None else min(end, beyond.position)
