"""Which neighbouring segments are rewritten into one.

Compaction leaves little of old segments; merging keeps their number down. It goes by what is left:
another segment joins as long as all of it would fit behind what the ones before it left, by its
size, both indexes, and the 31 bits of a relative offset. So hardly ever is there a segment without
any record: a client that gets nothing but empty batches from it may take them for a message that is
too large (librdkafka does, after a few in a row).
"""

from dataclasses import dataclass

from barnabas_core.log.index.offset_index import RELATIVE_OFFSET_MAX


@dataclass(frozen=True, slots=True)
class SegmentFiles:
    """A closed segment on the disk."""

    base_offset: int
    end_offset: int
    """The base offset of the segment after it."""
    size_bytes: int
    offset_index_bytes: int
    time_index_bytes: int


@dataclass(frozen=True, slots=True)
class GroupBounds:
    segment_bytes: int
    index_bytes: int


def fits(written: SegmentFiles, segment: SegmentFiles, bounds: GroupBounds) -> bool:
    """Whether `segment` may join a group of which `written` is what is left so far."""
    return (
        written.size_bytes + segment.size_bytes <= bounds.segment_bytes
        and written.offset_index_bytes + segment.offset_index_bytes <= bounds.index_bytes
        and written.time_index_bytes + segment.time_index_bytes <= bounds.index_bytes
        and segment.end_offset - 1 - written.base_offset <= RELATIVE_OFFSET_MAX
    )
