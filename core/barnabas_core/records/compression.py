"""The four codecs of Kafka, with a bound on what comes out.

A batch of one mebibyte can hold gigabytes of zeros. The output buffer is sized beforehand, from
what the compressed data says of itself and as far as that can be true, and is never larger than
`max_bytes`: what does not fit raises `DecompressionTooLarge`. All release the GIL while they work,
but LZ4 at a level other than the default (see `lz4_frame`).
"""

import zlib
from collections.abc import Callable
from enum import IntEnum

import cramjam

from barnabas_core.ports.disk import Buffer
from barnabas_core.records import lz4_frame, snappy_stream, zstd_frame
from barnabas_core.records.error import BatchFault, CorruptBatch, DecompressionTooLarge

# A producer's batch is a mebibyte or so, and text seldom shrinks a hundredfold.
DEFAULT_MAX_BYTES = 128 * 1024 * 1024
_GZIP_WINDOW_BITS = 31
# A claim beyond this is a lie, not to be paid in memory.
_DEFLATE_EXPANSION_MAX = 1032


class Compression(IntEnum):
    """The codec id in a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4

    @staticmethod
    def of(codec_id: int) -> "Compression":
        if not 0 <= codec_id < len(_BY_ID):
            raise CorruptBatch(BatchFault.UNKNOWN_COMPRESSION, f"codec {codec_id}")
        return _BY_ID[codec_id]


_BY_ID = tuple(Compression)

# The levels that Kafka's configuration takes (compression.gzip.level and so on) and its defaults.
LEVELS = {
    Compression.GZIP: range(1, 10),
    Compression.LZ4: range(1, 18),
    Compression.ZSTD: range(-131072, 23),
}
DEFAULT_LEVELS = {Compression.GZIP: -1, Compression.LZ4: 9, Compression.ZSTD: 3}


def compress(codec: Compression, data: Buffer, level: int | None = None) -> bytes:
    """`data` in the frame that Kafka's clients read. No level means the codec's default."""
    if level is not None and level != DEFAULT_LEVELS.get(codec):
        _check_level(codec, level)
    return _COMPRESSORS[codec](data, level)


def _check_level(codec: Compression, level: int) -> None:
    levels = LEVELS.get(codec)
    if levels is not None and level not in levels:
        raise ValueError(f"{codec.name.lower()} level {level} is not in {levels}")


def decompress(codec: Compression, data: Buffer, max_bytes: int = DEFAULT_MAX_BYTES) -> memoryview:
    """What `data` holds; CorruptBatch if it is damaged or larger than `max_bytes`."""
    return _DECOMPRESSORS[codec](data, max_bytes)


def _compress_none(data: Buffer, level: int | None) -> bytes:
    return bytes(data)


def _decompress_none(data: Buffer, max_bytes: int) -> memoryview:
    if len(data) > max_bytes:
        raise DecompressionTooLarge(max_bytes)
    return memoryview(data)


def _compress_gzip(data: Buffer, level: int | None) -> bytes:
    used = DEFAULT_LEVELS[Compression.GZIP] if level is None else level
    return zlib.compress(data, used, wbits=_GZIP_WINDOW_BITS)


def _decompress_gzip(data: Buffer, max_bytes: int) -> memoryview:
    """One member, as every client sends it: then the last four bytes are the size."""
    size = int.from_bytes(memoryview(data)[-4:], "little")
    if size > len(data) * _DEFLATE_EXPANSION_MAX:
        raise CorruptBatch(BatchFault.BAD_COMPRESSED_DATA, f"gzip: claims {size} bytes")
    return _decompress_into(cramjam.gzip.decompress_into, data, size, max_bytes)


def _compress_snappy(data: Buffer, level: int | None) -> bytes:
    return snappy_stream.compress(data)


def _compress_lz4(data: Buffer, level: int | None) -> bytes:
    # Java takes its fast compressor at the default level and the high compression one at all
    # others.
    if level is None or level == DEFAULT_LEVELS[Compression.LZ4]:
        return lz4_frame.compress_fast(data)
    return lz4_frame.compress_at_level(data, level)


def _decompress_lz4(data: Buffer, max_bytes: int) -> memoryview:
    bound = lz4_frame.size_bound(data, max_bytes)
    return _decompress_into(cramjam.lz4.decompress_into, data, bound, max_bytes)


def _compress_zstd(data: Buffer, level: int | None) -> bytes:
    used = DEFAULT_LEVELS[Compression.ZSTD] if level is None else level
    return bytes(cramjam.zstd.compress(data, level=used))


def _decompress_zstd(data: Buffer, max_bytes: int) -> memoryview:
    bound = zstd_frame.size_bound(data, max_bytes)
    return _decompress_into(cramjam.zstd.decompress_into, data, bound, max_bytes)


def _decompress_into(
    decoder: Callable[[Buffer, bytearray], int], data: Buffer, bound: int, max_bytes: int
) -> memoryview:
    out = bytearray(min(bound, max_bytes))
    try:
        written = decoder(data, out)
    except cramjam.DecompressionError as error:
        if bound > max_bytes:
            raise DecompressionTooLarge(max_bytes) from error
        raise CorruptBatch(BatchFault.BAD_COMPRESSED_DATA, str(error)) from error
    return memoryview(out)[:written]


_COMPRESSORS: dict[Compression, Callable[[Buffer, int | None], bytes]] = {
    Compression.NONE: _compress_none,
    Compression.GZIP: _compress_gzip,
    Compression.SNAPPY: _compress_snappy,
    Compression.LZ4: _compress_lz4,
    Compression.ZSTD: _compress_zstd,
}
_DECOMPRESSORS: dict[Compression, Callable[[Buffer, int], memoryview]] = {
    Compression.NONE: _decompress_none,
    Compression.GZIP: _decompress_gzip,
    Compression.SNAPPY: snappy_stream.decompress,
    Compression.LZ4: _decompress_lz4,
    Compression.ZSTD: _decompress_zstd,
}
