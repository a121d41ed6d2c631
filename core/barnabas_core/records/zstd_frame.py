"""How much can come out of zstd frames, from their block headers alone (RFC 8878).

Java's producer writes frames without a content size; the list of blocks bounds the output all the
same, because no block holds more than 128 KiB.
"""

import struct

from barnabas_core.ports.disk import Buffer
from barnabas_core.records.error import BatchFault, CorruptBatch

_FRAME_MAGIC = 0xFD2FB528
_SKIPPABLE_MAGIC = 0x184D2A50
_UINT32 = struct.Struct("<I")
_BLOCK_MAX_BYTES = 128 * 1024
_RAW, _RLE, _COMPRESSED = 0, 1, 2
_DICTIONARY_ID_BYTES = (0, 1, 2, 4)
_CONTENT_SIZE_BYTES = (0, 2, 4, 8)


def size_bound(data: Buffer, enough_bytes: int) -> int:
    """At most this much comes out of `data`. The walk ends once `enough_bytes` are passed."""
    view = memoryview(data)
    total = position = 0
    try:
        while position < len(view) and total <= enough_bytes:
            size, position = _frame_bound(view, position, enough_bytes)
            total += size
    except (struct.error, IndexError) as error:
        raise CorruptBatch(BatchFault.BAD_COMPRESSED_DATA, "zstd: truncated frame") from error
    return total


def _frame_bound(view: memoryview, position: int, enough_bytes: int) -> tuple[int, int]:
    (magic,) = _UINT32.unpack_from(view, position)
    if magic & 0xFFFFFFF0 == _SKIPPABLE_MAGIC:
        (size,) = _UINT32.unpack_from(view, position + 4)
        return 0, position + 8 + size
    if magic != _FRAME_MAGIC:
        raise CorruptBatch(BatchFault.BAD_COMPRESSED_DATA, "zstd: not a frame")
    descriptor = view[position + 4]
    content_size, blocks_at = _content_size(view, position + 5, descriptor)
    total, end = _blocks_bound(view, blocks_at, enough_bytes)
    if content_size is not None:
        total = min(total, content_size)
    return total, end + 4 * (descriptor >> 2 & 1)


def _content_size(view: memoryview, position: int, descriptor: int) -> tuple[int | None, int]:
    """The frame's content size if it is given, and where the blocks begin."""
    is_single_segment = descriptor >> 5 & 1
    size_flag = descriptor >> 6
    start = position + (1 - is_single_segment) + _DICTIONARY_ID_BYTES[descriptor & 3]
    size_bytes = _CONTENT_SIZE_BYTES[size_flag] or is_single_segment
    if not size_bytes:
        return None, start
    size = int.from_bytes(view[start : start + size_bytes], "little")
    # Two bytes are used from 256 on only, so they count from there.
    return size + (256 if size_bytes == 2 else 0), start + size_bytes


def _blocks_bound(view: memoryview, position: int, enough_bytes: int) -> tuple[int, int]:
    total = 0
    is_last = 0
    while not is_last and total <= enough_bytes:
        header = view[position] | view[position + 1] << 8 | view[position + 2] << 16
        is_last, kind, size = header & 1, header >> 1 & 3, header >> 3
        position += 3 + (1 if kind == _RLE else size)
        total += min(size, _BLOCK_MAX_BYTES) if kind < _COMPRESSED else _BLOCK_MAX_BYTES
    return total, position
