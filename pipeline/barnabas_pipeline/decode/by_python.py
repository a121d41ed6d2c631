"""Values decoded by a Python function, on Arrow batches in the executors.

The function gives a dict per value, or raises `Undecodable`; batches go in and out as Arrow, so the
JVM is crossed once for thousands of rows.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as fn
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

from barnabas_pipeline import columns


class Undecodable(Exception):
    """A value that is not what it should be; the message goes into `bad_reason`."""


class ValueDecoder(Protocol):
    """Pickled to the executors; `open` is called there, once per task."""

    def open(self) -> Callable[[bytes], dict[str, Any]]: ...


def decode_by_python(rows: DataFrame, decode: ValueDecoder, schema: StructType) -> DataFrame:
    nullable = StructType([StructField(field.name, field.dataType) for field in schema.fields])
    outcome = StructType(
        [
            *nullable.fields,
            *(rows.schema[name] for name in columns.OF_SOURCE),
            StructField(columns.BAD_REASON, StringType()),
        ]
    )
    arrow_schema = to_arrow_schema(nullable, timezone="UTC")

    def decode_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        decode_value = decode.open()
        for batch in batches:
            yield _decode_batch(batch, decode_value, arrow_schema)

    missing = [name for name in columns.OF_SOURCE if name not in rows.columns]
    assert not missing, missing
    return rows.select(*(fn.col(name) for name in columns.OF_SOURCE)).mapInArrow(
        decode_batches, outcome
    )


def _decode_batch(
    batch: pa.RecordBatch, decode_value: Callable[[bytes], dict[str, Any]], schema: pa.Schema
) -> pa.RecordBatch:
    decoded: list[dict[str, Any]] = []
    reasons: list[str | None] = []
    for value in batch.column(columns.VALUE).to_pylist():
        row, reason = _decode_one(value, decode_value)
        decoded.append(row)
        reasons.append(reason)
    arrays = [
        pa.array([row.get(field.name) for row in decoded], type=field.type) for field in schema
    ]
    kept = [batch.column(name) for name in columns.OF_SOURCE]
    return pa.RecordBatch.from_arrays(
        [*arrays, *kept, pa.array(reasons, type=pa.string())],
        names=[*schema.names, *columns.OF_SOURCE, columns.BAD_REASON],
    )


def _decode_one(
    value: bytes | None, decode_value: Callable[[bytes], dict[str, Any]]
) -> tuple[dict[str, Any], str | None]:
    if value is None:
        return {}, None
    try:
        return decode_value(value), None
    except Undecodable as error:
        return {}, str(error)
