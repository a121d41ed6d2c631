"""Offset to file position, one entry about every `index.interval.bytes` of a segment.

An entry is 8 bytes, big endian: int32 last offset of a batch, relative to the segment's base
offset; int32 position of that batch in the `.log` file. Both rise. The active segment's index is an
`OffsetIndex` in memory (two arrays, so that a lookup is one C bisection); a closed segment's is
searched where it lies, in the mapped file.
"""

from array import array
from bisect import bisect_left, bisect_right
from struct import Struct

from barnabas_core.log.index.big_endian import INT32, decode_ints, encode_ints
from barnabas_core.ports import Buffer

ENTRY_BYTES = 8
RELATIVE_OFFSET_MAX = 2**31 - 1

_ENTRY = Struct(">ii")


class OffsetIndex:
    """The index of a segment that still grows."""

    __slots__ = ("_positions", "_relatives", "base_offset")

    def __init__(self, base_offset: int, data: Buffer = b"") -> None:
        fields = decode_ints(data)
        self.base_offset = base_offset
        self._relatives = fields[0::2]
        self._positions = fields[1::2]

    def __len__(self) -> int:
        return len(self._relatives)

    def append(self, offset: int, position: int) -> None:
        relative = offset - self.base_offset
        assert not self._relatives or relative > self._relatives[-1], "offsets must rise"
        self._relatives.append(relative)
        self._positions.append(position)

    def lookup(self, offset: int) -> int:
        """The position of the last indexed batch that ends at or before `offset`; 0 without one."""
        found = bisect_right(self._relatives, min(offset - self.base_offset, RELATIVE_OFFSET_MAX))
        return self._positions[found - 1] if found else 0

    def truncate(self, offset: int) -> None:
        """Forget batches that end at or after `offset`."""
        keep = bisect_left(self._relatives, min(offset - self.base_offset, RELATIVE_OFFSET_MAX))
        del self._relatives[keep:], self._positions[keep:]

    def encode(self) -> bytes:
        fields = array(INT32, bytes(ENTRY_BYTES * len(self._relatives)))
        fields[0::2] = self._relatives
        fields[1::2] = self._positions
        return encode_ints(fields)


def lookup_position(index: Buffer, base_offset: int, offset: int) -> int:
    """`OffsetIndex.lookup` in the bytes of an index file."""
    relative = offset - base_offset
    unpack = _ENTRY.unpack_from
    low, high = 0, len(index) // ENTRY_BYTES
    while low < high:
        middle = (low + high) // 2
        if unpack(index, middle * ENTRY_BYTES)[0] <= relative:
            low = middle + 1
        else:
            high = middle
    return int(unpack(index, (low - 1) * ENTRY_BYTES)[1]) if low else 0


def is_sound(index: Buffer, log_bytes: int) -> bool:
    """Whether a file can be the index of a log of that size: Kafka's check and the position."""
    if len(index) % ENTRY_BYTES:
        return False
    if not len(index):
        return True
    relative, position = _ENTRY.unpack_from(index, len(index) - ENTRY_BYTES)
    return bool(relative >= 0 and 0 <= position < log_bytes)
