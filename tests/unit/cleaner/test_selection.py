"""Which log is compacted next, and what of it."""

from dataclasses import replace

from barnabas_core.log.cleaner.selection import LogView, filthiest, is_cleanable, measure
from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.retention import SegmentView

NOW_MS = 1_000_000
CONFIG = LogConfig(cleanup_compact=True, cleanup_delete=False)

# Ten offsets and a hundred bytes each; the last one is the active segment.
SEGMENTS = tuple(
    SegmentView(10 * it, 10 * it + 10, 100, 1000 + it, first_timestamp_ms=1000 + it)
    for it in range(5)
)
LOG = LogView(
    "orders",
    0,
    CONFIG,
    SEGMENTS,
    log_start_offset=0,
    settled_offset=50,
    checkpoint_offset=20,
)


def test_the_dirty_part_runs_from_the_checkpoint_to_the_active_segment() -> None:
    candidate = measure(LOG, NOW_MS)

    assert (candidate.first_dirty_offset, candidate.first_uncleanable_offset) == (20, 40)
    assert (candidate.clean_bytes, candidate.dirty_bytes) == (200, 200)
    assert candidate.dirty_ratio == 0.5
    assert not candidate.was_reset


def test_a_log_never_cleaned_is_dirty_from_its_start() -> None:
    candidate = measure(replace(LOG, checkpoint_offset=None, log_start_offset=10), NOW_MS)

    assert candidate.first_dirty_offset == 10
    assert (candidate.clean_bytes, candidate.dirty_bytes) == (100, 300)
    assert not candidate.was_reset


def test_nothing_from_the_segment_with_the_settled_offset_on_is_touched() -> None:
    candidate = measure(replace(LOG, settled_offset=35), NOW_MS)

    assert candidate.first_uncleanable_offset == 30
    assert candidate.dirty_bytes == 100


def test_a_settled_offset_below_the_dirty_part_leaves_nothing_to_clean() -> None:
    candidate = measure(replace(LOG, settled_offset=5), NOW_MS)

    assert candidate.dirty_bytes == 0
    assert not is_cleanable(candidate, CONFIG)


def test_segments_younger_than_the_minimum_lag_are_left_alone() -> None:
    lagging = replace(CONFIG, min_compaction_lag_ms=NOW_MS - 1002)

    candidate = measure(replace(LOG, config=lagging, checkpoint_offset=0), NOW_MS)

    assert candidate.first_uncleanable_offset == 30
    assert candidate.dirty_bytes == 300


def test_the_minimum_lag_does_not_look_at_what_is_clean_already() -> None:
    young_head = replace(SEGMENTS[0], largest_timestamp_ms=NOW_MS)
    lagging = replace(CONFIG, min_compaction_lag_ms=500)
    log = replace(LOG, config=lagging, segments=(young_head, *SEGMENTS[1:]))

    assert measure(log, NOW_MS).first_uncleanable_offset == 40


def test_a_checkpoint_below_the_log_start_starts_over_from_there() -> None:
    candidate = measure(replace(LOG, log_start_offset=25, checkpoint_offset=20), NOW_MS)

    assert candidate.first_dirty_offset == 25
    assert candidate.was_reset


def test_a_checkpoint_beyond_the_log_end_cleans_everything_again() -> None:
    candidate = measure(replace(LOG, checkpoint_offset=51), NOW_MS)

    assert candidate.first_dirty_offset == 0
    assert candidate.was_reset
    assert not measure(replace(LOG, checkpoint_offset=50), NOW_MS).was_reset


def test_a_partly_cleaned_segment_counts_as_dirty_once() -> None:
    candidate = measure(replace(LOG, checkpoint_offset=25), NOW_MS)

    assert (candidate.clean_bytes, candidate.dirty_bytes) == (200, 200)


def test_a_log_is_cleaned_only_above_its_dirty_ratio() -> None:
    candidate = measure(LOG, NOW_MS)

    assert not is_cleanable(candidate, replace(CONFIG, min_cleanable_dirty_ratio=0.5))
    assert is_cleanable(candidate, replace(CONFIG, min_cleanable_dirty_ratio=0.49))


def test_a_log_past_its_maximum_lag_is_cleaned_however_little_is_dirty() -> None:
    config = replace(CONFIG, max_compaction_lag_ms=NOW_MS - 1003, min_cleanable_dirty_ratio=1.0)
    overdue = measure(replace(LOG, config=config), NOW_MS)
    in_time = measure(replace(LOG, config=config, checkpoint_offset=30), NOW_MS)

    assert is_cleanable(overdue, config)
    assert not is_cleanable(in_time, config)


def test_an_overdue_log_without_dirty_bytes_is_left_alone() -> None:
    config = replace(CONFIG, max_compaction_lag_ms=1)
    candidate = measure(replace(LOG, config=config, settled_offset=20), NOW_MS)

    assert candidate.is_overdue
    assert not is_cleanable(candidate, config)


def test_an_empty_log_is_not_cleanable() -> None:
    empty = LogView("orders", 0, CONFIG, (SegmentView(0, 0, 0),), 0, 0, None)

    assert not is_cleanable(measure(empty, NOW_MS), replace(CONFIG, min_cleanable_dirty_ratio=0))


def test_the_log_with_the_largest_dirty_share_comes_first() -> None:
    tidy = measure(replace(LOG, topic="tidy", checkpoint_offset=30), NOW_MS)
    filthy = measure(replace(LOG, topic="filthy", checkpoint_offset=0), NOW_MS)
    as_filthy = replace(filthy, topic="also")

    assert filthiest([tidy, filthy]) is filthy
    assert filthiest([filthy, as_filthy]) is as_filthy
    assert filthiest([]) is None
