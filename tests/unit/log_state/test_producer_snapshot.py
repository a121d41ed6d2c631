"""The producer snapshot file, byte for byte."""

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.log.producers.producer_entry import ENTRY_BYTES, ProducerEntry, unpack_entries
from barnabas_core.log.producers.producer_snapshot import (
    CorruptSnapshot,
    decode_snapshot,
    encode_snapshot,
)
from barnabas_core.log.producers.producer_state import ProducerState
from barnabas_core.wire.codec import decode, encode
from barnabas_core.wire.messages import producer_snapshot as wire
from tests.support.producer_history import Batch

# version 1 | CRC-32C of the rest | 1 entry | id 1, epoch 2, last sequence 3, last offset 4,
# offset delta 0, timestamp 5, coordinator epoch -1, no transaction
ONE_PRODUCER = bytes.fromhex(
    "0001"
    "be5927ee"
    "00000001"
    "0000000000000001000200000003000000000000000400000000"
    "0000000000000005ffffffffffffffffffffffff"
)  # fmt: skip

int64 = st.integers(-(2**63), 2**63 - 1)
int32 = st.integers(-(2**31), 2**31 - 1)
int16 = st.integers(-(2**15), 2**15 - 1)
entries = st.lists(
    st.builds(ProducerEntry, int64, int16, int32, int64, int32, int64, int32, int64), max_size=5
)


def packed(producers: list[ProducerEntry]) -> bytes:
    """Entries as the wire's codec writes them: a second opinion on the layout."""
    message = wire.ProducerSnapshot(
        producer_entries=[wire.ProducerEntry(*producer) for producer in producers]
    )
    return encode(message, 1)[8:]


def test_the_file_is_what_kafka_writes() -> None:
    state = ProducerState()
    state.replay(Batch(1, 2, 3, timestamp_ms=5).header(), 4)

    assert encode_snapshot(state.snapshot()) == ONE_PRODUCER


def test_the_file_is_read_as_kafka_meant_it() -> None:
    assert list(unpack_entries(decode_snapshot(ONE_PRODUCER))) == [
        ProducerEntry(1, 2, 3, 4, 0, 5, -1, -1)
    ]


def test_an_empty_snapshot_is_ten_bytes() -> None:
    assert len(encode_snapshot(b"")) == 10
    assert bytes(decode_snapshot(encode_snapshot(b""))) == b""


@given(producers=entries)
def test_the_layout_is_that_of_the_protocol_table(producers: list[ProducerEntry]) -> None:
    file = encode_snapshot(packed(producers))

    message = decode(wire.ProducerSnapshot, 1, file[2:])
    assert message.crc == crc32c(file[6:])
    assert encode(message, 1) == file[2:]
    assert list(unpack_entries(decode_snapshot(file))) == producers


@given(producers=entries, data=st.data())
def test_a_flipped_bit_is_noticed(producers: list[ProducerEntry], data: st.DataObject) -> None:
    file = bytearray(encode_snapshot(packed(producers)))
    position = data.draw(st.integers(0, len(file) - 1))
    file[position] ^= 1 << data.draw(st.integers(0, 7))

    with pytest.raises(CorruptSnapshot):
        decode_snapshot(bytes(file))


@given(size=st.integers(0, len(ONE_PRODUCER) - 1))
def test_a_torn_file_is_noticed(size: int) -> None:
    with pytest.raises(CorruptSnapshot):
        decode_snapshot(ONE_PRODUCER[:size])


@pytest.mark.parametrize("count", [-1, 0, 2, 2**31 - 1])
def test_a_wrong_count_is_noticed_even_with_a_right_crc(count: int) -> None:
    body = count.to_bytes(4, "big", signed=True) + bytes(ENTRY_BYTES)
    file = b"\0\1" + crc32c(body).to_bytes(4, "big") + body

    with pytest.raises(CorruptSnapshot, match="announced"):
        decode_snapshot(file)


def test_another_version_is_refused() -> None:
    with pytest.raises(CorruptSnapshot, match="version 2"):
        decode_snapshot(b"\0\2" + ONE_PRODUCER[2:])
