"""Looking through records without making objects of them: their keys, or whether they are sound.

The loops are those of `record`, with less to do.
"""

from collections.abc import Iterator
from typing import NamedTuple

from barnabas_core.ports.disk import Buffer
from barnabas_core.records.batch import BatchHeader, parse_header
from barnabas_core.records.compression import DEFAULT_MAX_BYTES
from barnabas_core.records.error import BatchFault, CorruptBatch
from barnabas_core.records.record import (
    bad_varint,
    cut_short,
    left_over,
    open_records,
    out_of_order,
    read_bytes,
    read_headers,
    unfilled,
)
from barnabas_core.wire.error import BadVarint
from barnabas_core.wire.primitive import read_varint, read_varlong

_new_tuple = tuple.__new__


class KeyedRecord(NamedTuple):
    """What compaction asks of a record: is there a later one with its key, is it a tombstone."""

    offset: int
    key: memoryview | None
    has_value: bool


def iter_keys(
    buffer: Buffer,
    position: int = 0,
    *,
    header: BatchHeader | None = None,
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> Iterator[KeyedRecord]:
    """Like `iter_records` in half the time; values and headers are not looked into."""
    header = header or parse_header(buffer, position)
    return _iterate_keys(open_records(buffer, position, header, max_bytes), header)


def check_records(
    buffer: Buffer,
    position: int,
    header: BatchHeader,
    *,
    keys_required: bool = False,
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> None:
    """Whether a producer's records are sound: all there, numbered from 0, with keys if required."""
    check = RecordCheck(buffer, position, header, keys_required=keys_required, max_bytes=max_bytes)
    check.advance(header.record_count)


class RecordCheck:
    """`check_records` in slices, for whoever must not be held up by a large batch.

    Making it decompresses the records, which is for a thread; `advance` holds the GIL.
    """

    __slots__ = ("_count", "_index", "_keys_required", "_position", "_view")

    def __init__(
        self,
        buffer: Buffer,
        position: int,
        header: BatchHeader,
        *,
        keys_required: bool = False,
        max_bytes: int = DEFAULT_MAX_BYTES,
    ) -> None:
        self._view = open_records(buffer, position, header, max_bytes)
        self._count = header.record_count
        self._keys_required = keys_required
        self._index = 0
        self._position = 0

    def advance(self, most: int) -> bool:
        """Look at the next `most` records; whether that was all of them."""
        stop = min(self._index + most, self._count)
        try:
            self._position = _check_some(
                self._view, self._position, range(self._index, stop), self._keys_required
            )
        except IndexError as error:
            raise cut_short() from error
        except BadVarint as error:
            raise bad_varint() from error
        self._index = stop
        if stop < self._count:
            return False
        if self._position != len(self._view):
            raise left_over()
        return True


def _iterate_keys(  # noqa: C901, PLR0912, PLR0915  (see `record`)
    view: memoryview, header: BatchHeader
) -> Iterator[KeyedRecord]:
    position, size = 0, len(view)
    base_offset = header.base_offset
    previous, last = -1, header.last_offset_delta
    key: memoryview | None
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
            position += 1
            if view[position] < 0x80:
                position += 1
            elif view[position + 1] < 0x80:
                position += 2
            else:
                _, position = read_varlong(view, position)
            if (byte := view[position]) < 0x80:
                position += 1
                offset_delta = (byte >> 1) ^ -(byte & 1)
            elif (high := view[position + 1]) < 0x80:
                position += 2
                number = byte & 0x7F | high << 7
                offset_delta = (number >> 1) ^ -(number & 1)
            else:
                offset_delta, position = read_varint(view, position)
            if (byte := view[position]) < 0x80 and not byte & 1:
                position += 1
                key_end = position + (byte >> 1)
                key = view[position:key_end]
                position = key_end
            else:
                key, position = read_bytes(view, position)
            # The sign is the lowest bit of the first byte.
            has_value = not view[position] & 1
            if not position < end <= size:
                raise unfilled()
            if not previous < offset_delta <= last:
                raise out_of_order(offset_delta)
            position = end
            previous = offset_delta
            yield _new_tuple(KeyedRecord, (base_offset + offset_delta, key, has_value))
    except IndexError as error:
        raise cut_short() from error
    except BadVarint as error:
        raise bad_varint() from error
    if position != size:
        raise left_over()


def _check_some(  # noqa: C901, PLR0912, PLR0915  (see `record`)
    view: memoryview,
    position: int,
    indexes: range,
    keys_required: bool,  # noqa: FBT001
) -> int:
    """Check records from `position` on; the position after them."""
    size = len(view)
    for index in indexes:
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
        position += 1
        if view[position] < 0x80:
            position += 1
        elif view[position + 1] < 0x80:
            position += 2
        else:
            _, position = read_varlong(view, position)
        if (byte := view[position]) < 0x80:
            position += 1
            offset_delta = (byte >> 1) ^ -(byte & 1)
        elif (high := view[position + 1]) < 0x80:
            position += 2
            number = byte & 0x7F | high << 7
            offset_delta = (number >> 1) ^ -(number & 1)
        else:
            offset_delta, position = read_varint(view, position)
        if (byte := view[position]) < 0x80 and not byte & 1:
            position += 1 + (byte >> 1)
        else:
            number, position = read_varint(view, position)
            if number >= 0:
                position += number
            elif keys_required:
                raise CorruptBatch(BatchFault.MISSING_KEY, f"record {index}")
        if (byte := view[position]) < 0x80 and not byte & 1:
            position += 1 + (byte >> 1)
        elif (high := view[position + 1]) < 0x80 and not byte & 1:
            position += 2 + ((byte & 0x7F | high << 7) >> 1)
        else:
            number, position = read_varint(view, position)
            position += max(number, 0)
        if view[position] == 0:
            position += 1
        else:
            _, position = read_headers(view, position, end)
        if position != end or end > size:
            raise unfilled()
        if offset_delta != index:
            raise out_of_order(offset_delta)
    return position
