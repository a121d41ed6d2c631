"""The codecs: what goes in comes out, never more than the bound, and rubbish is refused."""

import subprocess
import sys
from random import Random

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.records import lz4_frame, zstd_frame
from barnabas_core.records.compression import (
    DEFAULT_LEVELS,
    LEVELS,
    Compression,
    compress,
    decompress,
)
from barnabas_core.records.error import BatchFault, CorruptBatch, DecompressionTooLarge

CODECS = [codec for codec in Compression if codec is not Compression.NONE]
MEBIBYTE = 1024 * 1024
SNAPPY_HEADER = bytes.fromhex("82534e415050590000000001 00000001")
LZ4_HEADER = bytes.fromhex("04224d18604082")
ZSTD_HEADER = bytes.fromhex("28b52ffd0058")
by_codec = pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name.lower())


def text(size: int) -> bytes:
    random = Random(size)
    return b" ".join(random.choices([b"log", b"offset", b"epoch"], k=size // 4))[:size]


@by_codec
@pytest.mark.parametrize("size", [0, 1, 100, 32_768, 65_536, 65_537, 1_000_000])
def test_text_and_noise_of_every_size_survive(codec: Compression, size: int) -> None:
    for data in (text(size), Random(size).randbytes(size)):
        assert decompress(codec, compress(codec, data)) == data


@given(st.sampled_from(CODECS), st.binary(max_size=2000), st.integers(0, 2000))
def test_the_bound_is_exact(codec: Compression, data: bytes, max_bytes: int) -> None:
    packed = compress(codec, data)

    if len(data) <= max_bytes:
        assert decompress(codec, packed, max_bytes) == data
    else:
        with pytest.raises(DecompressionTooLarge):
            decompress(codec, packed, max_bytes)


@pytest.mark.parametrize(
    ("codec", "level"),
    [(codec, level) for codec, levels in LEVELS.items() for level in (levels[0], levels[-1])],
)
def test_the_lowest_and_the_highest_level_work(codec: Compression, level: int) -> None:
    data = text(100_000)

    assert decompress(codec, compress(codec, data, level)) == data


@pytest.mark.parametrize(
    ("codec", "low", "high"),
    [(Compression.GZIP, 1, 9), (Compression.LZ4, None, 17), (Compression.ZSTD, -7, 19)],
)
def test_a_higher_level_compresses_better(codec: Compression, low: int | None, high: int) -> None:
    data = text(300_000)

    assert len(compress(codec, data, high)) < len(compress(codec, data, low))


@pytest.mark.parametrize("codec", LEVELS, ids=lambda codec: codec.name.lower())
def test_a_level_that_kafka_does_not_know_is_refused(codec: Compression) -> None:
    levels = LEVELS[codec]

    for level in (levels[0] - 1, levels[-1] + 1):
        if level != DEFAULT_LEVELS[codec]:
            with pytest.raises(ValueError, match=f"level {level}"):
                compress(codec, b"x", level)
    compress(codec, b"x", DEFAULT_LEVELS[codec])


def test_only_the_five_codecs_of_kafka_have_an_id() -> None:
    assert [Compression.of(codec_id) for codec_id in range(5)] == list(Compression)
    for codec_id in (-1, 5, 6, 7):
        with pytest.raises(CorruptBatch):
            Compression.of(codec_id)


@by_codec
def test_views_are_read_where_they_are(codec: Compression) -> None:
    data = text(50_000)
    packed = compress(codec, memoryview(b"xx" + data)[2:])

    assert decompress(codec, memoryview(b"xx" + packed + b"xx")[2:-2]) == data


@by_codec
def test_every_truncation_is_refused(codec: Compression) -> None:
    packed = compress(codec, text(500))

    for size in range(len(packed)):
        if codec is Compression.SNAPPY and size == len(SNAPPY_HEADER):
            continue  # a header without blocks is an empty stream
        with pytest.raises(CorruptBatch) as caught:
            decompress(codec, packed[:size])
        assert caught.value.fault is BatchFault.BAD_COMPRESSED_DATA


@by_codec
@given(data=st.data())
def test_rubbish_is_refused_or_bounded(codec: Compression, data: st.DataObject) -> None:
    packed = bytearray(compress(codec, text(data.draw(st.integers(0, 3000)))))
    for _ in range(data.draw(st.integers(0, 3))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    packed += data.draw(st.binary(max_size=10))

    try:
        out = decompress(codec, packed, 5000)
    except CorruptBatch:
        return
    assert len(out) <= 5000


@by_codec
@given(packed=st.binary(max_size=200))
def test_pure_rubbish_is_refused_or_bounded(codec: Compression, packed: bytes) -> None:
    header = {
        Compression.GZIP: b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff",
        Compression.SNAPPY: SNAPPY_HEADER,
        Compression.LZ4: LZ4_HEADER,
        Compression.ZSTD: ZSTD_HEADER,
    }[codec]
    for data in (packed, header + packed):
        try:
            out = decompress(codec, data, 5000)
        except CorruptBatch:
            continue
        assert len(out) <= 5000


def test_snappy_is_framed_as_snappy_java_does() -> None:
    packed = compress(Compression.SNAPPY, b"hello")

    assert packed == SNAPPY_HEADER + bytes.fromhex("00000007 05 10 68656c6c6f")


def test_bare_snappy_is_read() -> None:
    data = text(100_000)

    assert decompress(Compression.SNAPPY, bytes(cramjam.snappy.compress_raw(data))) == data


def test_snappy_streams_may_follow_each_other() -> None:
    packed = compress(Compression.SNAPPY, b"one ") + compress(Compression.SNAPPY, b"two")

    assert decompress(Compression.SNAPPY, packed) == memoryview(b"one two")


def test_a_snappy_block_that_claims_the_impossible_costs_no_memory() -> None:
    claim = bytes.fromhex("ffffff3f") + b"\x00a"  # 128 MiB less one byte, out of six

    with pytest.raises(CorruptBatch, match="claims"):
        decompress(Compression.SNAPPY, claim)


def test_lz4_is_framed_as_java_reads_it() -> None:
    """Independent blocks: Java refuses others. Without checksums but that of the header."""
    assert compress(Compression.LZ4, text(1000)).startswith(LZ4_HEADER)
    for level in (1, 17):
        flags = compress(Compression.LZ4, text(1000), level)[4]
        assert flags & 0x20


@given(
    st.binary(max_size=300) | st.integers(0, 300_000).map(text),
    st.booleans(),
    st.booleans(),
)
def test_lz4_frames_of_others_are_read(data: bytes, linked: bool, checksum: bool) -> None:
    compressor = cramjam.lz4.Compressor(content_checksum=checksum, block_linked=linked)
    compressor.compress(data)
    packed = bytes(compressor.finish())

    assert decompress(Compression.LZ4, packed + packed) == data + data


def test_the_bound_of_an_lz4_frame_is_near() -> None:
    data = text(1_000_000)

    bound = lz4_frame.size_bound(compress(Compression.LZ4, data), 2**30)

    assert len(data) <= bound < len(data) + 65_536


def test_the_bound_of_a_zstd_frame_is_near_without_a_content_size() -> None:
    data = text(1_000_000)
    compressor = cramjam.zstd.Compressor()
    compressor.compress(data)
    packed = bytes(compressor.finish())

    assert decompress(Compression.ZSTD, packed) == data
    assert len(data) <= zstd_frame.size_bound(packed, 2**30) < len(data) + 131_072 * 2


def test_the_bound_of_a_zstd_frame_is_its_content_size_if_given() -> None:
    for size in (0, 100, 255, 256, 65_791, 65_792, 1_000_000):
        packed = compress(Compression.ZSTD, text(size))
        assert zstd_frame.size_bound(packed, 2**30) == size


def test_frames_that_decoders_skip_are_skipped() -> None:
    skipped = bytes.fromhex("5a2a4d1803000000616263")

    for codec in (Compression.LZ4, Compression.ZSTD):
        assert decompress(codec, skipped + compress(codec, b"data")) == memoryview(b"data")


def test_a_gzip_that_claims_the_impossible_costs_no_memory() -> None:
    packed = compress(Compression.GZIP, b"x")[:-4] + (2**26).to_bytes(4, "little")

    with pytest.raises(CorruptBatch, match="claims"):
        decompress(Compression.GZIP, packed)


@pytest.mark.parametrize("size", [0, 1, 1000, 60_000])
def test_a_gzip_that_lies_about_its_size_is_refused(size: int) -> None:
    packed = compress(Compression.GZIP, text(50_000))[:-4] + size.to_bytes(4, "little")

    with pytest.raises(CorruptBatch):
        decompress(Compression.GZIP, packed)


def test_only_one_gzip_member_is_read() -> None:
    """Kafka would read on, but no client sends more, and their sizes cannot be known."""
    with pytest.raises(CorruptBatch):
        decompress(Compression.GZIP, compress(Compression.GZIP, b"x") * 2)


@pytest.mark.parametrize("window_log", [27, 28, 31, 41])
def test_a_zstd_window_beyond_what_clients_use_is_refused(window_log: int) -> None:
    packed = bytes.fromhex("28b52ffd00") + bytes([window_log - 10 << 3]) + b"\x01\x00\x00"

    if window_log == 27:
        assert decompress(Compression.ZSTD, packed) == memoryview(b"")
    else:
        with pytest.raises(CorruptBatch):
            decompress(Compression.ZSTD, packed)


BOMBS = """
import resource, sys
from barnabas_core.records.compression import Compression, compress, decompress
from barnabas_core.records.error import DecompressionTooLarge

codec = Compression[sys.argv[1]]
max_bytes = 8 * 2**20
zeros = compress(codec, bytes(4 * max_bytes))
bombs = [zeros]
if codec is not Compression.GZIP:
    bombs.append(zeros * 60)
if codec is Compression.ZSTD:
    run = ((131072 << 3) | 2).to_bytes(3, "little") + b"x"
    bombs.append(bytes.fromhex("28b52ffd0058") + run * 100_000 + bytes.fromhex("010000"))
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
# The bound, a copy of the input, and what decoders hold whatever the size.
limit = used + max_bytes + max(map(len, bombs)) + 8 * 2**20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for bomb in bombs:
    try:
        decompress(codec, bomb, max_bytes)
    except DecompressionTooLarge:
        print("refused")
"""


@by_codec
def test_a_bomb_costs_no_more_memory_than_the_bound(codec: Compression) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BOMBS, codec.name],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert done.returncode == 0, done.stderr
    bomb_count = {Compression.GZIP: 1, Compression.ZSTD: 3}.get(codec, 2)
    assert done.stdout.split() == ["refused"] * bomb_count
