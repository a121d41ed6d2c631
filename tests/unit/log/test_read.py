"""Which bytes answer a fetch, from memory and from files."""

from dataclasses import replace
from itertools import pairwise

import pytest

from barnabas_core.log.error import OffsetOutOfRange
from barnabas_core.log.partition_log import PartitionLog
from barnabas_core.log.read import FileSlice, MemorySlice, ReadPending, SliceTruncated
from barnabas_core.log.segments.tail_cache import TailCache
from barnabas_core.records.batch import parse_header
from tests.support.small_log import (
    NOW_MS,
    SMALL,
    append,
    batch_of,
    disk_of,
    fill,
    headers_in,
    new_environment,
    new_log,
    read_all,
    reopened,
    stage,
)


def log_without_tail() -> PartitionLog:
    environment = new_environment()
    environment.tails = TailCache(0, 0)
    return new_log(SMALL, environment)


@pytest.fixture(params=["memory", "files", "reopened"])
def log(request: pytest.FixtureRequest) -> PartitionLog:
    """Ten batches of three records, a few segments, read in one way or another."""
    log = new_log(SMALL) if request.param == "memory" else log_without_tail()
    for number in range(10):
        append(log, batch_of(3, value=bytes(100), timestamp_ms=NOW_MS + number))
    return reopened(log) if request.param == "reopened" else log


def test_every_offset_is_found_in_its_batch(log: PartitionLog) -> None:
    for offset in range(30):
        data = log.read(offset, 1, up_to=30).bytes()

        (header,) = headers_in(data)
        assert header.base_offset == offset // 3 * 3


def test_a_read_gives_what_fits_and_a_whole_batch_at_least(log: PartitionLog) -> None:
    size = parse_header(log.read(0, 1, up_to=30).bytes()).size_bytes

    assert len(log.read(0, 1, up_to=30)) == size
    assert len(headers_in(log.read(0, 3 * size, up_to=30).bytes())) == 3
    assert len(log.read(0, size - 1, up_to=30, min_one_batch=False)) == 0
    assert len(log.read(0, size, up_to=30, min_one_batch=False)) == size


@pytest.mark.parametrize("up_to", [3, 6, 9, 15, 30])
def test_nothing_at_or_beyond_the_bound_is_given(log: PartitionLog, up_to: int) -> None:
    offset, found = 0, []
    while offset < up_to:
        found += headers_in(log.read(offset, 10_000, up_to=up_to).bytes())
        offset = found[-1].next_offset

    assert [it.base_offset for it in found] == list(range(0, up_to, 3))
    assert len(log.read(up_to, 10_000, up_to=up_to)) == 0


def test_reads_walk_through_all_segments(log: PartitionLog) -> None:
    assert len(log.segments) > 1
    assert [it.base_offset for it in read_all(log)] == list(range(0, 30, 3))


def test_the_end_is_empty_and_beyond_it_is_an_error(log: PartitionLog) -> None:
    assert len(log.read(30, 1000, up_to=30)) == 0
    with pytest.raises(OffsetOutOfRange):
        log.read(31, 1000, up_to=30)


def test_before_the_log_start_is_an_error(log: PartitionLog) -> None:
    log.advance_log_start(4)

    with pytest.raises(OffsetOutOfRange) as caught:
        log.read(3, 1000, up_to=30)

    assert (caught.value.log_start_offset, caught.value.log_end_offset) == (4, 30)


def test_pieces_of_a_slice_make_up_the_whole(log: PartitionLog) -> None:
    found = log.read(0, 1000, up_to=30)
    whole = found.bytes()

    for piece in found.slices:
        parts = [piece.read(at, 100) for at in range(0, len(piece), 100)]
        tried = [piece.try_read(at, 100) for at in range(0, len(piece), 100)]
        assert b"".join(parts) in whole
        assert tried == parts


def test_the_tail_comes_from_memory_and_the_rest_from_the_file() -> None:
    environment = new_environment()
    environment.tails = TailCache(10_000, 500)
    log = new_log(environment=environment)
    for _ in range(10):
        append(log, batch_of(value=bytes(100)))

    assert isinstance(log.read(9, 1000, up_to=10).slices[0], MemorySlice)
    assert isinstance(log.read(0, 1000, up_to=10).slices[0], FileSlice)


def test_small_neighbours_in_memory_become_one_slice() -> None:
    log = new_log()
    for _ in range(10):
        append(log, batch_of())

    found = log.read(0, 10_000, up_to=10)

    assert len(found.slices) == 1
    assert len(headers_in(found.bytes())) == 10


def test_a_reader_without_time_is_told_what_to_wait_for() -> None:
    log = log_without_tail()
    append(log, batch_of())
    disk_of(log).is_cold = True

    with pytest.raises(ReadPending) as caught:
        log.read(0, 1000, up_to=1, may_block=False)
    caught.value.warm()
    disk_of(log).is_cold = False

    assert len(log.read(0, 1000, up_to=1, may_block=False)) > 0


def test_a_slice_survives_the_deletion_of_its_segment() -> None:
    log = log_without_tail()
    fill(log, 3)
    found = log.read(0, 10_000, up_to=log.log_end_offset)
    expected = found.bytes()
    log.flush(NOW_MS)
    log.config = replace(log.config, retention_bytes=0)

    deleted = log.delete_old_segments(NOW_MS)
    log.reap_job(2**62).run()

    assert deleted >= 2
    assert found.bytes() == expected


def test_a_slice_of_what_was_truncated_is_an_error_and_no_broken_disk() -> None:
    log = log_without_tail()
    for _ in range(4):
        append(log, batch_of())
    found = log.read(0, 10_000, up_to=4)

    log.truncate_to(1, NOW_MS)

    with pytest.raises(SliceTruncated):
        found.bytes()


def test_an_offset_in_a_gap_is_answered_with_the_next_batch() -> None:
    log = log_without_tail()
    log.stage_replica(bytes(batch_of(base_offset=2)), now_ms=NOW_MS)
    log.write()
    log.roll(NOW_MS)
    log.stage_replica(bytes(batch_of(base_offset=9)), now_ms=NOW_MS)
    log.write()

    bases = [headers_in(log.read(at, 1, up_to=10).bytes())[0].base_offset for at in range(10)]

    assert bases == [2, 2, 2, *[9] * 7]


def test_staged_batches_of_a_segment_that_is_not_there_yet_disturb_no_reader() -> None:
    log = log_without_tail()
    fill(log, 2)
    end_offset = log.log_end_offset
    while len(log.segments) < 3:
        stage(log, batch_of(value=bytes(300), timestamp_ms=NOW_MS + 10_000))

    assert log.read(end_offset - 1, 10_000, up_to=end_offset).bytes()
    assert log.offset_for_timestamp(NOW_MS + 10_000) is None
    newest = log.max_timestamp_offset()
    assert newest is not None
    assert newest.offset < end_offset
    assert log.flush_job() is not None
    assert log.delete_old_segments(NOW_MS) == 0


def test_an_index_lookup_reads_little_however_large_the_segment() -> None:
    log = log_without_tail()
    log.config = replace(log.config, segment_bytes=1 << 30, index_interval_bytes=4096)
    for _ in range(200):
        stage(log, batch_of(value=bytes(1000)))
    log.write()
    segment = log.segments[0]

    positions = [segment.position_before(log._environment.files, offset) for offset in range(200)]

    assert positions == sorted(positions)
    ends = [offset * segment.size_bytes // 200 for offset in range(200)]
    assert all(end - position < 8192 for position, end in zip(positions, ends, strict=True))
    assert all(later >= earlier for earlier, later in pairwise(positions))
