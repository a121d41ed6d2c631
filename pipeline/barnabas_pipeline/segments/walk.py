"""The batches of one segment, in order, each checked; and how to go on after a damaged one.

A batch with a wrong checksum still tells where the next begins, unless its length is what was
damaged. So the walk goes on there if a header stands there that can follow; else at the next batch
that the offset index knows of; else the rest of the segment is lost. Neither offset nor length is
covered by the checksum: an offset that does not rise, or that belongs to a later segment, is damage
too.
"""

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from barnabas_core.log.index.offset_index import ENTRY_BYTES
from barnabas_core.ports.disk import Buffer
from barnabas_core.records.batch import (
    HEADER_BYTES,
    MAGIC,
    BatchFault,
    BatchHeader,
    CorruptBatch,
    check_batch,
    parse_header,
)

_ENTRY = Struct(">ii")


class SoundBatch(NamedTuple):
    position: int
    header: BatchHeader


class DamagedStretch(NamedTuple):
    """Bytes of which nothing can be believed, up to where the walk goes on."""

    position: int
    end_position: int
    reason: str
    offset_after: int
    """Everything before this offset was found; what is lost begins here or later."""


class Bounds(NamedTuple):
    """What of a segment is to be read."""

    base_offset: int
    next_base_offset: int
    """Of the segment after it: no batch here may reach it."""
    end_offset: int
    """Readers may not see this offset, nor any after it."""
    position: int = 0


def walk(
    segment: Buffer, offset_index: Buffer, bounds: Bounds
) -> Iterator[SoundBatch | DamagedStretch]:
    """Batches that begin before `bounds.end_offset`, and damage between them."""
    position, end = bounds.position, len(segment)
    least = bounds.base_offset
    # All that may be seen is found: what follows may be a write under way.
    while position < end and least < bounds.end_offset:
        found = _look(segment, position, least, bounds)
        if isinstance(found, CorruptBatch):
            following = _resume(segment, offset_index, position, least, bounds)
            yield DamagedStretch(position, following, str(found), least)
            position = following
            continue
        if found.base_offset >= bounds.end_offset:
            return
        yield SoundBatch(position, found)
        position += found.size_bytes
        least = found.next_offset


def _look(segment: Buffer, position: int, least: int, bounds: Bounds) -> BatchHeader | CorruptBatch:
    try:
        header = parse_header(segment, position)
        # What lies beyond may still be changing: it is not even looked at.
        if _is_beyond(header, least, bounds):
            return header
        check_batch(segment, position, header)
    except CorruptBatch as error:
        return error
    if not least <= header.base_offset <= header.last_offset < bounds.next_base_offset:
        detail = f"offsets {header.base_offset} to {header.last_offset} after {least - 1}"
        return CorruptBatch(BatchFault.BAD_HEADER, detail)
    return header


def _is_beyond(header: BatchHeader, least: int, bounds: Bounds) -> bool:
    return bounds.end_offset <= header.base_offset < bounds.next_base_offset and _can_follow(
        header, least, bounds
    )


def _can_follow(header: BatchHeader, least: int, bounds: Bounds) -> bool:
    return (
        header.magic == MAGIC
        and header.size_bytes >= HEADER_BYTES
        and header.last_offset_delta >= 0
        and least <= header.base_offset < bounds.next_base_offset
    )


def _resume(
    segment: Buffer, offset_index: Buffer, position: int, least: int, bounds: Bounds
) -> int:
    """Where to go on after what is at `position`."""
    if len(segment) - position < HEADER_BYTES:
        return len(segment)
    following = position + parse_header(segment, position).size_bytes
    if following == len(segment) or _header_at(segment, following, position, least, bounds):
        return following
    return _next_indexed(offset_index, position, len(segment))


def _header_at(segment: Buffer, following: int, position: int, least: int, bounds: Bounds) -> bool:
    if not position + HEADER_BYTES <= following <= len(segment) - HEADER_BYTES:
        return False
    header = parse_header(segment, following)
    return _can_follow(header, least, bounds) and header.size_bytes <= len(segment) - following


def _next_indexed(offset_index: Buffer, position: int, end: int) -> int:
    """The first indexed batch after `position`; `end` without one."""
    whole = len(offset_index) // ENTRY_BYTES * ENTRY_BYTES
    for _, indexed in _ENTRY.iter_unpack(memoryview(offset_index)[:whole]):
        if indexed > position:
            return min(int(indexed), end)
    return end


def is_batch_at(segment: Buffer, position: int) -> bool:
    """Whether an index tells the truth: a sound batch begins there."""
    try:
        check_batch(segment, position, parse_header(segment, position))
    except CorruptBatch:
        return False
    return True
