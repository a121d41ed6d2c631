"""The records of many batches, decoded together into columns: no object per record.

Only one thing about records cannot be done all at once: where each begins, since that depends on
the length of the one before. `record_positions` walks from length to length; everything else is
a step of numpy over all records of all batches in hand, in the order in which
`barnabas_core.records.record` describes them, and with the checks made there: a record's parts fill
it exactly, and offsets rise. What fails a check raises `CorruptBatch` or IndexError, and nobody
looks for the batch that is to blame: the caller decodes them one by one to find it.

Keys, values and headers are given as (start, end) in the buffer; `arrow_columns` makes columns of
them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from barnabas_core.records.batch import BatchHeader
from barnabas_core.records.record import cut_short, left_over, out_of_order, unfilled
from barnabas_core.wire.error import BadVarint
from barnabas_core.wire.primitive import read_varint
from barnabas_pipeline.segments.record_headers import HeaderSpans, read_header_spans
from barnabas_pipeline.segments.varint import Bytes, Positions, read_varints, read_varlongs

# Below this many equal lengths in a row, looking for them costs more than it saves.
_RUN_MIN = 32


class OpenedBatch(NamedTuple):
    """A batch whose records are decompressed."""

    header: BatchHeader
    records: memoryview


class Spans(NamedTuple):
    """Pieces of the buffer; null where `is_null`."""

    starts: Positions
    ends: Positions
    is_null: NDArray[np.bool_]


class RecordColumns(NamedTuple):
    """Of all records: one entry per record in each array."""

    data: bytes
    offsets: Positions
    timestamps_ms: Positions
    is_append_time: NDArray[np.bool_]
    keys: Spans
    values: Spans
    headers: HeaderSpans

    def __len__(self) -> int:
        return len(self.offsets)


def decode_records(batches: Sequence[OpenedBatch]) -> RecordColumns:
    """All records of `batches`; CorruptBatch or IndexError if any is not sound."""
    data = b"".join([batch.records for batch in batches])
    positions = _all_positions(data, batches)
    counts = np.array([batch.header.record_count for batch in batches], np.int64)
    view = np.frombuffer(data, np.uint8)

    lengths, bodies = read_varints(view, positions)
    ends = bodies + lengths
    timestamp_deltas, at = read_varlongs(view, bodies + 1)
    offset_deltas, at = read_varints(view, at)
    keys = _read_spans(view, at)
    values = _read_spans(view, keys.ends)
    headers, at = read_header_spans(view, values.ends, ends)
    if not np.array_equal(at, ends):
        raise unfilled()
    _check_order(offset_deltas, batches, counts)
    return RecordColumns(
        data,
        _per_record([batch.header.base_offset for batch in batches], counts) + offset_deltas,
        _timestamps(batches, counts, timestamp_deltas),
        np.repeat([batch.header.is_log_append_time for batch in batches], counts).astype(np.bool_),
        keys,
        values,
        headers,
    )


def _per_record(numbers: list[int], counts: Positions) -> Positions:
    return np.repeat(np.array(numbers, np.int64), counts)


def _timestamps(batches: Sequence[OpenedBatch], counts: Positions, deltas: Positions) -> Positions:
    # Sums wrap as Java's `long` does, so that any timestamp goes with any base.
    timestamps = _per_record([batch.header.base_timestamp for batch in batches], counts) + deltas
    append_time = [batch.header.is_log_append_time for batch in batches]
    if not any(append_time):
        return timestamps
    newest = _per_record([batch.header.max_timestamp for batch in batches], counts)
    return np.where(np.repeat(append_time, counts), newest, timestamps)


def _read_spans(view: Bytes, positions: Positions) -> Spans:
    lengths, starts = read_varints(view, positions)
    is_null = lengths < 0
    return Spans(starts, starts + np.where(is_null, 0, lengths), is_null)


def _check_order(deltas: Positions, batches: Sequence[OpenedBatch], counts: Positions) -> None:
    if not len(deltas):
        return
    firsts = (np.cumsum(counts) - counts)[counts > 0]
    rises = np.empty(len(deltas), np.bool_)
    rises[1:] = deltas[1:] > deltas[:-1]
    rises[firsts] = deltas[firsts] >= 0
    most = _per_record([batch.header.last_offset_delta for batch in batches], counts)
    wrong = np.flatnonzero(~rises | (deltas > most))
    if wrong.size:
        raise out_of_order(int(deltas[wrong[0]]))


# Where records begin


def _all_positions(data: bytes, batches: Sequence[OpenedBatch]) -> Positions:
    parts: list[Positions] = [np.empty(0, np.int64)]
    start = 0
    for batch in batches:
        end = start + len(batch.records)
        parts.append(record_positions(data, start, end, batch.header.record_count))
        start = end
    return np.concatenate(parts)


def record_positions(data: bytes, start: int, end: int, count: int) -> Positions:
    """Where the `count` records between `start` and `end` begin."""
    positions: list[Positions] = []
    position = start
    while count:
        run, position = _equal_run(data, position, end, count)
        positions.append(run)
        count -= len(run)
        if count and len(run) < _RUN_MIN:
            some, position = _walk(data, position, end, min(count, 8 * _RUN_MIN))
            positions.append(some)
            count -= len(some)
    if position != end:
        raise left_over()
    return np.concatenate(positions) if positions else np.empty(0, np.int64)


def _equal_run(data: bytes, position: int, end: int, count: int) -> tuple[Positions, int]:
    """As many records as have the length of the first one, and where the next one begins.

    If the bytes of the length are the same at every multiple of the size, then, by induction, a
    record begins at each.
    """
    body, size = _record_size(data, position, end)
    count = min(count, (end - position) // size)
    view = np.frombuffer(data, np.uint8, count * size, position).reshape(count, size)
    differs = (view[:, : body - position] != view[0, : body - position]).any(axis=1)
    first = int(differs.argmax())
    equal = first if differs[first] else count
    return np.arange(equal, dtype=np.int64) * size + position, position + equal * size


def _record_size(data: bytes, position: int, end: int) -> tuple[int, int]:
    """(Where the body begins, bytes from `position` to the record's end)."""
    try:
        length, body = read_varint(data, position)
    except (BadVarint, IndexError) as error:
        raise cut_short() from error
    if length < 0 or body + length > end:
        raise cut_short()
    return body, body + length - position


def _walk(data: bytes, position: int, end: int, count: int) -> tuple[Positions, int]:
    """Where the next `count` records begin, each found from the one before."""
    positions: list[int] = []
    append = positions.append
    for _ in range(count):
        append(position)
        # A negative length is taken for a positive one here; no parts will fill it.
        if position + 1 >= end:
            raise cut_short()
        if (byte := data[position]) < 0x80:
            position += 1 + (byte >> 1)
        elif (high := data[position + 1]) < 0x80:
            position += 2 + ((byte & 0x7F | high << 7) >> 1)
        else:
            position += _record_size(data, position, end)[1]
    return np.array(positions, np.int64), position
