"""Columns of records as Arrow arrays, in the shape that Spark's own Kafka source gives.

Keys and values lie between other bytes in the buffer. Cut at the start and the end of each, the
buffer is one binary array of Arrow, without a copy, of which every fourth piece is a key and every
fourth a value; `take` then copies those that are wanted, in C.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from barnabas_pipeline.segments.record_columns import RecordColumns, Spans
from barnabas_pipeline.segments.varint import Positions

_MICROSECONDS: Final = 1000
_MILLISECONDS_MAX: Final = (2**63 - 1) // _MICROSECONDS
_HEADER: Final = pa.struct([("key", pa.string()), ("value", pa.binary())])

# In the order of Spark's Kafka source, `headers` last because they are there only if asked for.
RECORD_SCHEMA: Final = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("timestampType", pa.int32()),
        ("headers", pa.list_(_HEADER)),
    ]
)


class Origin(NamedTuple):
    """Where records come from: the same for all of a segment."""

    topic: str
    partition: int


def record_batch(
    records: RecordColumns, origin: Origin, columns: Sequence[str], chosen: Positions | None = None
) -> pa.RecordBatch:
    """The named columns of all records, or of those whose numbers are in `chosen`."""
    if chosen is None:
        chosen = np.arange(len(records), dtype=np.int64)
    arrays = [_COLUMNS[name](records, origin, chosen) for name in columns]
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(columns))


def arrow_schema(columns: Sequence[str]) -> pa.Schema:
    return pa.schema([RECORD_SCHEMA.field(name) for name in columns])


def timestamp_array(timestamps_ms: Positions) -> pa.Array:
    """Spark counts microseconds: a time that it cannot hold becomes the furthest that it can."""
    kept = np.clip(timestamps_ms, -_MILLISECONDS_MAX, _MILLISECONDS_MAX)
    return _numbers(kept * _MICROSECONDS, pa.timestamp("us", "UTC"))


def microseconds(timestamp_ms: int) -> int:
    """One of them, the same way."""
    kept_ms = min(max(timestamp_ms, -_MILLISECONDS_MAX), _MILLISECONDS_MAX)
    return kept_ms * _MICROSECONDS


def _numbers(numbers: NDArray[np.generic], kind: pa.DataType) -> pa.Array:
    buffer = pa.py_buffer(np.ascontiguousarray(numbers))
    return pa.Array.from_buffers(kind, len(numbers), [None, buffer])


def _keys(records: RecordColumns, origin: Origin, chosen: Positions) -> pa.Array:
    return _binary(records, 0, records.keys, chosen)


def _values(records: RecordColumns, origin: Origin, chosen: Positions) -> pa.Array:
    return _binary(records, 2, records.values, chosen)


def _binary(records: RecordColumns, nth: int, spans: Spans, chosen: Positions) -> pa.Array:
    keys, values = records.keys, records.values
    pieces = _cut(records.data, keys.starts, keys.ends, values.starts, values.ends)
    return _take(pieces, chosen * 4 + nth, spans.is_null[chosen])


def _cut(data: bytes, *bounds: Positions) -> pa.Array:
    """The buffer in pieces: up to four per record, of which the last reaches to the next record."""
    count = len(bounds[0])
    cuts = np.empty(4 * count + 1, np.int32)
    for number, bound in enumerate(bounds):
        cuts[number:-1:4] = bound
    cuts[-1] = len(data)
    buffers = [None, pa.py_buffer(cuts), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), 4 * count, buffers)


def _take(pieces: pa.Array, places: Positions, is_null: NDArray[np.bool_]) -> pa.Array:
    mask = is_null if is_null.any() else None
    return pieces.take(pa.array(places, pa.int64(), mask=mask))


def _topics(records: RecordColumns, origin: Origin, chosen: Positions) -> pa.Array:
    return pa.repeat(pa.scalar(origin.topic, pa.string()), len(chosen))


def _partitions(records: RecordColumns, origin: Origin, chosen: Positions) -> pa.Array:
    return pa.repeat(pa.scalar(origin.partition, pa.int32()), len(chosen))


def _offsets(records: RecordColumns, origin: Origin, chosen: Positions) -> pa.Array:
    return _numbers(records.offsets[chosen], pa.int64())


def _timestamps(records: RecordColumns, origin: Origin, chosen: Positions) -> pa.Array:
    return timestamp_array(records.timestamps_ms[chosen])


def _timestamp_types(records: RecordColumns, origin: Origin, chosen: Positions) -> pa.Array:
    return _numbers(records.is_append_time[chosen].astype(np.int32), pa.int32())


def _headers(records: RecordColumns, origin: Origin, chosen: Positions) -> pa.Array:
    """Null for a record without headers, as the Kafka source has it."""
    spans = records.headers
    pieces = _cut(
        records.data, spans.key_starts, spans.key_ends, spans.value_starts, spans.value_ends
    )
    every = np.arange(len(spans.key_starts), dtype=np.int64) * 4
    keys = _text(_take(pieces, every, np.zeros(len(every), np.bool_)))
    values = _take(pieces, every + 2, spans.value_is_null)
    pairs = pa.StructArray.from_arrays([keys, values], fields=list(_HEADER))
    counts = np.diff(spans.firsts)
    has_none = pa.py_buffer(np.packbits(counts > 0, bitorder="little"))
    cuts = pa.py_buffer(spans.firsts.astype(np.int32))
    kind = RECORD_SCHEMA.field("headers").type
    lists = pa.Array.from_buffers(kind, len(records), [has_none, cuts], children=[pairs])
    return lists if len(chosen) == len(records) else lists.take(pa.array(chosen))


def _text(keys: pa.Array) -> pa.Array:
    """A header's key should be UTF-8, but nobody has checked that: Java reads what is not as �."""
    try:
        return keys.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([key.decode(errors="replace") for key in keys.to_pylist()], pa.string())


_COLUMNS: Final[dict[str, Callable[[RecordColumns, Origin, Positions], pa.Array]]] = {
    "key": _keys,
    "value": _values,
    "topic": _topics,
    "partition": _partitions,
    "offset": _offsets,
    "timestamp": _timestamps,
    "timestampType": _timestamp_types,
    "headers": _headers,
}
