"""Offsets by timestamp: the index says where to start, the batches' headers which one it is, and
only that one is opened to find the record.
"""

from collections.abc import Sequence
from typing import NamedTuple

from barnabas_core.log.segments.file_cache import FileCache
from barnabas_core.log.segments.scan import PositionedHeader, scan_headers
from barnabas_core.log.segments.segment import Segment
from barnabas_core.records.record import Record, iter_records


class FoundRecord(NamedTuple):
    timestamp_ms: int
    offset: int
    leader_epoch: int


def find_by_timestamp(
    segments: Sequence[Segment], files: FileCache, timestamp_ms: int, start_offset: int
) -> FoundRecord | None:
    """The first record at or after `start_offset` whose timestamp reaches `timestamp_ms`."""
    for segment in segments:
        if segment.size_bytes and segment.newest(files).timestamp_ms >= timestamp_ms:
            found = _find_in_segment(segment, files, timestamp_ms, start_offset)
            if found is not None:
                return found
    return None


def _find_in_segment(
    segment: Segment, files: FileCache, timestamp_ms: int, start_offset: int
) -> FoundRecord | None:
    file = segment.file(files)
    first = max(segment.offset_before_timestamp(files, timestamp_ms), start_offset)
    position = segment.position_before(files, first)
    for batch in scan_headers(file.read_at, position, segment.size_bytes):
        if batch.header.max_timestamp >= timestamp_ms and batch.header.last_offset >= start_offset:
            for record in _records(segment, files, batch):
                if record.timestamp >= timestamp_ms and record.offset >= start_offset:
                    epoch = batch.header.partition_leader_epoch
                    return FoundRecord(record.timestamp, record.offset, epoch)
    return None


def find_newest(segments: Sequence[Segment], files: FileCache) -> FoundRecord | None:
    """The first record with the largest timestamp of all."""
    batches = [_newest_batch(segment, files) for segment in segments if segment.size_bytes]
    found = max(
        (batch for batch in batches if batch is not None),
        key=lambda batch: batch[1].header.max_timestamp,
        default=None,
    )
    if found is None:
        return None
    segment, batch = found
    for record in _records(segment, files, batch):
        if record.timestamp >= batch.header.max_timestamp:
            epoch = batch.header.partition_leader_epoch
            return FoundRecord(record.timestamp, record.offset, epoch)
    return None


def _newest_batch(segment: Segment, files: FileCache) -> tuple[Segment, PositionedHeader] | None:
    timestamp_ms, offset = segment.newest(files)
    if timestamp_ms < 0:
        return None
    read_at = segment.file(files).read_at
    if segment.has_staged:
        # The index may speak of a batch that nobody may see yet.
        batches = scan_headers(read_at, 0, segment.size_bytes)
        found = max(batches, key=lambda it: it.header.max_timestamp, default=None)
    else:
        found = segment.find(files, read_at, offset)
    return None if found is None else (segment, found)


def _records(segment: Segment, files: FileCache, batch: PositionedHeader) -> list[Record]:
    data = segment.file(files).read_at(batch.position, batch.header.size_bytes)
    return list(iter_records(data, 0, header=batch.header))
