"""What a broker says of its last shutdown: clean only if all of its directories agree (KIP-966)."""

from pathlib import Path

import pytest

from barnabas_broker.directory_facts import read_directory_facts
from barnabas_core.log.directories.directory_meta import (
    CLEAN_SHUTDOWN_FILE,
    META_PROPERTIES_FILE,
    MetaProperties,
    encode_clean_shutdown,
)
from barnabas_core.runtime.disk import RealDisk

IDS = [b"a" * 16, b"b" * 16]


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    """Two directories of one broker, left cleanly at epoch 7."""
    made = []
    for number, directory_id in enumerate(IDS):
        path = tmp_path / str(number)
        path.mkdir()
        meta = MetaProperties("cluster", 1, directory_id)
        (path / META_PROPERTIES_FILE).write_bytes(meta.encode(0))
        (path / CLEAN_SHUTDOWN_FILE).write_bytes(encode_clean_shutdown(7))
        made.append(path)
    return made


def facts(paths: list[Path]) -> tuple[list[bytes], int]:
    return read_directory_facts(RealDisk(), [str(path) for path in paths])


def test_directories_that_agree_tell_the_epoch(paths: list[Path]) -> None:
    assert facts(paths) == (IDS, 7)


def test_one_directory_that_was_not_closed_makes_it_unclean(paths: list[Path]) -> None:
    (paths[1] / CLEAN_SHUTDOWN_FILE).unlink()

    assert facts(paths) == (IDS, -1)


def test_directories_of_different_epochs_make_it_unclean(paths: list[Path]) -> None:
    (paths[1] / CLEAN_SHUTDOWN_FILE).write_bytes(encode_clean_shutdown(6))

    assert facts(paths) == (IDS, -1)


def test_a_file_without_an_epoch_makes_it_unclean(paths: list[Path]) -> None:
    for path in paths:
        (path / CLEAN_SHUTDOWN_FILE).write_bytes(b"")

    assert facts(paths) == (IDS, -1)


@pytest.mark.parametrize("content", [None, b"rubbish"])
def test_a_lost_directory_makes_it_unclean_and_is_not_told(
    paths: list[Path], content: bytes | None
) -> None:
    if content is None:
        (paths[0] / META_PROPERTIES_FILE).unlink()
    else:
        (paths[0] / META_PROPERTIES_FILE).write_bytes(content)

    assert facts(paths) == (IDS[1:], -1)
