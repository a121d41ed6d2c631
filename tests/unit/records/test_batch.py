"""The header of a batch: parsing, splitting, checking, patching."""

import struct
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.records.batch import (
    HEADER_BYTES,
    NO_SEQUENCE,
    BatchFault,
    BatchHeader,
    CorruptBatch,
    check_batch,
    check_produced_batch,
    crc_of,
    next_sequence,
    parse_header,
    patch_append_time,
    patch_offset,
    split_batches,
)
from barnabas_core.records.builder import build_batch, empty_batch
from barnabas_core.records.compression import Compression
from barnabas_core.records.record import Record, iter_records
from barnabas_core.wire.error_code import ErrorCode

TIME_MS = 1_700_000_000_000
BATCH = build_batch([(b"k", b"v"), (b"l", b"w")], timestamp_ms=TIME_MS)
HEADER = parse_header(BATCH)


def with_field(position: int, layout: str, number: int) -> bytearray:
    """The batch with one field of its header changed, and a CRC that fits again."""
    batch = bytearray(BATCH)
    struct.pack_into(layout, batch, position, number)
    struct.pack_into(">I", batch, 17, crc_of(batch, 0, HEADER.batch_length))
    return batch


def fault_of(act: Callable[[], object]) -> BatchFault:
    with pytest.raises(CorruptBatch) as caught:
        act()
    return caught.value.fault


def test_a_header_has_the_fields_of_the_wire_in_order() -> None:
    data = struct.pack(">qiibIhiqqqhii", 1, 100, 3, 2, 2**32 - 1, 6, 7, 8, 9, 10, 11, 12, 13)

    assert parse_header(data) == BatchHeader(1, 100, 3, 2, 2**32 - 1, 6, 7, 8, 9, 10, 11, 12, 13)
    assert len(data) == HEADER_BYTES == 61


def test_a_header_tells_offsets_and_size() -> None:
    header = parse_header(build_batch([(b"k", b"v")] * 3, base_offset=40))

    assert (header.base_offset, header.last_offset, header.next_offset) == (40, 42, 43)
    assert header.size_bytes == 12 + header.batch_length


def test_flags_are_read_from_the_attributes() -> None:
    nothing = HEADER._replace(attributes=0)
    everything = HEADER._replace(attributes=0b1111100)

    for flag in ("is_log_append_time", "is_transactional", "is_control", "has_delete_horizon"):
        assert getattr(nothing, flag) is False
        assert getattr(everything, flag) is True
    assert nothing.compression is Compression.NONE
    assert everything.compression is Compression.ZSTD
    assert nothing.delete_horizon_ms is None
    assert everything.delete_horizon_ms == TIME_MS


@pytest.mark.parametrize(
    ("base", "delta", "last"), [(0, 4, 4), (2**31 - 1, 0, 2**31 - 1), (2**31 - 2, 2, 0)]
)
def test_sequences_go_on_at_zero_after_the_largest(base: int, delta: int, last: int) -> None:
    header = HEADER._replace(base_sequence=base, last_offset_delta=delta)

    assert header.last_sequence == last == next_sequence(base, delta)


def test_without_a_sequence_there_is_no_last_one() -> None:
    assert HEADER.last_sequence == NO_SEQUENCE


def test_a_cut_header_is_truncated() -> None:
    assert fault_of(lambda: parse_header(BATCH[:60])) is BatchFault.TRUNCATED
    assert fault_of(lambda: parse_header(BATCH, -1)) is BatchFault.TRUNCATED


def test_batches_are_found_one_after_the_other() -> None:
    other = build_batch([(None, b"x" * 1000)], base_offset=2)

    found = split_batches(BATCH + other + BATCH)

    assert [position for position, _ in found] == [0, len(BATCH), len(BATCH) + len(other)]
    assert [header.base_offset for _, header in found] == [0, 2, 0]


def test_no_bytes_are_no_batches() -> None:
    assert split_batches(b"") == []


@pytest.mark.parametrize("size", [1, 16, 17, 60, 61, len(BATCH) - 1])
def test_a_partial_tail_is_refused_or_left_out(size: int) -> None:
    data = BATCH + BATCH[:size]

    assert fault_of(lambda: split_batches(data)) is BatchFault.TRUNCATED
    assert len(split_batches(data, allow_partial_tail=True)) == 1


@pytest.mark.parametrize("length", [-(2**31), -1, 0, 48])
def test_a_length_below_the_headers_is_refused(length: int) -> None:
    batch = with_field(8, ">i", length)

    assert fault_of(lambda: split_batches(batch)) is BatchFault.BAD_LENGTH
    assert fault_of(lambda: split_batches(batch, allow_partial_tail=True)) is BatchFault.BAD_LENGTH
    assert fault_of(lambda: check_batch(batch, 0, parse_header(batch))) is BatchFault.BAD_LENGTH


@pytest.mark.parametrize("size", [17, 30, 200])
@pytest.mark.parametrize("magic", [0, 1])
def test_an_old_message_format_is_named_even_if_it_is_short(magic: int, size: int) -> None:
    data = bytearray(size)
    data[16] = magic

    with pytest.raises(CorruptBatch) as caught:
        split_batches(data)

    assert caught.value.fault is BatchFault.OLD_MAGIC
    assert caught.value.error_code is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("magic", [-1, 3, 127])
def test_an_unknown_magic_is_corruption(magic: int) -> None:
    batch = with_field(16, ">b", magic)

    with pytest.raises(CorruptBatch) as caught:
        split_batches(batch)

    assert caught.value.fault is BatchFault.UNKNOWN_MAGIC
    assert caught.value.error_code is ErrorCode.CORRUPT_MESSAGE


def test_a_sound_batch_passes_wherever_it_is() -> None:
    data = memoryview(b"xyz" + BATCH + b"tail")

    check_batch(data, 3, HEADER)


@given(st.integers(21, len(BATCH) - 1), st.integers(0, 7))
def test_any_flipped_bit_behind_the_crc_is_found(position: int, bit: int) -> None:
    batch = bytearray(BATCH)
    batch[position] ^= 1 << bit

    with pytest.raises(CorruptBatch) as caught:
        check_batch(batch, 0, parse_header(batch))

    assert caught.value.fault is BatchFault.BAD_CRC
    assert caught.value.error_code is ErrorCode.CORRUPT_MESSAGE


def test_a_batch_beyond_the_buffer_is_truncated() -> None:
    assert fault_of(lambda: check_batch(BATCH[:-1], 0, HEADER)) is BatchFault.TRUNCATED


@pytest.mark.parametrize(
    ("position", "layout", "number", "fault"),
    [
        (0, ">q", -1, BatchFault.BAD_HEADER),
        (0, ">q", 2**63 - 1, BatchFault.BAD_HEADER),
        (21, ">h", 5, BatchFault.UNKNOWN_COMPRESSION),
        (21, ">h", 7, BatchFault.UNKNOWN_COMPRESSION),
        (23, ">i", -1, BatchFault.BAD_HEADER),
        (57, ">i", -1, BatchFault.BAD_HEADER),
    ],
)
def test_a_senseless_header_is_refused(
    position: int, layout: str, number: int, fault: BatchFault
) -> None:
    batch = with_field(position, layout, number)

    assert fault_of(lambda: check_batch(batch, 0, parse_header(batch))) is fault


def test_a_codec_that_does_not_exist_has_its_own_error_code() -> None:
    batch = with_field(21, ">h", 6)

    with pytest.raises(CorruptBatch) as caught:
        check_batch(batch, 0, parse_header(batch))

    assert caught.value.error_code is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


def test_a_compacted_batch_is_sound_but_no_producers() -> None:
    batch = build_batch([Record(3, TIME_MS, b"k", b"v")], last_offset=9)
    gone = empty_batch(parse_header(batch))

    for kept in (batch, gone):
        check_batch(kept, 0, parse_header(kept))
        with pytest.raises(CorruptBatch) as caught:
            check_produced_batch(parse_header(kept))
        assert caught.value.error_code is ErrorCode.INVALID_RECORD


def test_a_producers_batch_passes() -> None:
    check_produced_batch(HEADER)
    check_produced_batch(HEADER._replace(producer_id=0, producer_epoch=0, base_sequence=0))


@pytest.mark.parametrize(
    "change",
    [
        {"record_count": 0},
        {"record_count": 3},
        {"last_offset_delta": 0},
        {"base_offset": 1},
        {"producer_id": 0},
        {"attributes": 0x20},
    ],
    ids=str,
)
def test_what_a_producer_may_not_send(change: dict[str, int]) -> None:
    with pytest.raises(CorruptBatch) as caught:
        check_produced_batch(HEADER._replace(**change))

    assert caught.value.error_code is ErrorCode.INVALID_RECORD


@given(st.integers(0, 2**63 - 1), st.integers(-1, 2**31 - 1), st.integers(0, 100))
def test_offset_and_epoch_are_patched_without_a_new_crc(
    base_offset: int, leader_epoch: int, position: int
) -> None:
    data = bytearray(position) + BATCH + b"tail"

    patch_offset(data, position, base_offset, leader_epoch)

    header = parse_header(data, position)
    assert header == HEADER._replace(base_offset=base_offset, partition_leader_epoch=leader_epoch)
    assert crc_of(data, position, header.batch_length) == header.crc
    assert data[:position] == bytes(position)
    assert data.endswith(b"tail")


def test_append_time_is_patched_with_a_new_crc() -> None:
    data = memoryview(b"head" + bytearray(BATCH)).toreadonly()
    writable = bytearray(data)

    header = patch_append_time(writable, 4, HEADER, TIME_MS + 500)

    assert header == parse_header(writable, 4)
    check_batch(writable, 4, header)
    assert header.is_log_append_time
    assert [r.timestamp for r in iter_records(writable, 4)] == [TIME_MS + 500] * 2
    assert [bytes(r.value or b"") for r in iter_records(writable, 4)] == [b"v", b"w"]
