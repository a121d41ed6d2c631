"""Varints and uuids."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.wire.error import BadVarint, EncodeError
from barnabas_core.wire.primitive import (
    ZERO_UUID,
    read_uvarint,
    read_varint,
    read_varlong,
    uuid_from_text,
    uuid_text,
    uvarint_bytes,
    varint_bytes,
    varlong_bytes,
)


@pytest.mark.parametrize(
    ("value", "encoded"),
    [(0, "00"), (127, "7f"), (128, "8001"), (300, "ac02"), (2**32 - 1, "ffffffff0f")],
)
def test_an_unsigned_varint_has_seven_bits_a_byte_lowest_first(value: int, encoded: str) -> None:
    assert uvarint_bytes(value).hex() == encoded
    assert read_uvarint(bytes.fromhex(encoded), 0) == (value, len(encoded) // 2)


@pytest.mark.parametrize(
    ("value", "encoded"), [(0, "00"), (-1, "01"), (1, "02"), (-2, "03"), (2**31 - 1, "feffffff0f")]
)
def test_a_varint_alternates_the_signs(value: int, encoded: str) -> None:
    assert varint_bytes(value).hex() == encoded
    assert varlong_bytes(value).hex() == encoded
    assert read_varint(bytes.fromhex(encoded), 0) == (value, len(encoded) // 2)


@given(value=st.integers(-(2**31), 2**31 - 1))
def test_a_varint_survives(value: int) -> None:
    encoded = varint_bytes(value)

    assert read_varint(b"#" + encoded + b"#", 1) == (value, 1 + len(encoded))


@given(value=st.integers(-(2**63), 2**63 - 1))
def test_a_varlong_survives(value: int) -> None:
    encoded = varlong_bytes(value)

    assert read_varlong(b"#" + encoded + b"#", 1) == (value, 1 + len(encoded))


@given(value=st.integers(0, 2**32 - 1))
def test_an_unsigned_varint_survives(value: int) -> None:
    encoded = uvarint_bytes(value)

    assert read_uvarint(b"#" + encoded + b"#", 1) == (value, 1 + len(encoded))


@pytest.mark.parametrize("encoded", ["808080808000", "ffffffff1f", "ffffffffff"])
def test_a_varint_of_more_than_32_bits_is_refused(encoded: str) -> None:
    with pytest.raises(BadVarint):
        read_uvarint(bytes.fromhex(encoded), 0)


@pytest.mark.parametrize("encoded", ["ff" * 10 + "01", "ff" * 9 + "02"])
def test_a_varint_of_more_than_64_bits_is_refused(encoded: str) -> None:
    with pytest.raises(BadVarint):
        read_varlong(bytes.fromhex(encoded), 0)


def test_numbers_that_do_not_fit_are_not_written() -> None:
    for write, value in (
        (uvarint_bytes, -1),
        (varint_bytes, 2**31),
        (varint_bytes, -(2**31) - 1),
        (varlong_bytes, 2**63),
    ):
        with pytest.raises(EncodeError):
            write(value)


def test_a_uuid_reads_as_kafka_prints_it() -> None:
    assert uuid_text(ZERO_UUID) == "AAAAAAAAAAAAAAAAAAAAAA"
    assert uuid_text(b"\xff" * 16) == "_____________________w"


@given(uuid=st.binary(min_size=16, max_size=16))
def test_the_text_of_a_uuid_gives_the_uuid(uuid: bytes) -> None:
    assert uuid_from_text(uuid_text(uuid)) == uuid


@pytest.mark.parametrize("text", ["", "AAAA", "AAAAAAAAAAAAAAAAAAAAAB", "A" * 21 + "+", "é" * 22])
def test_text_that_is_not_a_uuid_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a uuid"):
        uuid_from_text(text)
