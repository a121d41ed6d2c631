"""Walking over the batches of a `.log` file: headers only, or whole batches with their CRC.

Pure functions over something that reads: the event loop, a thread and the worker process use the
same. `read_at(position, size)` gives fewer bytes only at the end of the file.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from barnabas_core.ports import Buffer
from barnabas_core.records.batch import (
    HEADER_BYTES,
    BatchHeader,
    CorruptBatch,
    check_batch,
    parse_header,
)

ReadAt = Callable[[int, int], Buffer]

HEADER_CHUNK_BYTES = 8 * 1024
BATCH_CHUNK_BYTES = 1024 * 1024


class PositionedHeader(NamedTuple):
    position: int
    header: BatchHeader

    @property
    def end_position(self) -> int:
        return self.position + 12 + self.header.batch_length


class PositionedBatch(NamedTuple):
    position: int
    header: BatchHeader
    data: memoryview


def scan_headers(read_at: ReadAt, position: int, end: int) -> Iterator[PositionedHeader]:
    """The headers of whole batches in [position, end): stops before one that is not whole.

    Nothing is checked but the lengths, so this is for what was checked before.
    """
    chunk: Buffer = b""
    chunk_position = position
    while end - position >= HEADER_BYTES:
        at = position - chunk_position
        if at + HEADER_BYTES > len(chunk):
            chunk = read_at(position, min(HEADER_CHUNK_BYTES, end - position))
            chunk_position, at = position, 0
            if len(chunk) < HEADER_BYTES:
                return
        header = parse_header(chunk, at)
        size = header.size_bytes
        if size < HEADER_BYTES or size > end - position:
            return
        yield PositionedHeader(position, header)
        position += size


def scan_batches(read_at: ReadAt, position: int, end: int) -> Iterator[PositionedBatch]:
    """Whole, sound batches in [position, end), each with its bytes: stops before the first bad one.

    "Bad" is what a crash leaves behind: cut short, zeros, or a CRC that does not fit.
    """
    chunk = memoryview(b"")
    chunk_position = position
    while end - position >= HEADER_BYTES:
        at = position - chunk_position
        if at + HEADER_BYTES > len(chunk):
            chunk, chunk_position, at = _chunk(read_at, position, BATCH_CHUNK_BYTES, end)
            if len(chunk) < HEADER_BYTES:
                return
        header = parse_header(chunk, at)
        size = header.size_bytes
        if size < HEADER_BYTES or size > end - position:
            return
        if at + size > len(chunk):
            wanted = max(size, BATCH_CHUNK_BYTES)
            chunk, chunk_position, at = _chunk(read_at, position, wanted, end)
        if not _is_sound(chunk, at, header):
            return
        yield PositionedBatch(position, header, chunk[at : at + size])
        position += size


def _chunk(read_at: ReadAt, position: int, size: int, end: int) -> tuple[memoryview, int, int]:
    return memoryview(read_at(position, min(size, end - position))), position, 0


def _is_sound(chunk: memoryview, at: int, header: BatchHeader) -> bool:
    try:
        check_batch(chunk, at, header)
    except CorruptBatch:
        return False
    return True


def find_batch(read_at: ReadAt, position: int, end: int, offset: int) -> PositionedHeader | None:
    """The first batch from `position` on that ends at or after `offset`."""
    for found in scan_headers(read_at, position, end):
        if found.header.last_offset >= offset:
            return found
    return None
