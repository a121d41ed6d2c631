"""Which neighbouring segments are rewritten into one.

Compaction leaves small segments behind; merging keeps their number down. A group must fit into one
segment even if nothing goes: its size, both indexes, and the 31 bits of a relative offset.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from barnabas_core.log.offset_index import RELATIVE_OFFSET_MAX


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


def group_segments(
    segments: Sequence[SegmentFiles], bounds: GroupBounds
) -> list[list[SegmentFiles]]:
    """Consecutive groups, each of at least one segment."""
    groups: list[list[SegmentFiles]] = []
    for segment in segments:
        if groups and _fits([*groups[-1], segment], bounds):
            groups[-1].append(segment)
        else:
            groups.append([segment])
    return groups


def _fits(group: Sequence[SegmentFiles], bounds: GroupBounds) -> bool:
    return (
        sum(it.size_bytes for it in group) <= bounds.segment_bytes
        and sum(it.offset_index_bytes for it in group) <= bounds.index_bytes
        and sum(it.time_index_bytes for it in group) <= bounds.index_bytes
        and group[-1].end_offset - 1 - group[0].base_offset <= RELATIVE_OFFSET_MAX
    )
