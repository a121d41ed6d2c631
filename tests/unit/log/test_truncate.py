"""Losing the end of a log, or all of it."""

import pytest

from barnabas_core.log.partition_log import PartitionLog
from barnabas_core.log.producers.producer_state import AppendOrigin
from barnabas_core.records.control import end_transaction_batch
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


@pytest.mark.parametrize("offset", [0, 3, 9, 15, 21, 27, 30, 99])
@pytest.mark.parametrize("is_reopened", [False, True])
def test_what_is_left_is_what_was_there_before(offset: int, *, is_reopened: bool) -> None:
    log = new_log(SMALL)
    for number in range(10):
        append(log, batch_of(3, value=bytes(100), timestamp_ms=NOW_MS + number), epoch=number // 4)
    if is_reopened:
        log = reopened(log)
    headers = read_all(log)

    log.truncate_to(offset, NOW_MS)

    end_offset = min(offset, 30)
    assert log.log_end_offset == log.staged_end_offset == end_offset
    assert read_all(log) == [it for it in headers if it.base_offset < offset]
    assert all(entry.start_offset < end_offset for entry in log.epochs.entries)
    assert log.high_watermark <= end_offset
    newest = log.max_timestamp_offset()
    assert (newest.timestamp_ms - NOW_MS + 1 if newest else 0) == end_offset // 3


def test_a_truncated_log_goes_on_and_can_be_opened_again() -> None:
    log = new_log(SMALL)
    fill(log, 3)
    log.truncate_to(4, NOW_MS)

    append(log, batch_of(2, value=b"other"), epoch=9)
    log = reopened(log)

    assert [it.base_offset for it in read_all(log)] == [0, 2, 4]
    assert log.epochs.epoch_for(4) == 9


def test_an_offset_within_a_batch_takes_all_of_the_batch() -> None:
    log = new_log()
    append(log, batch_of(3))
    append(log, batch_of(3))

    log.truncate_to(4, NOW_MS)

    assert log.log_end_offset == 3


def test_the_recovery_point_never_stays_beyond_the_end() -> None:
    log = new_log()
    for _ in range(4):
        append(log, batch_of())
    log.flush(NOW_MS)

    log.truncate_to(2, NOW_MS)

    assert log.recovery_point == 2


def test_producers_forget_what_was_truncated() -> None:
    log = new_log(SMALL)
    append(log, produced(0))
    append(log, produced(1))
    fill(log, 2)
    append(log, produced(2))

    log.truncate_to(1, NOW_MS)

    assert stage(log, produced(1)).first_offset == 1
    assert stage(log, produced(0)).duplicate


def test_producers_come_back_from_the_snapshot_before() -> None:
    log = new_log(SMALL)
    append(log, produced(0))
    fill(log, 3)
    middle = log.segments[1].base_offset
    append(log, produced(1))

    log.truncate_to(middle, NOW_MS)

    entry = log.producers.entry(7)
    assert entry is not None
    assert entry.last_sequence == 0


def test_aborted_transactions_go_with_their_markers() -> None:
    log = new_log()
    append(log, produced(0, is_transactional=True))
    abort(log)
    append(log, produced(1, is_transactional=True))
    abort(log)
    assert len(log.aborted_transactions(0, 4)) == 2

    log.truncate_to(3, NOW_MS)

    (aborted,) = log.aborted_transactions(0, 3)
    assert (aborted.first_offset, aborted.last_offset) == (0, 1)
    assert log.last_stable_offset == 2


def abort(log: PartitionLog) -> None:
    marker = end_transaction_batch(
        commit=False, coordinator_epoch=0, producer_id=7, producer_epoch=0, timestamp_ms=NOW_MS
    )
    log.stage(marker, leader_epoch=0, origin=AppendOrigin.COORDINATOR, now_ms=NOW_MS)
    log.write()
    log.advance_high_watermark(log.log_end_offset)


def test_what_is_only_staged_is_truncated_too() -> None:
    log = new_log()
    append(log, batch_of(2))
    stage(log, batch_of(2))

    log.truncate_to(2, NOW_MS)

    assert log.staged_end_offset == log.log_end_offset == 2


@pytest.mark.parametrize("offset", [0, 5, 1000])
def test_an_emptied_log_starts_where_it_is_told(offset: int) -> None:
    log = new_log(SMALL)
    append(log, produced(0), epoch=2)
    fill(log, 3)

    log.truncate_fully_and_start_at(offset, NOW_MS)
    assert log.log_start_offset == log.log_end_offset == log.high_watermark == offset
    assert log.epochs.entries == []
    assert len(log.producers) == 0

    append(log, batch_of(2))
    log = reopened(log)
    assert (log.log_start_offset, log.log_end_offset) == (offset, offset + 2)


def test_below_the_first_segment_everything_goes() -> None:
    log = new_log()
    log.truncate_fully_and_start_at(100, NOW_MS)
    append(log, batch_of(5))

    log.truncate_to(50, NOW_MS)

    assert (log.log_start_offset, log.log_end_offset) == (50, 50)


def test_retired_files_wait_for_their_readers_and_then_go() -> None:
    log = new_log(SMALL)
    fill(log, 3)

    log.truncate_to(1, NOW_MS)
    waiting = [name for name, _ in disk_of(log).list_dir(log.dir_path) if "deleted" in name]
    log.reap_job(NOW_MS + log.config.file_delete_delay_ms - 1).run()
    still = [name for name, _ in disk_of(log).list_dir(log.dir_path) if "deleted" in name]
    log.reap_job(NOW_MS + log.config.file_delete_delay_ms).run()
    gone = [name for name, _ in disk_of(log).list_dir(log.dir_path) if "deleted" in name]

    assert len(waiting) == 2
    assert still == waiting
    assert gone == []


def test_an_epoch_in_which_nothing_was_written_goes_too() -> None:
    """Otherwise a follower would name it for ever to a leader that has never heard of it."""
    log = new_log()
    append(log, batch_of(2), epoch=1)
    log.assign_epoch(4)

    log.truncate_to(2, NOW_MS)

    assert log.epochs.latest_epoch == 1
