"""One segment's slice, read: Arrow batches of its records, or of its batches.

The offset and time indexes say where to begin; batches outside the slice, of markers, of aborted
transactions or wholly older than the wanted time are passed over unopened. The others are opened
and decoded some megabytes at a time.
"""

import mmap
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
import pyarrow as pa

from barnabas_core.log.index.offset_index import is_sound as is_sound_offset_index
from barnabas_core.log.index.offset_index import lookup_position
from barnabas_core.log.index.time_index import is_sound as is_sound_time_index
from barnabas_core.log.index.time_index import lookup_offset
from barnabas_core.log.segments.file_name import LOG, OFFSET_INDEX, TIME_INDEX, file_name
from barnabas_core.ports.disk import Buffer
from barnabas_core.records.batch import CorruptBatch
from barnabas_core.records.compression import DEFAULT_MAX_BYTES
from barnabas_core.records.record import open_records
from barnabas_pipeline.pipeline_error import PipelineError
from barnabas_pipeline.segments.arrow_columns import Origin, record_batch
from barnabas_pipeline.segments.plan import SegmentSlice
from barnabas_pipeline.segments.record_columns import OpenedBatch, RecordColumns, decode_records
from barnabas_pipeline.segments.stability import AbortedLookup
from barnabas_pipeline.segments.varint import Positions
from barnabas_pipeline.segments.walk import Bounds, DamagedStretch, SoundBatch, is_batch_at, walk

# Large enough that a step of numpy pays, small enough for the caches.
CHUNK_BYTES: Final = 4 * 1024 * 1024
CHUNK_RECORDS: Final = 64 * 1024


class OnCorrupt(StrEnum):
    FAIL = "fail"
    SKIP = "skip"


class SegmentChanged(PipelineError):
    """The file is not the one that was planned to be read: retention or compaction replaced it."""


class CorruptSegment(PipelineError):
    """Something in a segment cannot be believed, and nobody said to go on without it."""


@dataclass(frozen=True, slots=True)
class OpenSegment:
    """The bytes of a slice's files."""

    planned: SegmentSlice
    log: memoryview
    offset_index: bytes
    time_index: bytes

    @property
    def bounds(self) -> Bounds:
        segment = self.planned.segment
        end = self.planned.end_offset
        return Bounds(segment.base_offset, segment.next_base_offset, end, self._first_position())

    def _first_position(self) -> int:
        base_offset = self.planned.segment.base_offset
        first = self.planned.start_offset
        if self.planned.min_timestamp_ms is not None and self.time_index:
            oldest = lookup_offset(self.time_index, base_offset, self.planned.min_timestamp_ms)
            first = max(first, oldest)
        position = lookup_position(self.offset_index, base_offset, first)
        return position if is_batch_at(self.log, position) else 0


def open_segment(planned: SegmentSlice) -> OpenSegment:
    log = _map(planned)
    segment = planned.segment
    if not segment.is_closed:
        return OpenSegment(planned, log, b"", b"")
    offset_index = _read(planned, OFFSET_INDEX)
    time_index = _read(planned, TIME_INDEX)
    # Without a sound index the segment is read from its beginning.
    return OpenSegment(
        planned,
        log,
        offset_index if is_sound_offset_index(offset_index, len(log)) else b"",
        time_index if is_sound_time_index(time_index) else b"",
    )


def _path(planned: SegmentSlice, suffix: str) -> str:
    return f"{planned.path}/{file_name(planned.segment.base_offset, suffix)}"


def _map(planned: SegmentSlice) -> memoryview:
    path = _path(planned, LOG)
    try:
        with open(path, "rb") as file:
            found = os.fstat(file.fileno())
            if found.st_ino != planned.file_number:
                raise SegmentChanged(f"{path} was replaced since the query was planned: run again")
            if not found.st_size:
                return memoryview(b"")
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except FileNotFoundError as error:
        raise SegmentChanged(
            f"{path} was deleted since the query was planned: run again"
        ) from error


def _read(planned: SegmentSlice, suffix: str) -> bytes:
    try:
        with open(_path(planned, suffix), "rb") as file:
            return file.read()
    except FileNotFoundError:
        return b""


def read_records(
    opened: OpenSegment, columns: Sequence[str], on_corrupt: OnCorrupt = OnCorrupt.FAIL
) -> Iterator[pa.RecordBatch]:
    """The slice's records, some thousands at a time."""
    planned = opened.planned
    origin = Origin(planned.topic, planned.partition)
    reader = _Reader(opened, on_corrupt)
    for chunk in _chunks(reader.opened_batches()):
        for records in reader.decode(chunk):
            chosen = _chosen(records, planned)
            if chosen is None or chosen.size:
                yield record_batch(records, origin, columns, chosen)


def _chosen(records: RecordColumns, planned: SegmentSlice) -> Positions | None:
    """The numbers of the records in the slice; None for all of them."""
    offsets = records.offsets
    inside = (offsets >= planned.start_offset) & (offsets < planned.end_offset)
    return None if inside.all() else np.flatnonzero(inside)


class _Reader:
    def __init__(self, opened: OpenSegment, on_corrupt: OnCorrupt) -> None:
        self._opened = opened
        self._aborted = AbortedLookup(opened.planned.aborted)
        self._skips = on_corrupt is OnCorrupt.SKIP

    def opened_batches(self) -> Iterator[OpenedBatch]:
        opened = self._opened
        for found in walk(opened.log, opened.offset_index, opened.bounds):
            if isinstance(found, DamagedStretch):
                self._refuse(found.position, found.reason)
            elif self._is_wanted(found):
                try:
                    yield open_batch(opened.log, found)
                except CorruptBatch as error:
                    self._refuse(found.position, str(error))

    def _is_wanted(self, found: SoundBatch) -> bool:
        header, planned = found.header, self._opened.planned
        if header.is_control or not header.record_count:
            return False
        if header.last_offset < planned.start_offset:
            return False
        if planned.min_timestamp_ms is not None and header.max_timestamp < planned.min_timestamp_ms:
            return False
        return not (planned.is_committed and header in self._aborted)

    def decode(self, chunk: list[OpenedBatch]) -> Iterator[RecordColumns]:
        try:
            yield decode_records(chunk)
        except (CorruptBatch, IndexError):
            # All together are faster; one by one tells which of them is to blame.
            yield from self._decode_singly(chunk)

    def _decode_singly(self, chunk: list[OpenedBatch]) -> Iterator[RecordColumns]:
        for batch in chunk:
            try:
                yield decode_records([batch])
            except (CorruptBatch, IndexError) as error:
                self._refuse_records(batch, error)

    def _refuse_records(self, batch: OpenedBatch, error: Exception) -> None:
        self._refuse(None, f"batch at offset {batch.header.base_offset}: {error}")

    def _refuse(self, position: int | None, reason: str) -> None:
        if self._skips:
            return
        where = "" if position is None else f" at byte {position}"
        raise CorruptSegment(
            f"{_path(self._opened.planned, LOG)}{where}: {reason}; the option onCorrupt=skip reads "
            "what is sound, and `barnabas pipeline audit` lists what is not"
        )


def open_batch(log: Buffer, found: SoundBatch) -> OpenedBatch:
    records = open_records(log, found.position, found.header, DEFAULT_MAX_BYTES)
    return OpenedBatch(found.header, records)


def _chunks(batches: Iterable[OpenedBatch]) -> Iterator[list[OpenedBatch]]:
    chunk: list[OpenedBatch] = []
    size = count = 0
    for batch in batches:
        if chunk and (size + len(batch.records) > CHUNK_BYTES or count > CHUNK_RECORDS):
            yield chunk
            chunk, size, count = [], 0, 0
        chunk.append(batch)
        size += len(batch.records)
        count += batch.header.record_count
    if chunk:
        yield chunk
