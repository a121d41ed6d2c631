"""What is durable when, and what a failed fsync means."""

import pytest

from barnabas_core.log.error import LogOffline
from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.partition_log import PartitionLog
from barnabas_core.ports import DiskError
from tests.support.small_log import (
    NOW_MS,
    SMALL,
    append,
    batch_of,
    disk_of,
    fill,
    new_disk,
    new_environment,
    new_log,
    opened,
    read_all,
    stage,
)


def test_the_recovery_point_moves_when_the_job_has_run() -> None:
    log = new_log()
    append(log, batch_of(3))

    job = log.flush_job()
    assert job is not None
    append(log, batch_of(1))
    job.run()
    assert log.recovery_point == 0

    log.finish_flush(job, NOW_MS)
    assert log.recovery_point == 3


def test_what_is_flushed_survives_the_machine() -> None:
    log = new_log(SMALL)
    fill(log, 3)
    append(log, batch_of(), epoch=3)
    headers = read_all(log)
    disk = disk_of(log)

    log.flush(NOW_MS)

    for name, size in disk.list_dir(log.dir_path):
        assert size >= 0
        node = disk._find(f"{log.dir_path}/{name}")
        assert not node.pending, f"{name} is not durable"  # type: ignore[union-attr]
    directory = disk._directory(log.dir_path)
    assert not directory.pending
    assert log.recovery_point == headers[-1].next_offset


def test_flushing_twice_does_nothing_the_second_time() -> None:
    log = new_log()
    append(log, batch_of())
    log.flush(NOW_MS)

    assert log.flush_job() is None


def test_a_truncation_voids_a_flush_under_way() -> None:
    log = new_log()
    for _ in range(4):
        append(log, batch_of())
    job = log.flush_job()
    assert job is not None

    log.truncate_to(1, NOW_MS)
    append(log, batch_of(5))
    job.run()
    log.finish_flush(job, NOW_MS)

    assert log.recovery_point == 0


def test_a_segment_whose_indexes_are_about_to_be_written_is_not_passed() -> None:
    log = new_log(SMALL)
    append(log, batch_of(2, value=bytes(800)))
    stage(log, batch_of(2, value=bytes(800)))
    assert len(log.segments) == 2
    write = log.begin_write()
    assert write is not None

    log.flush(NOW_MS)

    assert log.recovery_point < log.segments[1].base_offset
    write.run()
    log.finish_write(write)
    log.flush(NOW_MS)
    assert log.recovery_point == log.log_end_offset


def test_a_failed_sync_is_never_tried_again() -> None:
    log = new_log()
    append(log, batch_of())
    disk_of(log).fail_sync_after(0)

    with pytest.raises(DiskError):
        log.flush(NOW_MS)

    with pytest.raises(LogOffline):
        log.flush(NOW_MS)
    log.close(NOW_MS)
    assert log.recovery_point == 0


def needs_flush_after(config: LogConfig, count: int, later_ms: int = 0) -> bool:
    log = new_log(config)
    for _ in range(count):
        append(log, batch_of(value=bytes(500)))
    return log.needs_flush(NOW_MS + later_ms)


def test_flushes_are_asked_for_by_count_by_time_and_by_sealed_segments() -> None:
    assert not needs_flush_after(LogConfig(), 5, later_ms=10**9)
    assert not needs_flush_after(LogConfig(flush_messages=6), 5)
    assert needs_flush_after(LogConfig(flush_messages=5), 5)
    assert not needs_flush_after(LogConfig(flush_ms=1000), 1, later_ms=999)
    assert needs_flush_after(LogConfig(flush_ms=1000), 1, later_ms=1000)
    assert not needs_flush_after(LogConfig(flush_ms=1000), 0, later_ms=10**9)
    assert needs_flush_after(LogConfig(segment_bytes=1200), 3)


def flushed(log: PartitionLog) -> PartitionLog:
    log.flush(NOW_MS)
    return log


def test_after_a_flush_none_is_needed() -> None:
    log = new_log(SMALL)
    fill(log, 3)

    assert not flushed(log).needs_flush(NOW_MS)


def test_changed_leader_epochs_are_flushed_without_new_records() -> None:
    log = new_log()
    append(log, batch_of(4), epoch=1)
    append(log, batch_of(4), epoch=2)
    log.flush(NOW_MS)

    log.advance_log_start(5)
    log.flush(NOW_MS)

    assert disk_of(log).read(f"{log.dir_path}/leader-epoch-checkpoint") == b"0\n1\n2 5\n"


def test_a_log_that_was_never_written_to_is_closed_with_few_syncs() -> None:
    log = new_log()
    log.assign_epoch(3)
    disk = disk_of(log)
    before = disk.sync_count

    log.close(NOW_MS)

    assert disk.sync_count - before == 3, "its epochs, the names beside them, its own name"
    disk.crash_machine()
    again = opened(disk)
    assert again.log_end_offset == 0
    assert again.end_offset_for_epoch(3) == (3, 0)


def test_a_new_log_that_was_cut_to_nothing_stays_empty() -> None:
    for seed in range(20):
        disk = new_disk(seed)
        log = new_log(environment=new_environment(disk))
        append(log, batch_of(3))
        log.truncate_to(0, NOW_MS)

        log.close(NOW_MS)
        disk.crash_machine()

        assert opened(disk).log_end_offset == 0, f"seed {seed}"
