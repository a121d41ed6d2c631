"""Which partitions are closed, and worth merging."""

from datetime import UTC, datetime

import pytest

from barnabas_pipeline.sinks.compaction import Partition, file_count, is_due, start_of
from barnabas_pipeline.spec.model import ParquetSink

HOUR_MS = 3_600_000
MIB = 1 << 20


def ms(text: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def spec(by: str = "hour") -> ParquetSink:
    return ParquetSink("/lake", (), "at", by, 100 * MIB, HOUR_MS)


NOON = Partition("day=2026-11-17/hour=12", (MIB, MIB), ms("2026-11-17T13:05"))


@pytest.mark.parametrize(
    ("path", "moment"),
    [
        ("day=2026-11-17/hour=12", "2026-11-17T12:00"),
        ("country=DE/day=2026-11-17", "2026-11-17T00:00"),
        ("month=2026-11", "2026-11-01T00:00"),
    ],
)
def test_a_directory_says_when_its_time_begins(path: str, moment: str) -> None:
    assert start_of(path) == ms(moment)


@pytest.mark.parametrize(
    "path", ["country=DE", "day=__HIVE_DEFAULT_PARTITION__", "day=2026-11-17/hour=xx"]
)
def test_a_directory_without_a_time_has_no_beginning(path: str) -> None:
    assert start_of(path) is None
    assert not is_due(Partition(path, (MIB, MIB), 0), spec(), ms("2030-01-01T00:00"))


def test_it_waits_for_the_end_of_the_partition_and_the_time_after() -> None:
    quiet = Partition(NOON.path, NOON.file_sizes, ms("2026-11-17T12:10"))

    assert not is_due(quiet, spec(), ms("2026-11-17T13:59"))
    assert is_due(quiet, spec(), ms("2026-11-17T14:00"))


def test_it_waits_after_late_rows_too() -> None:
    assert not is_due(NOON, spec(), ms("2026-11-17T14:04"))
    assert is_due(NOON, spec(), ms("2026-11-17T14:05"))


def test_one_file_or_only_large_ones_are_left_alone() -> None:
    late = ms("2026-12-01T00:00")

    assert not is_due(Partition(NOON.path, (MIB,), 0), spec(), late)
    assert not is_due(Partition(NOON.path, (90 * MIB, 95 * MIB), 0), spec(), late)
    assert not is_due(Partition(NOON.path, (100 * MIB, 20 * MIB), 0), spec(), late)
    assert is_due(Partition(NOON.path, (60 * MIB, 20 * MIB), 0), spec(), late)


def test_there_are_as_many_files_as_the_target_size_asks_for() -> None:
    assert file_count(Partition("", (MIB,) * 250, 0), spec()) == 3
    assert file_count(Partition("", (1,), 0), spec()) == 1
