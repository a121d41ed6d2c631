"""LZ4 frames as Kafka writes them: independent blocks of 64 KiB, no checksums.

Java's reader refuses dependent blocks, which are the default of most LZ4 libraries. The size of a
frame's output is bounded by its list of blocks, which can be walked without decompressing any.
"""

import struct

import cramjam

from barnabas_core.ports.disk import Buffer
from barnabas_core.records.error import BatchFault, CorruptBatch

_FRAME_MAGIC = 0x184D2204
_SKIPPABLE_MAGIC = 0x184D2A50
_UINT32 = struct.Struct("<I")
_UINT64 = struct.Struct("<Q")
# Magic, flags (version 1, independent blocks), block size 64 KiB, and the checksum byte of the
# last two.
_HEADER = bytes.fromhex("04224d18 60 40 82")
_END_MARK = bytes(4)
_BLOCK_BYTES = 64 * 1024
_UNCOMPRESSED = 0x80000000
_BLOCK_BYTES_BY_ID = {4: 64 * 1024, 5: 256 * 1024, 6: 1024 * 1024, 7: 4 * 1024 * 1024}
_EXPANSION_MAX = 255


def compress_fast(data: Buffer) -> bytes:
    view = memoryview(data)
    parts = [_HEADER]
    for start in range(0, len(view), _BLOCK_BYTES):
        plain = view[start : start + _BLOCK_BYTES]
        packed = bytes(cramjam.lz4.compress_block(plain, store_size=False))
        if len(packed) < len(plain):
            parts += (_UINT32.pack(len(packed)), packed)
        else:
            parts += (_UINT32.pack(len(plain) | _UNCOMPRESSED), plain.tobytes())
    parts.append(_END_MARK)
    return b"".join(parts)


def compress_at_level(data: Buffer, level: int) -> bytes:
    """High compression. cramjam keeps the GIL here, so it gets the data piece by piece."""
    compressor = cramjam.lz4.Compressor(level=level, content_checksum=False, block_linked=False)
    view = memoryview(data)
    for start in range(0, len(view), _BLOCK_BYTES):
        compressor.compress(view[start : start + _BLOCK_BYTES].tobytes())
    return bytes(compressor.finish())


def size_bound(data: Buffer, enough_bytes: int) -> int:
    """At most this much comes out of `data`. The walk ends once `enough_bytes` are passed."""
    view = memoryview(data)
    total = position = 0
    try:
        while position < len(view) and total <= enough_bytes:
            size, position = _frame_bound(view, position, enough_bytes)
            total += size
    except (struct.error, IndexError) as error:
        raise CorruptBatch(BatchFault.BAD_COMPRESSED_DATA, "lz4: truncated frame") from error
    return total


def _frame_bound(view: memoryview, position: int, enough_bytes: int) -> tuple[int, int]:
    (magic,) = _UINT32.unpack_from(view, position)
    if magic & 0xFFFFFFF0 == _SKIPPABLE_MAGIC:
        (size,) = _UINT32.unpack_from(view, position + 4)
        return 0, position + 8 + size
    flags, block_id = view[position + 4], view[position + 5] >> 4 & 7
    if magic != _FRAME_MAGIC or block_id not in _BLOCK_BYTES_BY_ID:
        raise CorruptBatch(BatchFault.BAD_COMPRESSED_DATA, "lz4: not a frame")
    has_content_size = flags >> 3 & 1
    blocks_at = position + 7 + 8 * has_content_size + 4 * (flags & 1)
    block_trailer_bytes = 4 * (flags >> 4 & 1)
    block_max = _BLOCK_BYTES_BY_ID[block_id]
    total, end = _blocks_bound(view, blocks_at, (block_max, block_trailer_bytes), enough_bytes)
    if has_content_size:
        total = min(total, _UINT64.unpack_from(view, position + 6)[0])
    return total, end + 4 * (flags >> 2 & 1)


def _blocks_bound(
    view: memoryview, position: int, layout: tuple[int, int], enough_bytes: int
) -> tuple[int, int]:
    block_max, trailer_bytes = layout
    total = 0
    while total <= enough_bytes:
        (word,) = _UINT32.unpack_from(view, position)
        position += 4
        if word == 0:
            break
        size = word & ~_UNCOMPRESSED
        position += size + trailer_bytes
        total += size if word & _UNCOMPRESSED else min(block_max, size * _EXPANSION_MAX)
    return total, position
