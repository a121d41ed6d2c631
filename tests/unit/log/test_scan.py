"""Walking over a file's batches, whatever follows them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.log.segments.scan import (
    BATCH_CHUNK_BYTES,
    HEADER_CHUNK_BYTES,
    find_batch,
    scan_batches,
    scan_headers,
)
from tests.support.small_log import batch_of

SIZES = [10, 100, HEADER_CHUNK_BYTES, 3 * HEADER_CHUNK_BYTES, BATCH_CHUNK_BYTES + 10, 5]


class Bytes:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.read_bytes = 0

    def read_at(self, position: int, size: int) -> bytes:
        self.read_bytes += size
        return self.data[position : position + size]


def batches(sizes: list[int]) -> list[bytes]:
    return [
        bytes(batch_of(value=bytes(size), base_offset=offset)) for offset, size in enumerate(sizes)
    ]


def test_all_whole_batches_are_found_with_their_bytes() -> None:
    expected = batches(SIZES)
    data = b"".join(expected)

    found = list(scan_batches(Bytes(data).read_at, 0, len(data)))

    assert [bytes(batch.data) for batch in found] == expected
    assert [batch.header.base_offset for batch in found] == list(range(len(SIZES)))


def test_headers_are_read_without_the_records_between() -> None:
    data = b"".join(batches(SIZES))
    source = Bytes(data)

    found = list(scan_headers(source.read_at, 0, len(data)))

    assert [it.header.base_offset for it in found] == list(range(len(SIZES)))
    assert source.read_bytes < len(data) / 10


@given(st.integers(0, 400), st.binary(max_size=100))
def test_a_scan_stops_before_what_is_not_whole(cut: int, rubbish: bytes) -> None:
    first, second = batches([100, 200])
    data = first + second[:cut] + (rubbish if cut < len(second) else b"")

    found = list(scan_batches(Bytes(data).read_at, 0, len(data)))

    assert [bytes(it.data) for it in found] == ([first, second] if cut >= len(second) else [first])


@pytest.mark.parametrize("tail", [bytes(500), b"\xff" * 500, bytes(8) + b"\x00\x00\x00\x31" * 50])
def test_zeros_and_rubbish_are_no_batches(tail: bytes) -> None:
    (first,) = batches([100])
    data = first + tail

    assert [bytes(it.data) for it in scan_batches(Bytes(data).read_at, 0, len(data))] == [first]


def test_a_flipped_bit_ends_the_scan() -> None:
    first, second, third = batches([100, 100, 100])
    broken = bytearray(second)
    broken[-1] ^= 1
    data = first + broken + third

    found = list(scan_batches(Bytes(data).read_at, 0, len(data)))

    assert [bytes(it.data) for it in found] == [first]


def test_a_batch_is_found_by_any_offset_in_it_or_in_the_gap_before() -> None:
    data = bytes(batch_of(3, base_offset=10)) + bytes(batch_of(2, base_offset=20))
    read_at = Bytes(data).read_at

    def base_of(offset: int) -> int | None:
        found = find_batch(read_at, 0, len(data), offset)
        return None if found is None else found.header.base_offset

    assert [base_of(it) for it in (0, 10, 12, 13, 20, 21, 22)] == [10, 10, 10, 20, 20, 20, None]
