"""Which log to compact next, and up to where: decisions only.

A compacted log is three stretches. Below the *first dirty offset*, which the cleaner checkpoint
remembers, it was cleaned before. From there to the *first uncleanable offset* it is dirty:
duplicates may be there. The rest must not be touched: the active segment, what is not settled (at
or above the last stable offset, or not durable yet), and what `min.compaction.lag.ms` protects.

Cleaning goes by whole segments, so bytes are counted by segments. A log is worth it when the dirty
share of what would be read exceeds `min.cleanable.dirty.ratio`, or at once when
`max.compaction.lag.ms` has passed for its oldest dirty segment.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.retention import SegmentView


@dataclass(frozen=True, slots=True)
class LogView:
    """What the choice needs to know of one log."""

    topic: str
    partition: int
    config: LogConfig
    segments: tuple[SegmentView, ...]
    """Oldest first; the active one is the last."""
    log_start_offset: int
    settled_offset: int
    """Nothing at or above it may be touched, nor anything dropped because of it."""
    checkpoint_offset: int | None
    """Where the last cleaning ended, if the directory remembers one."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A compacted log, measured."""

    topic: str
    partition: int
    first_dirty_offset: int
    first_uncleanable_offset: int
    clean_bytes: int
    dirty_bytes: int
    is_overdue: bool
    """Its oldest dirty segment has waited longer than `max.compaction.lag.ms`."""
    was_reset: bool
    """The checkpoint did not fit the log: it is to be overwritten with `first_dirty_offset`."""

    @property
    def dirty_ratio(self) -> float:
        total_bytes = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes / total_bytes if total_bytes else 0.0


def measure(log: LogView, now_ms: int) -> Candidate:
    first_dirty, was_reset = _first_dirty_offset(log)
    bound = _uncleanable_bound(log, first_dirty, now_ms)
    first_uncleanable = _base_of_segment_with(log.segments, max(first_dirty, bound))
    return Candidate(
        log.topic,
        log.partition,
        first_dirty,
        first_uncleanable,
        clean_bytes=_clean_bytes(log.segments, first_dirty),
        dirty_bytes=_dirty_bytes(log.segments, first_dirty, first_uncleanable),
        is_overdue=_is_overdue(log, first_dirty, now_ms),
        was_reset=was_reset,
    )


def is_cleanable(candidate: Candidate, config: LogConfig) -> bool:
    if not candidate.dirty_bytes:
        return False
    return candidate.is_overdue or candidate.dirty_ratio > config.min_cleanable_dirty_ratio


def filthiest(candidates: Iterable[Candidate]) -> Candidate | None:
    """The largest dirty share first; of equals the first by name, so that a run can be repeated."""
    ranked = sorted(candidates, key=lambda it: (-it.dirty_ratio, it.topic, it.partition))
    return ranked[0] if ranked else None


def _first_dirty_offset(log: LogView) -> tuple[int, bool]:
    """The checkpoint, unless the log start passed it or it lies beyond a log that lost its end."""
    checkpoint = log.checkpoint_offset
    if checkpoint is None:
        return log.log_start_offset, False
    if not log.log_start_offset <= checkpoint <= log.segments[-1].next_offset:
        return log.log_start_offset, True
    return checkpoint, False


def _uncleanable_bound(log: LogView, first_dirty: int, now_ms: int) -> int:
    bound = min(log.settled_offset, log.segments[-1].base_offset)
    lag_ms = log.config.min_compaction_lag_ms
    if lag_ms > 0:
        for segment in _closed_from(log.segments, first_dirty):
            if segment.newest_at_ms > now_ms - lag_ms:
                return min(bound, segment.base_offset)
    return bound


def _is_overdue(log: LogView, first_dirty: int, now_ms: int) -> bool:
    dirty = _closed_from(log.segments, first_dirty)
    stamps = [it.first_timestamp_ms for it in dirty if it.first_timestamp_ms > 0]
    return bool(stamps) and min(stamps) < now_ms - log.config.max_compaction_lag_ms


def _closed_from(segments: Sequence[SegmentView], offset: int) -> list[SegmentView]:
    """The closed segments from the one that holds `offset` on."""
    return [it for it, following in pairwise(segments) if following.base_offset > offset]


def _base_of_segment_with(segments: Sequence[SegmentView], offset: int) -> int:
    """`offset`, moved back to the start of its segment: segments are rewritten whole."""
    for segment, following in pairwise(segments):
        if following.base_offset > offset:
            return segment.base_offset
    return segments[-1].base_offset


def _clean_bytes(segments: Sequence[SegmentView], first_dirty: int) -> int:
    closed = pairwise(segments)
    return sum(it.size_bytes for it, following in closed if following.base_offset <= first_dirty)


def _dirty_bytes(segments: Sequence[SegmentView], first_dirty: int, end: int) -> int:
    dirty = _closed_from(segments, first_dirty)
    return sum(it.size_bytes for it in dirty if it.base_offset < end)
