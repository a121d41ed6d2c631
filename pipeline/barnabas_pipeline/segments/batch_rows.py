"""One row per record batch, damaged ones included: what a segment says of itself.

For those who look after a log rather than use what is in it: markers and aborted transactions are
shown and named as such, and where nothing can be believed there is a row with the reason in
`fault`, its place in the file, and the offset up to which everything was found before it.
"""

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa

from barnabas_core.records.batch import CorruptBatch
from barnabas_pipeline.segments.arrow_columns import microseconds
from barnabas_pipeline.segments.record_columns import decode_records
from barnabas_pipeline.segments.segment_reader import OpenSegment, open_batch
from barnabas_pipeline.segments.stability import AbortedLookup
from barnabas_pipeline.segments.walk import DamagedStretch, SoundBatch, walk

BATCH_SCHEMA: Final = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("segment", pa.int64()),
        ("cleanedUpTo", pa.int64()),
        ("position", pa.int64()),
        ("sizeBytes", pa.int64()),
        ("baseOffset", pa.int64()),
        ("lastOffset", pa.int64()),
        ("recordCount", pa.int32()),
        ("maxTimestamp", pa.timestamp("us", "UTC")),
        ("compression", pa.string()),
        ("leaderEpoch", pa.int32()),
        ("producerId", pa.int64()),
        ("producerEpoch", pa.int32()),
        ("baseSequence", pa.int32()),
        ("isTransactional", pa.bool_()),
        ("isControl", pa.bool_()),
        ("isAborted", pa.bool_()),
        ("fault", pa.string()),
    ]
)
_ROWS: Final = 8 * 1024

Row = tuple[Any, ...]


def read_batches(opened: OpenSegment, *, checks_records: bool = False) -> Iterator[pa.RecordBatch]:
    """`checks_records`: open each batch and see that its records are sound, too."""
    rows: list[Row] = []
    for row in _rows(opened, checks_records=checks_records):
        rows.append(row)
        if len(rows) == _ROWS:
            yield _table(rows)
            rows = []
    if rows:
        yield _table(rows)


def _table(rows: list[Row]) -> pa.RecordBatch:
    columns = [list(column) for column in zip(*rows, strict=True)]
    arrays = [
        pa.array(column, kind) for column, kind in zip(columns, BATCH_SCHEMA.types, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=BATCH_SCHEMA)


def _rows(opened: OpenSegment, *, checks_records: bool) -> Iterator[Row]:
    planned = opened.planned
    aborted = AbortedLookup(planned.aborted)
    place = planned.topic, planned.partition, planned.segment.base_offset, planned.cleaned_up_to
    for found in walk(opened.log, opened.offset_index, opened.bounds):
        if isinstance(found, DamagedStretch):
            yield (*place, *_damaged(found))
        elif found.header.last_offset >= planned.start_offset:
            fault = _fault_inside(opened, found) if checks_records else None
            yield (*place, *_sound(found, fault, is_aborted=found.header in aborted))


def _damaged(found: DamagedStretch) -> Row:
    size_bytes = found.end_position - found.position
    nothing = (None, 0, None, None, None, None, None, None, False, False, False)
    return (found.position, size_bytes, found.offset_after, *nothing, found.reason)


def _sound(found: SoundBatch, fault: str | None, *, is_aborted: bool) -> Row:
    header = found.header
    return (
        found.position,
        header.size_bytes,
        header.base_offset,
        header.last_offset,
        header.record_count,
        microseconds(header.max_timestamp),
        header.compression.name.lower(),
        header.partition_leader_epoch,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        header.is_transactional,
        header.is_control,
        is_aborted,
        fault,
    )


def _fault_inside(opened: OpenSegment, found: SoundBatch) -> str | None:
    try:
        decode_records([open_batch(opened.log, found)])
    except CorruptBatch as error:
        return str(error)
    except IndexError:
        return "bad record: records end within a record"
    return None
