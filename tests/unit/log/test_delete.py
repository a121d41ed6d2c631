"""Losing the beginning of a log: retention and DeleteRecords."""

from dataclasses import replace

import pytest

from barnabas_core.log.error import OffsetOutOfRange
from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.partition_log import PartitionLog
from tests.support.small_log import (
    NOW_MS,
    SMALL,
    append,
    batch_of,
    disk_of,
    fill,
    new_log,
    produced,
    read_all,
    reopened,
    stage,
)


@pytest.fixture
def log() -> PartitionLog:
    """Four segments, all flushed."""
    log = new_log(SMALL)
    append(log, produced(0))
    fill(log, 4)
    log.flush(NOW_MS)
    return log


def test_old_segments_go_and_the_log_starts_at_the_next(log: PartitionLog) -> None:
    bases = [segment.base_offset for segment in log.segments]
    log.config = replace(log.config, retention_bytes=log.size_bytes - 3000)

    assert log.delete_old_segments(NOW_MS) == 1

    assert log.log_start_offset == bases[1]
    assert read_all(log)[0].base_offset == bases[1]
    assert reopened(log).log_start_offset == bases[1]


def test_an_expired_log_is_emptied_and_goes_on_where_it_was(log: PartitionLog) -> None:
    end_offset = log.log_end_offset
    log.config = replace(log.config, retention_ms=1000)

    log.delete_old_segments(NOW_MS + 10_000)
    log.flush(NOW_MS)
    log.delete_old_segments(NOW_MS + 10_000)

    assert [segment.base_offset for segment in log.segments] == [end_offset]
    assert log.log_start_offset == log.log_end_offset == end_offset
    log = reopened(log)
    assert log.log_start_offset == end_offset
    assert stage(log, produced(0)).duplicate, "producers outlive their records"


def test_what_is_not_flushed_is_invisible_at_once_but_deleted_later() -> None:
    log = new_log(SMALL)
    fill(log, 3)
    log.config = replace(log.config, retention_bytes=0)

    assert log.delete_old_segments(NOW_MS) == 0
    assert log.log_start_offset > 0
    assert log.needs_flush(NOW_MS)

    log.flush(NOW_MS)
    assert log.delete_old_segments(NOW_MS) > 0


def test_nothing_above_the_high_watermark_goes() -> None:
    log = new_log(SMALL)
    for _ in range(12):
        stage(log, batch_of(value=bytes(500)))
    log.write()
    log.advance_high_watermark(4)
    log.flush(NOW_MS)
    log.config = replace(log.config, retention_bytes=0)

    log.delete_old_segments(NOW_MS)

    assert log.log_start_offset <= 4
    assert log.log_end_offset == 12


def test_deleted_records_are_gone_for_readers_and_then_from_the_disk(log: PartitionLog) -> None:
    target = log.segments[2].base_offset + 1

    assert log.advance_log_start(target)
    assert not log.advance_log_start(target - 1)
    assert len(log.segments) == 4

    assert log.delete_old_segments(NOW_MS) == 2
    assert log.log_start_offset == target
    assert log.segments[0].base_offset == target - 1


def test_records_above_the_high_watermark_cannot_be_deleted(log: PartitionLog) -> None:
    with pytest.raises(OffsetOutOfRange):
        log.advance_log_start(log.high_watermark + 1)


def test_snapshots_before_the_log_go_with_it(log: PartitionLog) -> None:
    log.advance_log_start(log.segments[3].base_offset)

    log.delete_old_segments(NOW_MS)

    names = [name for name, _ in disk_of(log).list_dir(log.dir_path) if name.endswith(".snapshot")]
    assert names == [f"{log.segments[0].base_offset:020d}.snapshot"]


def test_the_files_go_in_a_thread_and_the_segments_at_once(log: PartitionLog) -> None:
    log.advance_log_start(log.segments[2].base_offset)
    names = len(disk_of(log).list_dir(log.dir_path))

    job = log.retention_job(NOW_MS)
    assert job is not None
    assert len(log.segments) == 2
    assert len(disk_of(log).list_dir(log.dir_path)) == names

    job.run()
    assert len(disk_of(log).list_dir(log.dir_path)) < names


def test_compaction_alone_deletes_nothing_but_below_the_log_start(log: PartitionLog) -> None:
    log.config = LogConfig(
        segment_bytes=2000,
        cleanup_delete=False,
        cleanup_compact=True,
        retention_ms=1,
        retention_bytes=1,
    )
    assert log.delete_old_segments(NOW_MS + 10**9) == 0

    log.advance_log_start(log.segments[1].base_offset)

    assert log.delete_old_segments(NOW_MS) == 1
