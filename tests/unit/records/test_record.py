"""Records inside a batch: what is read, in what order it is refused, and that all readers agree."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.records.batch import (
    HEADER_BYTES,
    LENGTH_OVERHEAD_BYTES,
    BatchFault,
    CorruptBatch,
    pack_header,
    parse_header,
)
from barnabas_core.records.builder import BatchBuilder, build_batch, builder_like
from barnabas_core.records.compression import Compression
from barnabas_core.records.error import DecompressionTooLarge
from barnabas_core.records.record import Header, Record, iter_records
from barnabas_core.records.record_scan import check_records, iter_keys
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.primitive import varint_bytes, varlong_bytes
from tests.support.record_samples import plain_record

TIME_MS = 1_700_000_000_000
INT64 = st.integers(-(2**63), 2**63 - 1)
DATA = st.none() | st.binary(max_size=300)
HEADERS = st.lists(st.builds(Header, st.binary(max_size=20), DATA), max_size=5).map(tuple)


@st.composite
def record_lists(draw: st.DrawFn, timestamps: st.SearchStrategy[int] = INT64) -> list[Record]:
    """Offsets rise, with gaps: what a producer sends and what a cleaner leaves."""
    offset = draw(st.integers(0, 2**40))
    records = []
    for _ in range(draw(st.integers(1, 8))):
        records.append(Record(offset, draw(timestamps), draw(DATA), draw(DATA), draw(HEADERS)))
        offset += draw(st.integers(1, 3) | st.integers(1, 10_000))
    return records


def rebuilt(records: list[Record], codec: Compression = Compression.NONE) -> bytearray:
    return build_batch(records, base_offset=records[0].offset, compression=codec)


@given(record_lists(), st.sampled_from(Compression))
def test_what_goes_in_comes_out(records: list[Record], codec: Compression) -> None:
    batch = rebuilt(records, codec)

    assert [plain_record(record) for record in iter_records(batch)] == records


@given(record_lists(), st.sampled_from(Compression))
def test_keys_are_the_same_as_those_of_the_records(
    records: list[Record], codec: Compression
) -> None:
    keys = list(iter_keys(rebuilt(records, codec)))

    assert keys == [(r.offset, r.key, r.value is not None) for r in records]


@given(record_lists(), st.integers(-(2**63), 2**63 - 1))
def test_any_delete_horizon_keeps_every_timestamp(records: list[Record], horizon_ms: int) -> None:
    batch = build_batch(records, base_offset=records[0].offset, delete_horizon_ms=horizon_ms)

    assert parse_header(batch).delete_horizon_ms == horizon_ms
    assert [plain_record(record) for record in iter_records(batch)] == records


@given(record_lists(), st.sampled_from(Compression))
def test_a_batch_rewritten_without_change_is_read_the_same(
    records: list[Record], codec: Compression
) -> None:
    batch = rebuilt(records, codec)
    header = parse_header(batch)
    builder = builder_like(header)

    for record in iter_records(batch):
        builder.append(record.key, record.value, record.timestamp, record.headers, record.offset)

    again = builder.build(header.last_offset)
    assert list(map(plain_record, iter_records(again))) == records
    if codec is Compression.NONE:
        assert again == batch


def test_records_are_views_of_the_batch() -> None:
    batch = rebuilt([Record(0, TIME_MS, b"key", b"value")])

    [record] = iter_records(batch)

    assert isinstance(record.value, memoryview)
    assert record.value.obj is batch


def test_records_are_read_at_a_position() -> None:
    batch = b"head" + rebuilt([Record(7, TIME_MS, b"k", b"v")]) + b"tail"

    assert [record.offset for record in iter_records(batch, 4)] == [7]


def test_nothing_is_decoded_before_it_is_asked_for() -> None:
    batch = rebuilt([Record(n, TIME_MS, b"k", b"v") for n in range(3)])
    batch[-1] = 0x7F  # the last record's header count
    records = iter_records(batch)

    assert [next(records).offset, next(records).offset] == [0, 1]
    with pytest.raises(CorruptBatch):
        next(records)


def test_the_decompressed_size_is_bounded() -> None:
    batch = rebuilt([Record(0, TIME_MS, b"k", bytes(100_000))], Compression.ZSTD)

    with pytest.raises(DecompressionTooLarge) as caught:
        list(iter_records(batch, max_bytes=99_999))

    assert caught.value.error_code is ErrorCode.MESSAGE_TOO_LARGE


def record_bytes(
    offset_delta: int = 0,
    *,
    key: bytes = varint_bytes(1) + b"k",
    value: bytes = varint_bytes(1) + b"v",
    headers: bytes = varint_bytes(0),
    length: int | None = None,
) -> bytes:
    """A record in which any part can be wrong."""
    body = b"\x00" + varlong_bytes(0) + varint_bytes(offset_delta) + key + value + headers
    return varint_bytes(len(body) if length is None else length) + body


def batch_of(records: bytes, count: int = 1, last_offset_delta: int | None = None) -> bytes:
    last = count - 1 if last_offset_delta is None else last_offset_delta
    batch = bytearray(HEADER_BYTES)
    length = HEADER_BYTES - LENGTH_OVERHEAD_BYTES + len(records)
    pack_header(batch, 0, 0, length, -1, 2, 0, 0, last, 0, 0, -1, -1, -1, count)
    return bytes(batch) + records


def faults(batch: bytes) -> Iterator[BatchFault]:
    """What each of the two full readers says."""
    header = parse_header(batch)
    for read in (lambda: list(iter_records(batch)), lambda: check_records(batch, 0, header)):
        with pytest.raises(CorruptBatch) as caught:
            read()
        assert caught.value.error_code is ErrorCode.INVALID_RECORD
        yield caught.value.fault


def test_the_hand_made_record_is_sound() -> None:
    batch = batch_of(record_bytes(0) + record_bytes(1), 2)

    assert [record.offset for record in iter_records(batch)] == [0, 1]
    check_records(batch, 0, parse_header(batch))


HUGE = varint_bytes(2**31 - 1)
WRONG = {
    "no records at all": batch_of(b""),
    "fewer records than declared": batch_of(record_bytes(0), 2),
    "more bytes than records": batch_of(record_bytes(0) + b"\x00"),
    "length too short": batch_of(record_bytes(0, length=6)),
    "length too long": batch_of(record_bytes(0, length=9)),
    "length into the next record": batch_of(record_bytes(0, length=16) + record_bytes(1), 2),
    "negative length": batch_of(record_bytes(0, length=-8)),
    "length beyond the batch": batch_of(HUGE + record_bytes(0)),
    "varint of six bytes": batch_of(b"\x80" * 5 + b"\x01" + record_bytes(0)),
    "varint of 33 bits": batch_of(b"\xff\xff\xff\xff\x1f" + record_bytes(0)),
    "varlong of eleven bytes": batch_of(b"\x28\x00" + b"\x80" * 10 + b"\x01" + bytes(8)),
    "key beyond the batch": batch_of(record_bytes(0, key=HUGE)),
    "value beyond the batch": batch_of(record_bytes(0, value=HUGE)),
    "value beyond the record": batch_of(record_bytes(0, value=varint_bytes(9) + b"v")),
    "negative header count": batch_of(record_bytes(0, headers=varint_bytes(-1))),
    "header count beyond the record": batch_of(record_bytes(0, headers=HUGE)),
    "header without a key": batch_of(
        record_bytes(0, headers=varint_bytes(1) + varint_bytes(-1) + varint_bytes(0))
    ),
    "header beyond the record": batch_of(
        record_bytes(0, headers=varint_bytes(1) + varint_bytes(5) + varint_bytes(0))
    ),
    "headers for our memory": batch_of(
        record_bytes(0, headers=varint_bytes(200_000) + bytes(400_000))
    ),
    "negative offset delta": batch_of(record_bytes(-1)),
    "offset delta beyond the last": batch_of(record_bytes(1)),
    "the same offset twice": batch_of(record_bytes(0) + record_bytes(0), 2),
    "offsets in the wrong order": batch_of(record_bytes(1) + record_bytes(0), 2),
}


@pytest.mark.parametrize("batch", WRONG.values(), ids=WRONG)
def test_an_unsound_record_is_refused(batch: bytes) -> None:
    assert set(faults(batch)) == {BatchFault.BAD_RECORD}


@pytest.mark.parametrize("name", ["negative offset delta", "the same offset twice"])
def test_the_key_reader_refuses_offsets_that_do_not_rise(name: str) -> None:
    with pytest.raises(CorruptBatch):
        list(iter_keys(WRONG[name]))


def test_any_negative_length_is_null() -> None:
    for null in (varint_bytes(-1), varint_bytes(-2), varint_bytes(-1000), b"\x81\x00"):
        batch = batch_of(record_bytes(0, key=null, value=null))

        [record] = iter_records(batch)
        [keyed] = iter_keys(batch)

        assert (record.key, record.value) == (None, None)
        assert (keyed.key, keyed.has_value) == (None, False)
        check_records(batch, 0, parse_header(batch))


def test_a_missing_key_is_refused_only_where_keys_are_required() -> None:
    batch = build_batch([(b"k", b"v"), (None, b"v")])
    header = parse_header(batch)

    check_records(batch, 0, header)
    with pytest.raises(CorruptBatch) as caught:
        check_records(batch, 0, header, keys_required=True)

    assert caught.value.fault is BatchFault.MISSING_KEY
    assert caught.value.error_code is ErrorCode.INVALID_RECORD
    assert "record 1" in str(caught.value)


def test_gaps_between_offsets_are_no_producers() -> None:
    batch = rebuilt([Record(0, TIME_MS, b"k", b"v"), Record(2, TIME_MS, b"k", b"v")])

    assert [record.offset for record in iter_records(batch)] == [0, 2]
    with pytest.raises(CorruptBatch):
        check_records(batch, 0, parse_header(batch))


def test_the_builder_says_how_large_the_batch_is() -> None:
    builder = BatchBuilder()
    for number in range(100):
        builder.append(b"key", b"v" * number, TIME_MS + number)

    assert builder.size_bytes == len(builder.build())
    assert builder.record_count == 100


def test_the_builder_refuses_offsets_that_do_not_rise() -> None:
    builder = BatchBuilder(base_offset=5)
    builder.append(b"k", b"v", offset=7)

    with pytest.raises(AssertionError):
        builder.append(b"k", b"v", offset=7)
    with pytest.raises(AssertionError):
        builder.build(last_offset=6)


def test_the_builder_makes_no_empty_batch() -> None:
    with pytest.raises(AssertionError):
        BatchBuilder().build()
