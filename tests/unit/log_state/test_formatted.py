"""Directories of a node as formatting left them: one that is sound is enough to know the others."""

from pathlib import Path

import pytest

from barnabas_core.log.directories.directory import ForeignDirectory
from barnabas_core.log.directories.directory_meta import META_PROPERTIES_FILE, MetaProperties
from barnabas_core.log.directories.formatted import (
    NodeDirectories,
    NotFormatted,
    open_directories,
)
from barnabas_core.runtime.disk import RealDisk
from barnabas_core.runtime.rng import SystemRng
from tests.support.manual_clock import ManualClock

NODE = 5


def formatted(path: Path, node_id: int = NODE, directory_id: bytes | None = b"d" * 16) -> Path:
    path.mkdir()
    meta = MetaProperties("cluster", node_id, directory_id)
    (path / META_PROPERTIES_FILE).write_bytes(meta.encode(0))
    return path


def opened(*paths: Path) -> NodeDirectories:
    return open_directories(RealDisk(), SystemRng(), ManualClock(0), map(str, paths), NODE)


def test_formatted_directories_are_known_by_their_ids(tmp_path: Path) -> None:
    paths = [formatted(tmp_path / name, directory_id=name.encode() * 16) for name in "ab"]

    found = opened(*paths)

    assert found.cluster_id == "cluster"
    assert [meta.directory_id for meta in found.metas.values()] == [b"a" * 16, b"b" * 16]
    assert not found.problems


def test_without_any_nothing_is_made(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    with pytest.raises(NotFormatted, match="kafka-storage format"):
        opened(tmp_path / "absent", tmp_path / "empty")

    assert [path.name for path in tmp_path.rglob("*")] == ["empty"]


def test_a_new_one_beside_a_formatted_one_becomes_the_nodes(tmp_path: Path) -> None:
    old = formatted(tmp_path / "old")

    found = opened(tmp_path / "new", old)

    written = (tmp_path / "new" / META_PROPERTIES_FILE).read_bytes()
    assert MetaProperties.decode(written) == found.metas[str(tmp_path / "new")]
    assert found.metas[str(tmp_path / "new")].cluster_id == "cluster"


def test_one_without_an_id_is_given_one(tmp_path: Path) -> None:
    path = formatted(tmp_path / "old", directory_id=None)

    assert opened(path).metas == opened(path).metas


def test_what_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    good = formatted(tmp_path / "good")
    (tmp_path / "file").write_text("")
    corrupt = formatted(tmp_path / "corrupt")
    (corrupt / META_PROPERTIES_FILE).write_text("version=7\n")

    found = opened(tmp_path / "file", corrupt, good)

    assert list(found.metas) == [str(good)]
    assert list(found.problems) == [str(tmp_path / "file"), str(corrupt)]


def test_where_none_can_be_read_the_reasons_are_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(NotFormatted, match=r"no log directory can be used: .*file"):
        opened(tmp_path / "file")


def test_those_of_others_are_refused(tmp_path: Path) -> None:
    mine, other = formatted(tmp_path / "mine"), formatted(tmp_path / "other", 6)

    with pytest.raises(ForeignDirectory, match="belongs to node 6 of cluster cluster"):
        opened(mine, other)


def test_two_with_one_id_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ForeignDirectory, match=r"the same directory\.id"):
        opened(formatted(tmp_path / "one"), formatted(tmp_path / "copy"))
