"""Varints read together, held against those read one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.records.error import CorruptBatch
from barnabas_core.wire.primitive import varint_bytes, varlong_bytes
from barnabas_pipeline.segments.varint import read_varints, read_varlongs

INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)


def positioned(parts: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    starts = np.cumsum([0, *map(len, parts)])[:-1].astype(np.int64)
    return np.frombuffer(b"".join(parts), np.uint8), starts


@given(st.lists(INT32, min_size=1))
def test_varints_of_any_length_are_read_side_by_side(numbers: list[int]) -> None:
    data, starts = positioned([varint_bytes(number) for number in numbers])

    values, ends = read_varints(data, starts)

    assert values.tolist() == numbers
    assert ends.tolist() == [*starts.tolist()[1:], len(data)]


@given(st.lists(INT64, min_size=1))
def test_varlongs_of_any_length_are_read_side_by_side(numbers: list[int]) -> None:
    data, starts = positioned([varlong_bytes(number) for number in numbers])

    values, ends = read_varlongs(data, starts)

    assert values.tolist() == numbers
    assert ends.tolist() == [*starts.tolist()[1:], len(data)]


@pytest.mark.parametrize("raw", [b"\xff" * 5, b"\xff\xff\xff\xff\x7f"])
def test_a_varint_of_more_than_32_bits_is_refused(raw: bytes) -> None:
    data, starts = positioned([varint_bytes(7), raw + b"\x00"])

    with pytest.raises(CorruptBatch):
        read_varints(data, starts)


@pytest.mark.parametrize("raw", [b"\xff" * 10, b"\xff" * 9 + b"\x02"])
def test_a_varlong_of_more_than_64_bits_is_refused(raw: bytes) -> None:
    data, starts = positioned([varint_bytes(7), raw + b"\x00"])

    with pytest.raises(CorruptBatch):
        read_varlongs(data, starts)


def test_a_varint_that_is_cut_is_outside() -> None:
    data, starts = positioned([varint_bytes(7), b"\x80"])

    with pytest.raises(IndexError):
        read_varints(data, starts)
