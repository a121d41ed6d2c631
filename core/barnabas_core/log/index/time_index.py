"""Timestamp to offset: what was the largest timestamp so far, and which batch brought it.

An entry is 12 bytes, big endian: int64 largest timestamp up to here, int32 last offset of the batch
that holds it, relative to the segment's base offset. Timestamps rise strictly. An entry is written
with each entry of the offset index if the timestamp grew, and once more when the segment is closed,
so that the last entry always tells the segment's largest timestamp.
"""

from array import array
from bisect import bisect_left, bisect_right
from struct import Struct
from typing import NamedTuple

from barnabas_core.log.index.big_endian import (
    INT32,
    decode_ints,
    encode_ints,
    join_halves,
    split_halves,
)
from barnabas_core.ports import Buffer

ENTRY_BYTES = 12
NO_TIMESTAMP = -1

_ENTRY = Struct(">qi")


class TimestampOffset(NamedTuple):
    timestamp_ms: int
    offset: int


class TimeIndex:
    """The index of a segment that still grows."""

    __slots__ = ("_relatives", "_timestamps", "base_offset")

    def __init__(self, base_offset: int, data: Buffer = b"") -> None:
        self.base_offset = base_offset
        fields = decode_ints(data)
        self._timestamps = join_halves(fields[0::3], fields[1::3])
        self._relatives = fields[2::3]

    def __len__(self) -> int:
        return len(self._timestamps)

    @property
    def last(self) -> TimestampOffset:
        if not self._timestamps:
            return TimestampOffset(NO_TIMESTAMP, self.base_offset)
        return TimestampOffset(self._timestamps[-1], self.base_offset + self._relatives[-1])

    def maybe_append(self, timestamp_ms: int, offset: int) -> None:
        """Nothing happens unless the timestamp grew."""
        if timestamp_ms > (self._timestamps[-1] if self._timestamps else NO_TIMESTAMP):
            self._timestamps.append(timestamp_ms)
            self._relatives.append(offset - self.base_offset)

    def lookup(self, timestamp_ms: int) -> int:
        """An offset before which no batch reaches `timestamp_ms`."""
        found = bisect_right(self._timestamps, timestamp_ms)
        return self.base_offset + (self._relatives[found - 1] if found else 0)

    def truncate(self, offset: int) -> None:
        """Forget entries of batches that end at or after `offset`: offsets rise with timestamps."""
        keep = bisect_left(self._relatives, offset - self.base_offset)
        del self._timestamps[keep:], self._relatives[keep:]

    def encode(self) -> bytes:
        fields = array(INT32, bytes(ENTRY_BYTES * len(self._relatives)))
        fields[0::3], fields[1::3] = split_halves(self._timestamps)
        fields[2::3] = self._relatives
        return encode_ints(fields)


def lookup_offset(index: Buffer, base_offset: int, timestamp_ms: int) -> int:
    """`TimeIndex.lookup` in the bytes of an index file."""
    unpack = _ENTRY.unpack_from
    low, high = 0, len(index) // ENTRY_BYTES
    while low < high:
        middle = (low + high) // 2
        if unpack(index, middle * ENTRY_BYTES)[0] <= timestamp_ms:
            low = middle + 1
        else:
            high = middle
    return base_offset + (int(unpack(index, (low - 1) * ENTRY_BYTES)[1]) if low else 0)


def last_entry(index: Buffer, base_offset: int) -> TimestampOffset:
    if len(index) < ENTRY_BYTES:
        return TimestampOffset(NO_TIMESTAMP, base_offset)
    timestamp_ms, relative = _ENTRY.unpack_from(index, len(index) - ENTRY_BYTES)
    return TimestampOffset(timestamp_ms, base_offset + relative)


def is_sound(index: Buffer) -> bool:
    """Whether a file can be a time index at all: Kafka's check."""
    if len(index) % ENTRY_BYTES:
        return False
    if not len(index):
        return True
    first_timestamp_ms, _ = _ENTRY.unpack_from(index, 0)
    timestamp_ms, relative = _ENTRY.unpack_from(index, len(index) - ENTRY_BYTES)
    return bool(relative >= 0 and timestamp_ms >= first_timestamp_ms >= 0)
