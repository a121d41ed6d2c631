"""Zigzag varints at many places of a buffer, read all at once.

Nearly every varint in a record is one byte long, so the first byte of all is taken in one step, and
the few that go on are followed byte by byte, together, as long as any is left.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from barnabas_core.records.record import bad_varint

Bytes = NDArray[np.uint8]
Positions = NDArray[np.int64]

INT32_BYTES_MAX: Final = 5
INT64_BYTES_MAX: Final = 10
_UINT32_MAX: Final = 2**32 - 1
# What the tenth byte may add to the 63 bits before it.
_LAST_BYTE_MAX: Final = 1


def read_varints(data: Bytes, positions: Positions) -> tuple[Positions, Positions]:
    """(values, next positions) of varints of 32 bits; IndexError where one begins outside."""
    raw, ends = _read(data, positions, INT32_BYTES_MAX)
    if raw.size and raw.max() > _UINT32_MAX:
        raise bad_varint()
    return _unfold(raw), ends


def read_varlongs(data: Bytes, positions: Positions) -> tuple[Positions, Positions]:
    """(values, next positions) of varints of 64 bits; IndexError where one begins outside."""
    raw, ends = _read(data, positions, INT64_BYTES_MAX)
    return _unfold(raw), ends


def _read(
    data: Bytes, positions: Positions, bytes_max: int
) -> tuple[NDArray[np.uint64], Positions]:
    first = data[positions]
    raw = (first & 0x7F).astype(np.uint64)
    ends = positions + 1
    unfinished = np.flatnonzero(first & 0x80)
    for index in range(1, bytes_max):
        if not unfinished.size:
            return raw, ends
        at = ends[unfinished]
        byte = data[at]
        if index == INT64_BYTES_MAX - 1 and byte.max() > _LAST_BYTE_MAX:
            break
        raw[unfinished] |= (byte & 0x7F).astype(np.uint64) << np.uint64(7 * index)
        ends[unfinished] = at + 1
        unfinished = unfinished[(byte & 0x80) != 0]
    if unfinished.size:
        raise bad_varint()
    return raw, ends


def _unfold(raw: NDArray[np.uint64]) -> Positions:
    one = np.uint64(1)
    return ((raw >> one) ^ (~(raw & one) + one)).view(np.int64)
