"""Names of files and directories, as Kafka writes them."""

import pytest

from barnabas_core.log.segments.file_name import (
    DirectoryState,
    PartitionDirectory,
    departing_directory,
    file_name,
    parse_file_name,
    parse_partition_directory,
)

UNIQUE = bytes(range(16))


def test_a_segment_is_named_by_its_offset_in_twenty_digits() -> None:
    assert file_name(42, ".log") == "00000000000000000042.log"
    assert parse_file_name("00000000000000000042.log.swap") == (42, ".log.swap")


@pytest.mark.parametrize("name", ["42.log", "leader-epoch-checkpoint", "0000000000000000004x.log"])
def test_other_files_are_no_segments(name: str) -> None:
    assert parse_file_name(name) is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("orders-0", ("orders", 0, DirectoryState.CURRENT)),
        ("a-b-12", ("a-b", 12, DirectoryState.CURRENT)),
        (f"a-b-12.{UNIQUE.hex()}-delete", ("a-b", 12, DirectoryState.DELETE)),
        (f"orders-3.{UNIQUE.hex()}-future", ("orders", 3, DirectoryState.FUTURE)),
        (f"orders-3.{UNIQUE.hex()}-stray", ("orders", 3, DirectoryState.STRAY)),
    ],
)
def test_a_directory_tells_its_partition_and_state(
    name: str, expected: tuple[str, int, DirectoryState]
) -> None:
    assert parse_partition_directory(name) == PartitionDirectory(*expected)


@pytest.mark.parametrize("name", ["orders", "-3", "orders-", "lost+found", "orders-3.12-delete"])
def test_other_directories_are_no_partitions(name: str) -> None:
    assert parse_partition_directory(name) is None


def test_a_long_topic_name_is_cut_so_that_the_departing_name_fits() -> None:
    name = departing_directory("t" * 249, 12, DirectoryState.DELETE, UNIQUE)

    assert len(name) == 255
    assert name.endswith(f"t-12.{UNIQUE.hex()}-delete")
