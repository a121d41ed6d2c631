"""Offsets by timestamp."""

from random import Random

import pytest

from barnabas_core.log.log_config import LogConfig
from barnabas_core.records.builder import build_batch
from barnabas_core.records.compression import Compression
from barnabas_core.records.record import Record
from tests.support.small_log import NOW_MS, SMALL, append, batch_of, new_log, reopened


@pytest.mark.parametrize("seed", range(20))
def test_the_first_record_at_or_after_a_time_is_found(seed: int) -> None:
    random = Random(seed)
    log = new_log(SMALL)
    stamps: list[int] = []
    for _ in range(60):
        times = [NOW_MS + random.randrange(1000) for _ in range(random.randrange(1, 4))]
        records = [
            Record(offset, at_ms, b"k", bytes(random.randrange(100)))
            for offset, at_ms in enumerate(times)
        ]
        codec = random.choice([Compression.NONE, Compression.ZSTD])
        append(log, build_batch(records, compression=codec), epoch=len(stamps) // 10)
        stamps += times
    if random.randrange(2):
        log = reopened(log)
    log.advance_log_start(random.randrange(20))

    for at_ms in range(NOW_MS - 10, NOW_MS + 1010, 7):
        expected = next(
            (
                (stamp, offset)
                for offset, stamp in enumerate(stamps)
                if stamp >= at_ms and offset >= log.log_start_offset
            ),
            None,
        )
        found = log.offset_for_timestamp(at_ms)
        assert (found and found[:2]) == expected, f"seed {seed}"
        if found is not None:
            assert found.leader_epoch == log.epochs.epoch_for(found.offset)


def test_the_largest_timestamp_is_found_with_its_first_record() -> None:
    log = new_log(SMALL)
    for at_ms in (5, 9, 3, 9, 1):
        append(log, batch_of(2, value=bytes(800), timestamp_ms=NOW_MS + at_ms))

    found = reopened(log).max_timestamp_offset()

    assert found is not None
    assert (found.timestamp_ms, found.offset) == (NOW_MS + 9, 2)


def test_an_empty_log_and_records_without_time_have_none() -> None:
    log = new_log(LogConfig())
    assert log.max_timestamp_offset() is None
    assert log.offset_for_timestamp(0) is None

    append(log, batch_of(timestamp_ms=-1))

    assert log.max_timestamp_offset() is None
    assert log.offset_for_timestamp(0) is None


def test_log_append_time_counts_for_every_record() -> None:
    log = new_log(LogConfig(message_timestamp_type="LogAppendTime"))
    append(log, batch_of(3, timestamp_ms=1), now_ms=NOW_MS)

    found = log.offset_for_timestamp(NOW_MS - 1)

    assert found is not None
    assert (found.timestamp_ms, found.offset) == (NOW_MS, 0)
