"""Open files and views, bounded."""

import pytest

from barnabas_core.log.segments.file_cache import FileCache
from barnabas_core.ports import DiskError, File, TooManyOpenFiles
from tests.support.fake_disk import FakeDisk, FakeFile


class CountingDisk(FakeDisk):
    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.refuses = 0

    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> FakeFile:
        if self.refuses:
            self.refuses -= 1
            raise TooManyOpenFiles(path, "too many open files")
        self.opened.append(path)
        return super().open(path, create=create, read_only=read_only)


@pytest.fixture
def disk() -> CountingDisk:
    disk = CountingDisk()
    for name in "abcd":
        disk.open(f"/{name}", create=True).write_at(0, [name.encode()])
    disk.opened.clear()
    return disk


def test_the_least_recently_used_file_goes_first(disk: CountingDisk) -> None:
    cache = FileCache(disk, file_count_max=2)

    for path in ("/a", "/b", "/a", "/c", "/a", "/b"):
        cache.file(path)

    assert disk.opened == ["/a", "/b", "/c", "/b"]
    assert len(cache) == 2


def test_a_file_that_left_the_cache_can_be_read_on(disk: CountingDisk) -> None:
    cache = FileCache(disk, file_count_max=1)
    file = cache.file("/a")

    cache.file("/b")

    assert file.read_at(0, 1) == b"a"


def test_a_dropped_name_is_opened_again(disk: CountingDisk) -> None:
    cache = FileCache(disk)
    first: File = cache.file("/a")
    view = cache.view("/a")

    cache.drop("/a")
    disk.rename("/b", "/a")

    assert cache.file("/a").read_at(0, 1) == b"b"
    assert bytes(cache.view("/a")) == b"b"
    assert first.read_at(0, 1) == b"a"
    assert bytes(view) == b"a"


def test_views_are_bounded_too(disk: CountingDisk) -> None:
    cache = FileCache(disk, view_count_max=1)
    view = cache.view("/a")

    cache.view("/b")

    assert cache.view("/a") is not view
    assert cache.view("/a") is cache.view("/a")


def test_without_descriptors_the_cache_gives_up_its_own_and_tries_again(
    disk: CountingDisk,
) -> None:
    cache = FileCache(disk)
    cache.file("/a")
    disk.refuses = 1

    assert cache.file("/b").read_at(0, 1) == b"b"
    assert len(cache) == 1


def test_what_is_broken_is_not_tried_again(disk: CountingDisk) -> None:
    cache = FileCache(disk)

    with pytest.raises(DiskError):
        cache.file("/nowhere")
