"""Putting files in order: each kind of damage on its own. All at once: `test_crash`."""

from collections.abc import Callable

import pytest

from barnabas_core.log.error import CorruptLog
from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.opening.recovery import Recovered, RecoverySettings, recover_partition
from barnabas_core.log.partition_log import PartitionLog
from barnabas_core.log.segments.file_name import LOG, OFFSET_INDEX, TIME_INDEX, file_name
from tests.support.fake_disk import FakeDisk
from tests.support.small_log import (
    DIR,
    NOW_MS,
    SMALL,
    append,
    batch_of,
    disk_of,
    fill,
    new_disk,
    new_log,
    opened,
    produced,
    read_all,
    stage,
)


def recover(
    disk: FakeDisk, recovery_point: int = 0, *, log_start: int = 0, config: LogConfig = SMALL
) -> Recovered:
    settings = RecoverySettings(recovery_point, log_start, NOW_MS, 2**62)
    return recover_partition(disk, DIR, config, settings)


def killed(log: PartitionLog) -> FakeDisk:
    """What is left when the process just ends."""
    disk = disk_of(log)
    disk.crash_process()
    return disk


@pytest.fixture
def log() -> PartitionLog:
    """Three segments and a little more, with a producer and two epochs."""
    log = new_log(SMALL)
    append(log, produced(0), epoch=1)
    fill(log, 3)
    append(log, produced(1), epoch=2)
    return log


def test_after_a_kill_everything_is_there_again(log: PartitionLog) -> None:
    headers, entries, epochs = read_all(log), list(log.producers.entries()), log.epochs.entries
    disk = killed(log)

    found = recover(disk)

    again = opened(disk, SMALL)
    assert found.truncated_bytes == 0
    assert read_all(again) == headers
    assert list(again.producers.entries()) == entries
    assert again.epochs.entries == epochs


def test_recovering_twice_changes_nothing(log: PartitionLog) -> None:
    disk = killed(log)
    recover(disk)
    before = [(name, disk.read(f"{DIR}/{name}")) for name, _ in disk.list_dir(DIR)]

    recover(disk)

    assert [(name, disk.read(f"{DIR}/{name}")) for name, _ in disk.list_dir(DIR)] == before


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: data[:-70],
        lambda data: data + bytes(300),
        lambda data: data + b"\xff" * 300,
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    ],
    ids=["cut", "cut in the header", "zeros", "rubbish", "flipped"],
)
def test_a_damaged_tail_is_cut_off(log: PartitionLog, damage: Callable[[bytes], bytes]) -> None:
    headers = read_all(log)
    path = log.segments[-1].path(LOG)
    disk = killed(log)
    data = disk.read(path)
    assert data is not None
    damaged = damage(data)
    disk.replace(path, damaged)

    found = recover(disk)

    kept = headers if damaged.startswith(data) else headers[:-1]
    assert read_all(opened(disk, SMALL)) == kept
    assert found.log_end_offset == kept[-1].next_offset
    assert found.truncated_bytes > 0


def test_damage_in_the_middle_takes_all_that_follows(log: PartitionLog) -> None:
    headers = read_all(log)
    middle = log.segments[1]
    disk = killed(log)
    disk.open(middle.path(LOG)).write_at(0, [b"\xff" * 20])

    recover(disk)

    again = opened(disk, SMALL)
    assert read_all(again) == [it for it in headers if it.base_offset < middle.base_offset]
    assert len(again.segments) == 2
    assert append(again, batch_of()).first_offset == middle.base_offset


def test_a_lost_segment_takes_all_that_follows(log: PartitionLog) -> None:
    base = log.segments[1].base_offset
    disk = killed(log)
    disk.remove(f"{DIR}/{file_name(base, LOG)}")

    recover(disk)

    assert opened(disk, SMALL).log_end_offset == base


def test_in_a_compacted_log_a_gap_is_no_damage(log: PartitionLog) -> None:
    end_offset, base = log.log_end_offset, log.segments[1].base_offset
    disk = killed(log)
    disk.remove(f"{DIR}/{file_name(base, LOG)}")

    recover(disk, config=LogConfig(cleanup_compact=True))

    assert opened(disk, SMALL).log_end_offset == end_offset


def test_a_gap_that_begins_before_the_recovery_point_is_no_damage(log: PartitionLog) -> None:
    # The topic was compacted once; its policy is to delete now.
    end_offset = log.log_end_offset
    first, second = log.segments[:2]
    last = [it for it in read_all(log) if it.base_offset < second.base_offset][-1]
    disk = killed(log)
    disk.open(first.path(LOG)).truncate(first.size_bytes - last.size_bytes)

    recover(disk, second.base_offset - 1)

    assert opened(disk, SMALL).log_end_offset == end_offset


def test_what_is_before_the_recovery_point_is_not_read(log: PartitionLog) -> None:
    last = log.segments[-1]
    disk = killed(log)
    first_bytes = disk.read(f"{DIR}/{file_name(0, LOG)}")
    assert first_bytes is not None

    found = recover(disk, last.base_offset + 1)

    assert found.scanned_bytes == last.size_bytes


def test_a_recovery_point_beyond_the_log_is_not_believed(log: PartitionLog) -> None:
    first = log.segments[0]
    disk = killed(log)
    disk.open(first.path(LOG)).write_at(0, [b"\xff" * 20])

    found = recover(disk, 10_000)

    assert found.log_end_offset == 0, "the damage before it was seen"
    assert opened(disk, SMALL).log_end_offset == 0


@pytest.mark.parametrize("suffix", [OFFSET_INDEX, TIME_INDEX])
@pytest.mark.parametrize("damage", ["missing", "cut", "pointing nowhere"])
def test_a_bad_index_of_a_durable_segment_is_made_anew(
    log: PartitionLog, suffix: str, damage: str
) -> None:
    path = log.segments[0].path(suffix)
    end_offset = log.log_end_offset
    disk = killed(log)
    recover(disk)
    data = disk.read(path)
    assert data
    if damage == "missing":
        disk.remove(path)
    else:
        disk.replace(path, data[:-3] if damage == "cut" else b"\xff" * len(data))

    recover(disk, end_offset)

    assert disk.read(path) == data


def test_index_files_without_a_segment_go(log: PartitionLog) -> None:
    disk = killed(log)
    disk.replace(f"{DIR}/{file_name(999, OFFSET_INDEX)}", b"")
    disk.replace(f"{DIR}/{file_name(999, LOG)}.deleted", b"")

    recover(disk)

    assert not [name for name, _ in disk.list_dir(DIR) if "999." in name]


def test_a_damaged_snapshot_is_replaced_by_replaying(log: PartitionLog) -> None:
    entries = list(log.producers.entries())
    end_offset = log.log_end_offset
    disk = killed(log)
    for name, _ in disk.list_dir(DIR):
        if name.endswith(".snapshot"):
            disk.replace(f"{DIR}/{name}", b"rubbish")

    recover(disk, end_offset)

    assert list(opened(disk, SMALL).producers.entries()) == entries


def test_a_log_that_lost_more_than_the_log_start_begins_there(log: PartitionLog) -> None:
    disk = killed(log)
    disk.open(f"{DIR}/{file_name(0, LOG)}").truncate(10)

    recover(disk, log_start=500)

    again = opened(disk, SMALL)
    assert (again.log_start_offset, again.log_end_offset) == (500, 500)
    assert append(again, batch_of()).first_offset == 500


def test_a_directory_without_any_file_becomes_an_empty_log() -> None:
    disk = new_disk()
    disk.make_dirs(DIR)

    recover(disk)

    log = opened(disk, SMALL)
    assert (log.log_start_offset, log.log_end_offset) == (0, 0)


def test_a_torn_write_of_several_batches_leaves_those_that_are_whole(log: PartitionLog) -> None:
    headers = read_all(log)
    for _ in range(3):
        stage(log, batch_of(value=bytes(50)))
    disk = disk_of(log)
    log.write()
    path = log.segments[-1].path(LOG)
    size = disk.size_of(path)
    assert size is not None
    disk.crash_process()
    disk.open(path).truncate(size - 130)

    recover(disk)

    assert opened(disk, SMALL).log_end_offset == headers[-1].next_offset + 1


class TestOpening:
    """What does not fit is noticed when a directory is opened without recovery."""

    def test_leftovers_are_noticed(self, log: PartitionLog) -> None:
        disk = disk_of(log)
        log.close(NOW_MS)
        disk.replace(f"{DIR}/{file_name(0, LOG)}.swap", b"")

        with pytest.raises(CorruptLog):
            opened(disk)

    @pytest.mark.parametrize("suffix", [OFFSET_INDEX, TIME_INDEX])
    def test_a_missing_or_cut_index_is_noticed(self, log: PartitionLog, suffix: str) -> None:
        path = log.segments[1].path(suffix)
        disk = disk_of(log)
        log.close(NOW_MS)
        disk.replace(path, b"123")
        with pytest.raises(CorruptLog):
            opened(disk)

        disk.remove(path)
        with pytest.raises(CorruptLog):
            opened(disk)

    def test_a_tail_that_is_no_batch_is_noticed(self, log: PartitionLog) -> None:
        path = log.segments[-1].path(LOG)
        disk = disk_of(log)
        log.close(NOW_MS)
        file = disk.open(path)
        file.truncate(file.size() - 1)

        with pytest.raises(CorruptLog):
            opened(disk)

    def test_an_index_that_points_beyond_the_log_is_noticed(self, log: PartitionLog) -> None:
        segment = log.segments[-1]
        disk = disk_of(log)
        log.close(NOW_MS)
        disk.replace(segment.path(OFFSET_INDEX), b"\x00\x00\x00\x01\x00\x01\x00\x00")

        with pytest.raises(CorruptLog):
            opened(disk)

    def test_few_files_are_touched(self, log: PartitionLog) -> None:
        disk = disk_of(log)
        log.close(NOW_MS)
        before = disk.operation_count

        opened(disk)

        assert disk.operation_count - before <= 8
