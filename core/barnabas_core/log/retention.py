"""Which old segments of a log may go, and why: decisions only.

`PartitionLog.delete_old_segments` describes its segments as `SegmentView`s, oldest first and the
active one last, asks `plan_retention` and does what the plan says, in this order:

1. `roll_active`: roll a new active segment first, because a log always has one (only when every
   segment goes);
2. raise the log start offset to `log_start_offset`, so that no reader is sent to a file that is
   about to vanish;
3. delete the segments named in `deletions`; each carries its reason for the log line.

Segments only ever go from the front, so that offsets stay contiguous. Three rules apply, one
after the other, each to what the one before left: below the log start offset (every cleanup
policy), over `retention.bytes`, older than `retention.ms` (the last two only with the `delete`
policy). None of them reaches the high watermark, or the log start offset could pass it. The
active segment goes too once it has expired, unless it is empty.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from barnabas_core.log.log_config import LogConfig


@dataclass(frozen=True, slots=True)
class SegmentView:
    """What a decision needs to know of one segment."""

    base_offset: int
    next_offset: int
    size_bytes: int
    largest_timestamp_ms: int = -1
    modified_at_ms: int = 0
    first_timestamp_ms: int = -1
    """Timestamp of its first batch, -1 if it has none: only compaction asks for it."""

    @property
    def newest_at_ms(self) -> int:
        """Its largest timestamp; the file's own age where no record has one."""
        return self.largest_timestamp_ms if self.largest_timestamp_ms >= 0 else self.modified_at_ms


class DeletionReason(StrEnum):
    LOG_START = "it ends at or before the log start offset"
    SIZE = "the log is larger than retention.bytes"
    TIME = "its newest record is older than retention.ms"


@dataclass(frozen=True, slots=True)
class Deletion:
    base_offset: int
    reason: DeletionReason


@dataclass(frozen=True, slots=True)
class RetentionPlan:
    deletions: tuple[Deletion, ...]
    log_start_offset: int
    roll_active: bool


def plan_retention(
    segments: Sequence[SegmentView],
    config: LogConfig,
    now_ms: int,
    high_watermark: int,
    log_start_offset: int,
) -> RetentionPlan:
    bound = _count_deletable(segments, high_watermark)
    deletions: list[Deletion] = []

    def delete_up_to(count: int, reason: DeletionReason) -> None:
        going = segments[len(deletions) : min(count, bound)]
        deletions.extend(Deletion(segment.base_offset, reason) for segment in going)

    delete_up_to(_count_before_start(segments, log_start_offset), DeletionReason.LOG_START)
    if config.cleanup_delete and config.retention_bytes >= 0:
        gone = len(deletions)
        delete_up_to(_count_over_size(segments, gone, config.retention_bytes), DeletionReason.SIZE)
    if config.cleanup_delete and config.retention_ms >= 0:
        gone = len(deletions)
        oldest_kept_ms = now_ms - config.retention_ms
        delete_up_to(_count_expired(segments, gone, oldest_kept_ms), DeletionReason.TIME)
    return _plan(segments, tuple(deletions), log_start_offset)


def _plan(
    segments: Sequence[SegmentView], deletions: tuple[Deletion, ...], log_start_offset: int
) -> RetentionPlan:
    roll_active = bool(deletions) and len(deletions) == len(segments)
    if deletions:
        log_start_offset = max(log_start_offset, _end_of(segments, len(deletions) - 1))
    return RetentionPlan(deletions, log_start_offset, roll_active)


def _end_of(segments: Sequence[SegmentView], index: int) -> int:
    """The offset after a segment: the next one's base, which a gap may put beyond its end."""
    if index + 1 < len(segments):
        return segments[index + 1].base_offset
    return segments[index].next_offset


def _count_deletable(segments: Sequence[SegmentView], high_watermark: int) -> int:
    """Leading segments that any rule may take."""
    count = 0
    while count < len(segments) and _end_of(segments, count) <= high_watermark:
        count += 1
    if count == len(segments) and count > 0 and segments[-1].size_bytes == 0:
        count -= 1  # an empty active segment would only be replaced by the like of it
    return count


def _count_before_start(segments: Sequence[SegmentView], log_start_offset: int) -> int:
    """Never the last segment: it is where the log start offset may still point into."""
    count = 0
    while count + 1 < len(segments) and segments[count + 1].base_offset <= log_start_offset:
        count += 1
    return count


def _count_over_size(segments: Sequence[SegmentView], gone: int, retention_bytes: int) -> int:
    """As many as can go with at least `retention_bytes` left."""
    excess = sum(segment.size_bytes for segment in segments[gone:]) - retention_bytes
    count = gone
    while count < len(segments) and excess >= segments[count].size_bytes:
        excess -= segments[count].size_bytes
        count += 1
    return count


def _count_expired(segments: Sequence[SegmentView], gone: int, oldest_kept_ms: int) -> int:
    count = gone
    while count < len(segments) and segments[count].newest_at_ms < oldest_kept_ms:
        count += 1
    return count
