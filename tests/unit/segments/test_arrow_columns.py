"""Columns as Arrow has them."""

import numpy as np
import pyarrow as pa

from barnabas_core.records.batch import parse_header
from barnabas_core.records.builder import build_batch
from barnabas_core.records.compression import DEFAULT_MAX_BYTES
from barnabas_core.records.record import Header, Record, open_records
from barnabas_pipeline.segments.arrow_columns import RECORD_SCHEMA, Origin, record_batch
from barnabas_pipeline.segments.record_columns import OpenedBatch, RecordColumns, decode_records

ORIGIN = Origin("orders", 3)


def columns(*records: Record, append_time_ms: int | None = None) -> RecordColumns:
    batch = build_batch(records, base_offset=records[0].offset, append_time_ms=append_time_ms)
    header = parse_header(batch)
    return decode_records([OpenedBatch(header, open_records(batch, 0, header, DEFAULT_MAX_BYTES))])


def whole(records: RecordColumns) -> pa.RecordBatch:
    return record_batch(records, ORIGIN, RECORD_SCHEMA.names)


def test_null_and_empty_are_told_apart() -> None:
    batch = whole(
        columns(
            Record(0, 1, None, b""),
            Record(1, 1, b"", None),
            Record(2, 1, b"k", b"v", (Header(b"empty", b""), Header(b"null", None))),
        )
    )

    assert batch.column("key").to_pylist() == [None, b"", b"k"]
    assert batch.column("value").to_pylist() == [b"", None, b"v"]
    assert batch.column("headers").to_pylist() == [
        None,
        None,
        [{"key": "empty", "value": b""}, {"key": "null", "value": None}],
    ]
    batch.validate(full=True)


def test_origin_offsets_and_times_are_in_every_row() -> None:
    batch = whole(columns(Record(7, 1_500, b"k", b"v"), Record(9, -1, b"k", b"v")))

    assert batch.column("topic").to_pylist() == ["orders", "orders"]
    assert batch.column("partition").to_pylist() == [3, 3]
    assert batch.column("offset").to_pylist() == [7, 9]
    assert batch.column("timestamp").cast(pa.int64()).to_pylist() == [1_500_000, -1_000]
    assert batch.column("timestampType").to_pylist() == [0, 0]


def test_the_log_s_time_counts_for_every_record() -> None:
    batch = whole(columns(Record(0, 5, b"", b""), Record(1, 6, b"", b""), append_time_ms=9))

    assert batch.column("timestamp").cast(pa.int64()).to_pylist() == [9_000, 9_000]
    assert batch.column("timestampType").to_pylist() == [1, 1]


def test_a_time_beyond_spark_s_becomes_the_furthest_that_it_has() -> None:
    batch = whole(columns(Record(0, 2**63 - 1, b"", b""), Record(1, -(2**63), b"", b"")))

    furthest = (2**63 - 1) // 1000 * 1000
    assert batch.column("timestamp").cast(pa.int64()).to_pylist() == [furthest, -furthest]


def test_chosen_records_are_taken_with_all_that_is_theirs() -> None:
    records = columns(
        *(
            Record(number, number, b"k%d" % number, None, (Header(b"n", b"%d" % number),) * number)
            for number in range(6)
        )
    )

    batch = record_batch(records, ORIGIN, RECORD_SCHEMA.names, np.array([1, 4]))

    assert batch.column("offset").to_pylist() == [1, 4]
    assert batch.column("key").to_pylist() == [b"k1", b"k4"]
    assert [len(it) for it in batch.column("headers").to_pylist()] == [1, 4]


def test_a_header_s_name_that_is_no_text_is_read_as_java_does() -> None:
    batch = whole(columns(Record(0, 1, b"k", b"v", (Header(b"\xff!", b"1"), Header(b"ok", b"2")))))

    [headers] = batch.column("headers").to_pylist()
    assert [header["key"] for header in headers] == ["�!", "ok"]


def test_only_the_named_columns_are_made() -> None:
    batch = record_batch(columns(Record(0, 1, b"k", b"v")), ORIGIN, ["offset", "key"])

    assert batch.schema.names == ["offset", "key"]
