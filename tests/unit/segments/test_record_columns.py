"""Records decoded together, held against those that `barnabas_core.records` reads one by one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.records.batch import COMPRESSION_MASK, BatchHeader, CorruptBatch, parse_header
from barnabas_core.records.builder import build_batch
from barnabas_core.records.compression import DEFAULT_MAX_BYTES, Compression
from barnabas_core.records.record import Header, Record, iter_records, open_records
from barnabas_core.wire.primitive import varint_bytes
from barnabas_pipeline.segments.record_columns import (
    OpenedBatch,
    RecordColumns,
    Spans,
    decode_records,
    record_positions,
)

TIMESTAMPS = st.integers(-(2**63), 2**63 - 1) | st.integers(1_700_000_000_000, 1_700_000_100_000)
BYTES = st.none() | st.binary(max_size=20) | st.integers(60, 200).map(bytes)
HEADERS = st.lists(st.builds(Header, st.binary(max_size=6), BYTES), max_size=4).map(tuple)
ROWS = st.lists(st.tuples(TIMESTAMPS, BYTES, BYTES, HEADERS), min_size=1, max_size=80)


@st.composite
def batches(draw: st.DrawFn) -> bytearray:
    base_offset = draw(st.integers(0, 2**40))
    offset = base_offset
    records = []
    for timestamp, key, value, headers in draw(ROWS):
        records.append(Record(offset, timestamp, key, value, headers))
        offset += draw(st.integers(1, 3))
    return build_batch(
        records,
        base_offset=base_offset,
        compression=draw(st.sampled_from(Compression)),
        append_time_ms=draw(st.none() | st.integers(0, 2**41)),
    )


def opened(batch: bytearray) -> OpenedBatch:
    header = parse_header(batch)
    return OpenedBatch(header, open_records(batch, 0, header, DEFAULT_MAX_BYTES))


def expected(batch: bytearray) -> list[Record]:
    return [
        Record(
            record.offset,
            record.timestamp,
            None if record.key is None else bytes(record.key),
            None if record.value is None else bytes(record.value),
            tuple(
                Header(key, None if value is None else bytes(value))
                for key, value in record.headers
            ),
        )
        for record in iter_records(batch)
    ]


def piece(data: bytes, spans: Spans, number: int) -> bytes | None:
    if spans.is_null[number]:
        return None
    return data[spans.starts[number] : spans.ends[number]]


def records_of(columns: RecordColumns) -> list[Record]:
    headers = columns.headers
    values = Spans(headers.value_starts, headers.value_ends, headers.value_is_null)
    return [
        Record(
            int(columns.offsets[number]),
            int(columns.timestamps_ms[number]),
            piece(columns.data, columns.keys, number),
            piece(columns.data, columns.values, number),
            tuple(
                Header(
                    columns.data[headers.key_starts[at] : headers.key_ends[at]],
                    piece(columns.data, values, at),
                )
                for at in range(headers.firsts[number], headers.firsts[number + 1])
            ),
        )
        for number in range(len(columns))
    ]


@given(st.lists(batches(), min_size=1, max_size=4))
def test_records_of_several_batches_are_those_read_one_by_one(some: list[bytearray]) -> None:
    columns = decode_records([opened(batch) for batch in some])

    assert records_of(columns) == [record for batch in some for record in expected(batch)]
    assert columns.is_append_time.tolist() == [
        parse_header(batch).is_log_append_time for batch in some for _ in expected(batch)
    ]


@given(batches(), st.data())
def test_what_one_reader_refuses_the_other_refuses(batch: bytearray, data: st.DataObject) -> None:
    header = parse_header(batch)
    records = bytearray(open_records(batch, 0, header, DEFAULT_MAX_BYTES))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(records) - 1))
        records[at] = data.draw(st.integers(0, 255))
    plain = header._replace(
        batch_length=49 + len(records), attributes=header.attributes & ~COMPRESSION_MASK
    )

    assert outcome_together(records, plain) == outcome_singly(bytearray(61) + records, plain)


def outcome_together(records: bytearray, header: BatchHeader) -> object:
    try:
        return records_of(decode_records([OpenedBatch(header, memoryview(records))]))
    except (CorruptBatch, IndexError):
        return "refused"


def outcome_singly(batch: bytearray, header: BatchHeader) -> object:
    try:
        found = list(iter_records(batch, header=header))
    except CorruptBatch:
        return "refused"
    return [
        record._replace(
            key=None if record.key is None else bytes(record.key),
            value=None if record.value is None else bytes(record.value),
            headers=tuple(
                Header(key, None if value is None else bytes(value))
                for key, value in record.headers
            ),
        )
        for record in found
    ]


@pytest.mark.parametrize("size", [0, 10, 100, 20_000])
def test_long_runs_of_records_of_equal_length_are_found(size: int) -> None:
    # Offset deltas take a byte more from 64 and again from 8192 on, and so do the records.
    batch = build_batch([(b"key", bytes(size))] * 9_000 if size < 1_000 else [(b"", bytes(size))])

    columns = decode_records([opened(batch)])

    assert columns.offsets.tolist() == list(range(len(columns)))
    assert len(columns) == parse_header(batch).record_count
    assert set((columns.values.ends - columns.values.starts).tolist()) == {size}


def test_records_of_changing_length_are_found() -> None:
    batch = build_batch([(None, bytes(number * 7 % 300)) for number in range(2_000)])

    columns = decode_records([opened(batch)])

    lengths = columns.values.ends - columns.values.starts
    assert lengths.tolist() == [number * 7 % 300 for number in range(2_000)]


@pytest.mark.parametrize("count", [1, 3])
def test_a_count_that_is_not_that_of_the_records_is_refused(count: int) -> None:
    records = bytes(opened(build_batch([(b"k", b"v")] * 2)).records)

    with pytest.raises(CorruptBatch):
        record_positions(records, 0, len(records), count)


def test_batches_without_records_may_stand_between_others() -> None:
    full = opened(build_batch([(b"k", b"v")], base_offset=5))
    empty = OpenedBatch(full.header._replace(record_count=0), memoryview(b""))

    columns = decode_records([empty, full, empty, full, empty])

    assert columns.offsets.tolist() == [5, 5]
    assert len(decode_records([empty])) == 0


def raw_record(*parts: int | bytes, length: int | None = None) -> bytes:
    """Numbers as varints, bytes as they are, behind a length that need not be the true one."""
    body = b"\x00" + b"".join(
        part if isinstance(part, bytes) else varint_bytes(part) for part in parts
    )
    return varint_bytes(len(body) if length is None else length) + body


def decoded(*records: bytes, last_offset_delta: int = 10) -> RecordColumns:
    header = parse_header(build_batch([(b"k", b"v")]))._replace(
        record_count=len(records), last_offset_delta=last_offset_delta
    )
    return decode_records([OpenedBatch(header, memoryview(b"".join(records)))])


# Timestamp delta, offset delta, key length, key, value length, value, header count.
SOUND = raw_record(0, 0, 1, b"k", 1, b"v", 0)


def test_a_record_made_by_hand_is_read() -> None:
    assert records_of(decoded(SOUND)) == [Record(0, -1, b"k", b"v", ())]


@pytest.mark.parametrize(
    "records",
    [
        pytest.param([SOUND, SOUND], id="an offset that does not rise"),
        pytest.param([raw_record(0, -1, -1, -1, 0)], id="an offset before the first"),
        pytest.param([raw_record(0, 11, -1, -1, 0)], id="an offset after the last"),
        pytest.param([raw_record(0, 0, -1, -1, 0, b"x")], id="bytes after the headers"),
        pytest.param([raw_record(0, 0, -1, 9, b"v", 0), SOUND], id="a value into the next record"),
        pytest.param([raw_record(0, 0, -1, -1, -1)], id="less than no headers"),
        pytest.param([raw_record(0, 0, -1, -1, 9, b"\x00" * 8)], id="more headers than bytes"),
        pytest.param([raw_record(0, 0, -1, -1, 1, -1, -1)], id="a header without a key"),
        pytest.param([raw_record(0, 0, -1, -1, 0, length=-5)], id="a negative length"),
    ],
)
def test_a_record_that_is_not_sound_is_refused(records: list[bytes]) -> None:
    with pytest.raises((CorruptBatch, IndexError)):
        decoded(*records)


def test_a_negative_length_among_others_is_refused() -> None:
    many = [raw_record(0, number, -1, -1, 0) for number in range(100)]
    odd = raw_record(0, 50, -1, 30, b"v" * 30, 0)
    # The sign is the lowest bit: the same size to whoever overlooks it.
    many[50] = bytes([odd[0] | 1]) + odd[1:]

    with pytest.raises(CorruptBatch):
        decoded(*many, last_offset_delta=100)
