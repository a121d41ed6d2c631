"""The records in a batch, read one by one as they are asked for.

    length varint | attributes int8 | timestamp delta varlong | offset delta varint | key length
    varint | key | value length varint | value | header count varint | (key length varint | key |
    value length varint | value)*

Keys and values are views of the batch, or of its decompressed records; a negative length is null.
A record is believed only if its parts end exactly where its length says and offsets rise: the
broker stores batches without looking inside, so whoever reads them later (the cleaner, above all)
is the first to look.
"""

from collections.abc import Iterator
from typing import NamedTuple

from barnabas_core.ports.disk import Buffer
from barnabas_core.records.batch import HEADER_BYTES, BatchHeader, parse_header
from barnabas_core.records.compression import DEFAULT_MAX_BYTES, Compression, decompress
from barnabas_core.records.error import BatchFault, CorruptBatch
from barnabas_core.records.varint import read_varint, read_varlong


class Header(NamedTuple):
    """An application's header. The key is UTF-8, but nobody has checked that."""

    key: bytes
    value: Buffer | None


class Record(NamedTuple):
    offset: int
    timestamp: int
    key: Buffer | None
    value: Buffer | None
    headers: tuple[Header, ...] = ()


class _Area(NamedTuple):
    """Where the records are: `view` is a view of all of `data`."""

    data: Buffer
    view: memoryview
    start: int
    end: int


def iter_records(
    buffer: Buffer,
    position: int = 0,
    *,
    header: BatchHeader | None = None,
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> Iterator[Record]:
    """The records of the batch at `position`; CorruptBatch as soon as one is not sound.

    The CRC is not looked at: who needs that calls `check_batch` before.
    """
    header = header or parse_header(buffer, position)
    area = _open(buffer, position, header, max_bytes)
    records = _iterate(area, header)
    if header.is_log_append_time:
        return (record._replace(timestamp=header.max_timestamp) for record in records)
    return records


def _open(buffer: Buffer, position: int, header: BatchHeader, max_bytes: int) -> _Area:
    start, end = position + HEADER_BYTES, position + header.size_bytes
    if not start <= end <= len(buffer):
        raise CorruptBatch(BatchFault.TRUNCATED, f"batch at byte {position}")
    view = memoryview(buffer)
    if header.compression is Compression.NONE or start == end:
        return _Area(buffer, view, start, end)
    records = decompress(header.compression, view[start:end], max_bytes)
    return _Area(records, records, 0, len(records))


def _iterate(area: _Area, header: BatchHeader) -> Iterator[Record]:
    position = area.start
    previous = -1
    try:
        for _ in range(header.record_count):
            offset_delta, record, position = _read_record(area, position, header)
            if not previous < offset_delta <= header.last_offset_delta:
                raise CorruptBatch(BatchFault.BAD_RECORD, f"offset delta {offset_delta}")
            previous = offset_delta
            yield record
    except IndexError as error:
        raise CorruptBatch(BatchFault.BAD_RECORD, "records end within a record") from error
    if position != area.end:
        raise CorruptBatch(BatchFault.BAD_RECORD, "bytes after the last record")


def _read_record(area: _Area, position: int, header: BatchHeader) -> tuple[int, Record, int]:
    data, view = area.data, area.view
    length, position = read_varint(data, position)
    end = position + length
    if end > area.end:
        raise IndexError
    timestamp_delta, position = read_varlong(data, position + 1)
    offset_delta, position = read_varint(data, position)
    key, position = _read_bytes(data, view, position)
    value, position = _read_bytes(data, view, position)
    headers, position = _read_headers(data, view, position, end)
    if position != end:
        raise CorruptBatch(BatchFault.BAD_RECORD, "a record's parts do not fill its length")
    record = Record(
        header.base_offset + offset_delta,
        header.base_timestamp + timestamp_delta,
        key,
        value,
        headers,
    )
    return offset_delta, record, position


def _read_bytes(data: Buffer, view: memoryview, position: int) -> tuple[memoryview | None, int]:
    length, position = read_varint(data, position)
    if length < 0:
        return None, position
    return view[position : position + length], position + length


def _read_headers(
    data: Buffer, view: memoryview, position: int, end: int
) -> tuple[tuple[Header, ...], int]:
    count, position = read_varint(data, position)
    # Each takes two bytes at least: nobody makes us loop for more than there is.
    if not 0 <= count <= (end - position) // 2:
        raise CorruptBatch(BatchFault.BAD_RECORD, f"{count} headers")
    headers = []
    for _ in range(count):
        key, position = _read_bytes(data, view, position)
        if key is None:
            raise CorruptBatch(BatchFault.BAD_RECORD, "header without a key")
        value, position = _read_bytes(data, view, position)
        headers.append(Header(key.tobytes(), value))
    return tuple(headers), position
