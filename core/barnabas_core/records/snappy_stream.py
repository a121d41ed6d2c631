"""Snappy as Kafka writes it: the block framing of snappy-java, which snappy itself does not have.

    82 'S' 'N' 'A' 'P' 'P' 'Y' 00 | version int32 | lowest compatible version int32 | (block length
    int32 | block)*

librdkafka may send one bare block without the framing; both are read, only the framing is written.
"""

import struct
from collections.abc import Iterator

import cramjam

from barnabas_core.ports.disk import Buffer
from barnabas_core.records.error import BatchFault, CorruptBatch, DecompressionTooLarge

_MAGIC = b"\x82SNAPPY\x00"
_HEADER = _MAGIC + struct.pack(">ii", 1, 1)
_LENGTH = struct.Struct(">i")
# The block size of snappy-java: a reader that works block by block holds no more than this.
_BLOCK_BYTES = 32 * 1024
# The best that a block can do is a 3-byte copy of 64 bytes: a larger claim is a lie, not to be
# paid in memory.
_EXPANSION_MAX = 22
_EXPANSION_SLACK_BYTES = 64


def compress(data: Buffer) -> bytes:
    view = memoryview(data)
    parts = [_HEADER]
    for start in range(0, len(view), _BLOCK_BYTES):
        block = cramjam.snappy.compress_raw(view[start : start + _BLOCK_BYTES])
        parts += (_LENGTH.pack(len(block)), bytes(block))
    return b"".join(parts)


def decompress(data: Buffer, max_bytes: int) -> memoryview:
    """Twice through the blocks, since a list of tiny ones would be far larger than the data."""
    view = memoryview(data)
    total = 0
    for block in _blocks(view):
        total += _decompressed_bytes(block)
        if total > max_bytes:
            raise DecompressionTooLarge(max_bytes)
    out = memoryview(bytearray(total))
    position = 0
    for block in _blocks(view):
        position += _decompress_block(block, out[position:])
    if position != total:
        raise CorruptBatch(BatchFault.BAD_COMPRESSED_DATA, "snappy: shorter than it says")
    return out


def _blocks(data: memoryview) -> Iterator[memoryview]:
    if data[: len(_MAGIC)] != _MAGIC:
        yield data
        return
    position = 0
    while position < len(data):
        # Streams may be put one after the other, so that a header can follow a block.
        if data[position : position + len(_MAGIC)] == _MAGIC:
            position += len(_HEADER)
        else:
            block, position = _block_at(data, position)
            yield block
    if position > len(data):
        raise CorruptBatch(BatchFault.BAD_COMPRESSED_DATA, "snappy: cut in its header")


def _block_at(data: memoryview, position: int) -> tuple[memoryview, int]:
    start = position + _LENGTH.size
    if start > len(data):
        raise CorruptBatch(BatchFault.BAD_COMPRESSED_DATA, "snappy: cut in a block length")
    end = start + _LENGTH.unpack_from(data, position)[0]
    if not start < end <= len(data):
        raise CorruptBatch(BatchFault.BAD_COMPRESSED_DATA, "snappy: bad block length")
    return data[start:end], end


def _decompressed_bytes(block: memoryview) -> int:
    try:
        size = cramjam.snappy.decompress_raw_len(block)
    except cramjam.DecompressionError as error:
        raise CorruptBatch(BatchFault.BAD_COMPRESSED_DATA, f"snappy: {error}") from error
    if size > len(block) * _EXPANSION_MAX + _EXPANSION_SLACK_BYTES:
        raise CorruptBatch(BatchFault.BAD_COMPRESSED_DATA, f"snappy: claims {size} bytes")
    return size


def _decompress_block(block: memoryview, out: memoryview) -> int:
    try:
        return cramjam.snappy.decompress_raw_into(block, out)
    except cramjam.DecompressionError as error:
        raise CorruptBatch(BatchFault.BAD_COMPRESSED_DATA, f"snappy: {error}") from error
