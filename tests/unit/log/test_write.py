"""Two steps: what is staged is nobody's to see until it is written."""

import itertools

import pytest

from barnabas_core.log.error import LogOffline
from barnabas_core.log.log_config import LogConfig
from barnabas_core.ports import DiskError
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


def test_the_log_end_moves_only_when_the_write_has_finished() -> None:
    log = new_log()
    appended = stage(log, batch_of(3))
    assert (log.log_end_offset, log.staged_end_offset) == (0, 3)

    write = log.begin_write()
    assert write is not None
    write.run()
    assert log.log_end_offset == 0
    assert len(log.read(0, 1000, up_to=100)) == 0

    log.finish_write(write)
    assert log.log_end_offset == appended.last_offset + 1 == 3
    assert len(read_all(log)) == 1


def test_staging_goes_on_while_a_write_is_under_way() -> None:
    log = new_log()
    stage(log, batch_of(2))
    write = log.begin_write()
    assert write is not None

    later = stage(log, batch_of(1))
    write.run()
    log.finish_write(write)

    assert later.first_offset == 2
    assert log.log_end_offset == 2
    log.write()
    assert [it.base_offset for it in read_all(log)] == [0, 2]


def test_a_turn_s_batches_go_to_the_file_in_one_write() -> None:
    log = new_log()
    append(log, batch_of())
    for _ in range(10):
        stage(log, batch_of())
    before = disk_of(log).operation_count

    log.write()

    assert disk_of(log).operation_count == before + 1
    assert log.log_end_offset == 11


def test_nothing_staged_is_nothing_to_write() -> None:
    assert new_log().begin_write() is None


def test_a_duplicate_of_what_is_staged_waits_for_the_same_write() -> None:
    log = new_log()
    first = stage(log, produced(0, count=2))

    again = stage(log, produced(0, count=2))

    assert again.duplicate
    assert (again.first_offset, again.last_offset) == (first.first_offset, first.last_offset)
    assert log.log_end_offset <= again.last_offset
    log.write()
    assert log.log_end_offset > again.last_offset
    assert len(read_all(log)) == 1


def test_a_roll_between_staged_batches_makes_two_files_of_one_write() -> None:
    log = new_log(SMALL)
    for _ in range(6):
        stage(log, batch_of(value=bytes(500)))

    log.write()

    assert [segment.base_offset for segment in log.segments] == [0, 3]
    assert [it.base_offset for it in read_all(log)] == list(range(6))


def test_a_sealed_segment_s_indexes_are_files_and_a_snapshot_stands_before_the_next() -> None:
    log = new_log(SMALL)

    fill(log, 2)

    names = {name for name, _ in disk_of(log).list_dir(log.dir_path)}
    base = log.segments[1].base_offset
    assert {f"{0:020d}.index", f"{0:020d}.timeindex", f"{base:020d}.snapshot"} <= names
    assert f"{0:020d}.txnindex" not in names
    assert log.segments[0].active is None
    assert log.segments[1].active is not None


def test_time_rolls_a_segment_by_the_records_timestamps() -> None:
    log = new_log(LogConfig(segment_ms=1000))
    append(log, batch_of(timestamp_ms=NOW_MS))
    append(log, batch_of(timestamp_ms=NOW_MS + 1000))
    assert len(log.segments) == 1

    append(log, batch_of(timestamp_ms=NOW_MS + 1001))

    assert [segment.base_offset for segment in log.segments] == [0, 2]


def test_a_jitter_rolls_a_segment_earlier() -> None:
    """By how much is drawn anew for each, so that logs made together do not roll together."""
    log = new_log(LogConfig(segment_ms=1000, segment_jitter_ms=1000))
    for at_ms in range(0, 20_000, 50):
        append(log, batch_of(timestamp_ms=NOW_MS + at_ms))

    bases = [segment.base_offset for segment in log.segments]
    ages_ms = [(after - before) * 50 for before, after in itertools.pairwise(bases)]
    assert max(ages_ms) <= 1050
    assert min(ages_ms) < 500
    assert len(set(ages_ms)) > 5


def test_without_timestamps_the_clock_rolls_a_segment() -> None:
    log = new_log(LogConfig(segment_ms=1000))
    append(log, batch_of(timestamp_ms=-1), now_ms=NOW_MS)

    append(log, batch_of(timestamp_ms=-1), now_ms=NOW_MS + 1001)

    assert len(log.segments) == 2


def test_a_full_index_rolls_a_segment() -> None:
    log = new_log(LogConfig(segment_index_bytes=24, index_interval_bytes=0))

    for number in range(4):
        append(log, batch_of(timestamp_ms=NOW_MS + number))

    assert len(log.segments) == 2


def test_an_offset_too_far_from_the_base_rolls_a_segment() -> None:
    log = new_log()
    append(log, batch_of())

    log.stage_replica(bytes(batch_of(base_offset=2**31 + 5)), now_ms=NOW_MS)
    log.write()

    assert [segment.base_offset for segment in log.segments] == [0, 2**31 + 5]
    assert log.log_end_offset == 2**31 + 6
    assert len(reopened(log).segments) == 2


def test_an_empty_segment_is_not_rolled() -> None:
    log = new_log()

    log.roll(NOW_MS)

    assert len(log.segments) == 1


def test_a_failed_write_takes_the_log_offline() -> None:
    log = new_log(SMALL)
    append(log, batch_of())
    stage(log, batch_of(value=bytes(1900)))
    disk_of(log).fails = lambda _: True

    with pytest.raises(DiskError):
        log.write()

    with pytest.raises(LogOffline):
        stage(log, batch_of())
    with pytest.raises(LogOffline):
        log.read(0, 100, up_to=1)
    with pytest.raises(LogOffline):
        log.begin_write()


def test_a_log_closed_and_opened_again_goes_on() -> None:
    log = new_log(SMALL)
    fill(log, 3)
    append(log, produced(0, count=2))
    end_offset, headers = log.log_end_offset, read_all(log)

    log = reopened(log)

    assert log.log_end_offset == log.recovery_point == end_offset
    assert read_all(log) == headers
    assert stage(log, produced(0, count=2)).duplicate
    assert append(log, produced(2)).first_offset == end_offset


def test_an_open_log_without_work_is_closed_without_a_trace() -> None:
    log = new_log(SMALL)
    fill(log, 2)
    log = reopened(log)
    before = disk_of(log).operation_count

    log.close(NOW_MS)

    assert disk_of(log).operation_count == before
