"""Which segments go: by log start offset, by size, by time, and never past the high watermark."""

from dataclasses import replace

from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.retention import DeletionReason, RetentionPlan, SegmentView, plan_retention

NOW_MS = 1_000_000
KEEP_ALL = LogConfig(retention_ms=-1, retention_bytes=-1)
COMPACT = LogConfig(cleanup_delete=False, cleanup_compact=True)


def segments(
    *sizes: int, newest_at_ms: tuple[int, ...] = (), modified_at_ms: int = 0
) -> tuple[SegmentView, ...]:
    """Ten offsets each, from 0 on; the last one is the active segment."""
    stamps = newest_at_ms or (NOW_MS,) * len(sizes)
    return tuple(
        SegmentView(10 * index, 10 * index + 10, size, stamps[index], modified_at_ms)
        for index, size in enumerate(sizes)
    )


def plan(
    views: tuple[SegmentView, ...],
    config: LogConfig = KEEP_ALL,
    high_watermark: int = 1000,
    log_start_offset: int = 0,
) -> RetentionPlan:
    return plan_retention(views, config, NOW_MS, high_watermark, log_start_offset)


def bases(retention: RetentionPlan) -> list[int]:
    return [deletion.base_offset for deletion in retention.deletions]


def test_a_log_within_its_bounds_keeps_everything() -> None:
    retention = plan(segments(100, 100, 100), LogConfig(retention_bytes=300))

    assert retention == RetentionPlan((), log_start_offset=0, roll_active=False)


def test_a_segment_whose_newest_record_is_too_old_goes() -> None:
    views = segments(100, 100, 100, newest_at_ms=(NOW_MS - 501, NOW_MS - 500, NOW_MS))

    retention = plan(views, LogConfig(retention_ms=500))

    assert bases(retention) == [0]
    assert retention.deletions[0].reason is DeletionReason.TIME
    assert retention.log_start_offset == 10
    assert not retention.roll_active


def test_expiry_stops_at_the_first_segment_that_is_young_enough() -> None:
    views = segments(100, 100, 100, newest_at_ms=(NOW_MS, 0, NOW_MS))

    assert bases(plan(views, LogConfig(retention_ms=500))) == []


def test_a_segment_without_timestamps_is_as_old_as_its_file() -> None:
    old = segments(100, 100, newest_at_ms=(-1, NOW_MS), modified_at_ms=NOW_MS - 501)
    young = segments(100, 100, newest_at_ms=(-1, NOW_MS), modified_at_ms=NOW_MS - 499)

    assert bases(plan(old, LogConfig(retention_ms=500))) == [0]
    assert bases(plan(young, LogConfig(retention_ms=500))) == []


def test_an_expired_active_segment_is_rolled_and_deleted() -> None:
    views = segments(100, 100, newest_at_ms=(0, 0))

    retention = plan(views, LogConfig(retention_ms=500))

    assert bases(retention) == [0, 10]
    assert retention.roll_active
    assert retention.log_start_offset == 20


def test_an_empty_active_segment_stays_however_old() -> None:
    views = (SegmentView(0, 10, 100, 0), SegmentView(10, 10, 0, -1, modified_at_ms=0))

    retention = plan(views, LogConfig(retention_ms=500))

    assert bases(retention) == [0]
    assert not retention.roll_active


def test_nothing_at_or_beyond_the_high_watermark_goes() -> None:
    views = segments(100, 100, 100, newest_at_ms=(0, 0, 0))

    assert bases(plan(views, LogConfig(retention_ms=500), high_watermark=20)) == [0, 10]
    assert bases(plan(views, LogConfig(retention_ms=500), high_watermark=19)) == [0]


def test_size_retention_leaves_at_least_the_configured_bytes() -> None:
    views = segments(100, 100, 100, 100)

    retention = plan(views, LogConfig(retention_bytes=250, retention_ms=-1))

    assert bases(retention) == [0]
    assert retention.deletions[0].reason is DeletionReason.SIZE
    assert bases(plan(views, LogConfig(retention_bytes=200, retention_ms=-1))) == [0, 10]


def test_segments_before_the_log_start_go_under_every_policy() -> None:
    for config in (KEEP_ALL, COMPACT, LogConfig(cleanup_delete=False)):
        retention = plan(segments(100, 100, 100), config, log_start_offset=15)

        assert bases(retention) == [0]
        assert retention.deletions[0].reason is DeletionReason.LOG_START
        assert retention.log_start_offset == 15


def test_the_log_start_alone_never_takes_the_last_segment() -> None:
    assert bases(plan(segments(100, 100), log_start_offset=20)) == [0]


def test_a_compacted_log_loses_nothing_to_time_or_size() -> None:
    views = segments(100, 100, 100, newest_at_ms=(0, 0, 0))
    config = replace(COMPACT, retention_ms=1, retention_bytes=1)

    assert bases(plan(views, config)) == []


def test_compact_and_delete_together_expire_segments_too() -> None:
    views = segments(100, 100, 100, newest_at_ms=(0, NOW_MS, NOW_MS))
    config = LogConfig(retention_ms=500, cleanup_compact=True)

    assert bases(plan(views, config)) == [0]


def test_each_rule_counts_only_what_the_one_before_left() -> None:
    views = segments(100, 100, 100, 100, newest_at_ms=(0, 0, NOW_MS, NOW_MS))
    config = LogConfig(retention_bytes=300, retention_ms=500)

    retention = plan(views, config, log_start_offset=10)

    reasons = [deletion.reason for deletion in retention.deletions]
    assert reasons == [DeletionReason.LOG_START, DeletionReason.TIME]


def test_a_gap_before_the_next_segment_belongs_to_the_deleted_one() -> None:
    views = (SegmentView(0, 4, 100, 0), SegmentView(10, 20, 100, NOW_MS))

    retention = plan(views, LogConfig(retention_ms=500), high_watermark=20)

    assert retention.log_start_offset == 10
