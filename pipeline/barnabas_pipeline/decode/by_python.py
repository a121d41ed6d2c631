"""Values decoded by a Python function, on Arrow batches in the executors.

The function gives a dict per value, or raises `Undecodable`; batches go in and out as Arrow, so the
JVM is crossed once for thousands of rows.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as fn
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

from barnabas_pipeline import columns
from barnabas_pipeline.decode.undecodable import Undecodable

# What Arrow raises for a value that a column cannot hold; its own are kinds of the last two.
_MISFITS: Final = (OverflowError, ValueError, TypeError)


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
            yield decode_batch(batch, decode_value, arrow_schema)

    missing = [name for name in columns.OF_SOURCE if name not in rows.columns]
    assert not missing, missing
    return rows.select(*(fn.col(name) for name in columns.OF_SOURCE)).mapInArrow(
        decode_batches, outcome
    )


def decode_batch(
    batch: pa.RecordBatch, decode_value: Callable[[bytes], dict[str, Any]], schema: pa.Schema
) -> pa.RecordBatch:
    decoded: list[dict[str, Any]] = []
    reasons: list[str | None] = []
    for value in batch.column(columns.VALUE).to_pylist():
        row, reason = _decode_one(value, decode_value)
        decoded.append(row)
        reasons.append(reason)
    arrays = [_column([row.get(field.name) for row in decoded], field, reasons) for field in schema]
    kept = [batch.column(name) for name in columns.OF_SOURCE]
    return pa.RecordBatch.from_arrays(
        [*arrays, *kept, pa.array(reasons, type=pa.string())],
        names=[*schema.names, *columns.OF_SOURCE, columns.BAD_REASON],
    )


def _column(values: list[Any], field: pa.Field, reasons: list[str | None]) -> pa.Array:
    try:
        return pa.array(values, type=field.type)
    except _MISFITS:
        # A decimal with too many digits, say: one bad record must not stop the others.
        return pa.array(_fitting(values, field, reasons), type=field.type)


def _fitting(values: list[Any], field: pa.Field, reasons: list[str | None]) -> list[Any]:
    kept = []
    for place, value in enumerate(values):
        try:
            pa.array([value], type=field.type)
        except _MISFITS as error:
            reasons[place] = f"field {field.name} does not fit into {field.type}: {error}"
            value = None
        kept.append(value)
    return kept


def _decode_one(
    value: bytes | None, decode_value: Callable[[bytes], dict[str, Any]]
) -> tuple[dict[str, Any], str | None]:
    if value is None:
        return {}, None
    try:
        return decode_value(value), None
    except Undecodable as error:
        return {}, str(error)
