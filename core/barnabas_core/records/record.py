"""The records in a batch, read one by one as they are asked for.

    length varint | attributes int8 | timestamp delta varlong | offset delta varint |
    key length varint | key | value length varint | value |
    header count varint | (key length varint | key | value length varint | value)*

Keys and values are views of the batch, or of its decompressed records; a negative length is null.
A record is believed only if its parts end exactly where its length says and offsets rise: the
broker stores batches without looking inside, so whoever reads them later (the cleaner, above all)
is the first to look.

The loops here and in `record_scan` spell out what a function per varint would say more shortly,
because the calls would take four fifths of the time. They know two shapes of a varint by sight,
one byte and two, and call for longer ones. They may step outside the records before they
notice: positions only grow, an index outside is an IndexError, a slice is cut short, and the
comparison with the record's end comes before anything is handed out.
"""

from collections.abc import Iterator
from typing import NamedTuple

from barnabas_core.ports.disk import Buffer
from barnabas_core.records.batch import HEADER_BYTES, BatchHeader, parse_header
from barnabas_core.records.compression import DEFAULT_MAX_BYTES, Compression, decompress
from barnabas_core.records.error import BatchFault, CorruptBatch
from barnabas_core.wire.error import BadVarint
from barnabas_core.wire.primitive import read_varint, read_varlong

_SAFE_TIMESTAMP = 2**62
# Kafka has no limit; who has so many wants our memory.
_HEADERS_MAX = 100_000
_new_tuple = tuple.__new__


class Header(NamedTuple):
    """An application's header. The key should be UTF-8, but nobody has checked that."""

    key: bytes
    value: Buffer | None


class Record(NamedTuple):
    offset: int
    timestamp: int
    key: Buffer | None
    value: Buffer | None
    headers: tuple[Header, ...] = ()


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
    records = _iterate(open_records(buffer, position, header, max_bytes), header)
    if header.is_log_append_time:
        return (record._replace(timestamp=header.max_timestamp) for record in records)
    if not -_SAFE_TIMESTAMP < header.base_timestamp < _SAFE_TIMESTAMP:
        return (record._replace(timestamp=wrap_int64(record.timestamp)) for record in records)
    return records


def wrap_int64(number: int) -> int:
    """As Java's `long` does, so that any timestamp goes with any base."""
    return (number + 2**63) % 2**64 - 2**63


def open_records(buffer: Buffer, position: int, header: BatchHeader, max_bytes: int) -> memoryview:
    """The bytes of the records and nothing else, decompressed if need be."""
    start, end = position + HEADER_BYTES, position + header.size_bytes
    if not start <= end <= len(buffer):
        raise CorruptBatch(BatchFault.TRUNCATED, f"batch at byte {position}")
    codec = header.compression
    view = memoryview(buffer)[start:end]
    if codec is Compression.NONE or start == end:
        return view
    return decompress(codec, view, max_bytes)


def _iterate(  # noqa: C901, PLR0912, PLR0915  (see above)
    view: memoryview, header: BatchHeader
) -> Iterator[Record]:
    position, size = 0, len(view)
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    previous, last = -1, header.last_offset_delta
    headers: tuple[Header, ...]
    try:
        for _ in range(header.record_count):
            if (byte := view[position]) < 0x80:
                position += 1
                end = position + ((byte >> 1) ^ -(byte & 1))
            elif (high := view[position + 1]) < 0x80:
                position += 2
                number = byte & 0x7F | high << 7
                end = position + ((number >> 1) ^ -(number & 1))
            else:
                number, position = read_varint(view, position)
                end = position + number
            position += 1  # The attributes of a record have no meaning yet.
            if (byte := view[position]) < 0x80:
                position += 1
                timestamp = base_timestamp + ((byte >> 1) ^ -(byte & 1))
            elif (high := view[position + 1]) < 0x80:
                position += 2
                number = byte & 0x7F | high << 7
                timestamp = base_timestamp + ((number >> 1) ^ -(number & 1))
            else:
                number, position = read_varlong(view, position)
                timestamp = wrap_int64(base_timestamp + number)
            if (byte := view[position]) < 0x80:
                position += 1
                offset_delta = (byte >> 1) ^ -(byte & 1)
            elif (high := view[position + 1]) < 0x80:
                position += 2
                number = byte & 0x7F | high << 7
                offset_delta = (number >> 1) ^ -(number & 1)
            else:
                offset_delta, position = read_varint(view, position)
            if (byte := view[position]) == 1:
                position += 1
                key = None
            elif byte < 0x80 and not byte & 1:
                position += 1
                part_end = position + (byte >> 1)
                key = view[position:part_end]
                position = part_end
            else:
                key, position = read_bytes(view, position)
            if (byte := view[position]) == 1:
                position += 1
                value = None
            elif byte < 0x80 and not byte & 1:
                position += 1
                part_end = position + (byte >> 1)
                value = view[position:part_end]
                position = part_end
            elif (high := view[position + 1]) < 0x80 and not byte & 1:
                position += 2
                part_end = position + ((byte & 0x7F | high << 7) >> 1)
                value = view[position:part_end]
                position = part_end
            else:
                value, position = read_bytes(view, position)
            if view[position] == 0:
                position += 1
                headers = ()
            else:
                headers, position = read_headers(view, position, end)
            if position != end or end > size:
                raise unfilled()
            if not previous < offset_delta <= last:
                raise out_of_order(offset_delta)
            previous = offset_delta
            # A tenth faster than Record(...), which checks what is plain to see.
            yield _new_tuple(Record, (base_offset + offset_delta, timestamp, key, value, headers))
    except IndexError as error:
        raise cut_short() from error
    except BadVarint as error:
        raise bad_varint() from error
    if position != size:
        raise left_over()


def read_bytes(view: memoryview, position: int) -> tuple[memoryview | None, int]:
    length, position = read_varint(view, position)
    if length < 0:
        return None, position
    end = position + length
    return view[position:end], end


def read_headers(view: memoryview, position: int, end: int) -> tuple[tuple[Header, ...], int]:
    count, position = read_varint(view, position)
    # Two bytes of an empty header become some 200 of ours.
    if not 0 <= count <= min(_HEADERS_MAX, (end - position) // 2):
        raise CorruptBatch(BatchFault.BAD_RECORD, f"{count} headers")
    headers = []
    for _ in range(count):
        key, position = read_bytes(view, position)
        if key is None:
            raise CorruptBatch(BatchFault.BAD_RECORD, "header without a key")
        value, position = read_bytes(view, position)
        headers.append(Header(key.tobytes(), value))
    return tuple(headers), position


def unfilled() -> CorruptBatch:
    return CorruptBatch(BatchFault.BAD_RECORD, "a record's parts do not fill its length")


def out_of_order(offset_delta: int) -> CorruptBatch:
    return CorruptBatch(BatchFault.BAD_RECORD, f"offset delta {offset_delta} out of order")


def bad_varint() -> CorruptBatch:
    return CorruptBatch(BatchFault.BAD_RECORD, "a varint is too long")


def cut_short() -> CorruptBatch:
    return CorruptBatch(BatchFault.BAD_RECORD, "records end within a record")


def left_over() -> CorruptBatch:
    return CorruptBatch(BatchFault.BAD_RECORD, "bytes after the last record")
