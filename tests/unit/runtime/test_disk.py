"""The real disk keeps the promises of its port."""

import contextlib
import gc
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from barnabas_core.ports import DiskError, TooManyOpenFiles
from barnabas_core.runtime.disk import MAP_BYTES_MIN, RealDisk, raise_file_limit


@pytest.fixture
def disk() -> RealDisk:
    return RealDisk()


def open_count(below: Path) -> int:
    """Descriptors of files below a directory: other tests' come and go meanwhile."""
    count = 0
    for descriptor in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            count += os.readlink(f"/proc/self/fd/{descriptor}").startswith(f"{below}/")
    return count


def test_what_is_written_at_a_position_is_read_there(disk: RealDisk, tmp_path: Path) -> None:
    file = disk.open(f"{tmp_path}/a", create=True)

    file.write_at(0, [b"abc", bytearray(b"def"), memoryview(b"ghi")])
    file.write_at(1, [b"XY"])

    assert file.size() == 9
    assert file.read_at(0, 100) == b"aXYdefghi"
    assert file.read_at(3, 3) == b"def"
    assert file.read_at(9, 1) == b""
    assert file.try_read_at(0, 9) == b"aXYdefghi"
    assert file.try_read_at(0, 10) is None, "whether the end or the cache ends is not known"


def test_more_buffers_than_the_kernel_takes_at_once_are_all_written(
    disk: RealDisk, tmp_path: Path
) -> None:
    buffers = [index.to_bytes(2) for index in range(3000)]
    file = disk.open(f"{tmp_path}/a", create=True)

    file.write_at(0, buffers)

    assert file.read_at(0, 10_000) == b"".join(buffers)


def test_a_short_write_is_continued(
    disk: RealDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_seven(descriptor: int, buffers: list[bytes], position: int) -> int:
        return os.pwrite(descriptor, b"".join(buffers)[:7], position)

    monkeypatch.setattr(os, "pwritev", write_seven)
    file = disk.open(f"{tmp_path}/a", create=True)

    file.write_at(0, [b"0123", b"456789", b"", b"abcdefghij"])

    assert file.read_at(0, 100) == b"0123456789abcdefghij"


def test_a_short_read_is_continued(
    disk: RealDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = disk.open(f"{tmp_path}/a", create=True)
    file.write_at(0, [b"0123456789"])
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, size, at: pread(fd, min(size, 3), at))

    assert file.read_at(0, 9) == b"012345678"
    assert file.read_at(5, 100) == b"56789"


def test_a_read_that_would_wait_says_so(
    disk: RealDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def would_wait(*_: object) -> int:
        raise BlockingIOError

    file = disk.open(f"{tmp_path}/a", create=True)
    file.write_at(0, [b"abc"])
    monkeypatch.setattr(os, "preadv", would_wait)

    assert file.try_read_at(0, 3) is None


def test_truncation_cuts_and_extends(disk: RealDisk, tmp_path: Path) -> None:
    file = disk.open(f"{tmp_path}/a", create=True)
    file.write_at(0, [b"abc"])

    file.truncate(1)
    file.truncate(3)

    assert file.read_at(0, 10) == b"a\0\0"


def test_a_file_closes_when_nobody_refers_to_it(disk: RealDisk, tmp_path: Path) -> None:
    file = disk.open(f"{tmp_path}/a", create=True)
    other = disk.open(f"{tmp_path}/b", create=True)
    assert open_count(tmp_path) == 2

    del file
    other.close()
    other.close()
    gc.collect()

    assert open_count(tmp_path) == 0


def test_a_deleted_file_is_read_on(disk: RealDisk, tmp_path: Path) -> None:
    file = disk.open(f"{tmp_path}/a", create=True)
    file.write_at(0, [b"abc"])

    disk.remove(f"{tmp_path}/a")

    assert file.read_at(0, 3) == b"abc"
    disk.remove(f"{tmp_path}/a")


@pytest.mark.parametrize("size", [0, 10, MAP_BYTES_MIN, MAP_BYTES_MIN + 1])
def test_a_view_shows_the_file(disk: RealDisk, tmp_path: Path, size: int) -> None:
    data = os.urandom(size)
    (tmp_path / "a").write_bytes(data)

    view = disk.map(f"{tmp_path}/a")

    assert bytes(view) == data
    assert view.readonly
    assert open_count(tmp_path) <= 1, "a map keeps at most its own descriptor"


def test_small_files_are_replaced_whole(disk: RealDisk, tmp_path: Path) -> None:
    path = f"{tmp_path}/a"
    assert disk.read(path) is None

    disk.replace(path, b"one")
    disk.replace(path, b"two", durable=False)

    assert disk.read(path) == b"two"
    assert disk.list_dir(str(tmp_path)) == [("a", 3)]


def test_a_listing_is_sorted_and_tells_sizes(disk: RealDisk, tmp_path: Path) -> None:
    disk.make_dirs(f"{tmp_path}/b/c")
    disk.replace(f"{tmp_path}/a", b"12")
    disk.replace(f"{tmp_path}/c", b"")

    assert disk.list_dir(str(tmp_path)) == [("a", 2), ("b", -1), ("c", 0)]
    assert disk.size_of(f"{tmp_path}/a") == 2
    assert disk.size_of(f"{tmp_path}/x") is None


def test_what_goes_away_while_a_directory_is_listed_is_left_out(
    disk: RealDisk, tmp_path: Path
) -> None:
    disk.replace(f"{tmp_path}/a", b"12")
    # To the one who lists, a link to nothing is an entry that was gone when he asked for its size.
    (tmp_path / "b.part").symlink_to(tmp_path / "gone")

    assert disk.list_dir(str(tmp_path)) == [("a", 2)]


def test_times_renames_and_trees(disk: RealDisk, tmp_path: Path) -> None:
    disk.make_dirs(f"{tmp_path}/b")
    disk.replace(f"{tmp_path}/b/a", b"12")
    disk.set_modified_ms(f"{tmp_path}/b/a", 1_700_000_000_123)

    disk.rename(f"{tmp_path}/b", f"{tmp_path}/d")
    disk.sync_dir(str(tmp_path))

    assert disk.modified_ms(f"{tmp_path}/d/a") == 1_700_000_000_123
    disk.remove_tree(f"{tmp_path}/d")
    disk.remove_tree(f"{tmp_path}/d")
    assert disk.list_dir(str(tmp_path)) == []


def test_what_fails_names_the_path(disk: RealDisk, tmp_path: Path) -> None:
    path = f"{tmp_path}/nowhere/a"
    for call in (
        lambda: disk.open(path),
        lambda: disk.open(path, create=True),
        lambda: disk.map(path),
        lambda: disk.replace(path, b""),
        lambda: disk.list_dir(path),
        lambda: disk.modified_ms(path),
        lambda: disk.rename(path, path),
        lambda: disk.sync_dir(path),
        lambda: disk.lock(path),
    ):
        with pytest.raises(DiskError) as caught:
            call()
        assert caught.value.path == path


def test_a_full_disk_is_a_disk_error(disk: RealDisk) -> None:
    file = disk.open("/dev/full")

    with pytest.raises(DiskError, match="No space left"):
        file.write_at(0, [b"abc"])


def test_a_lock_keeps_another_process_out(disk: RealDisk, tmp_path: Path) -> None:
    path = f"{tmp_path}/.lock"
    lock = disk.lock(path)
    program = (
        "import sys\n"
        "from barnabas_core.runtime.disk import RealDisk\n"
        "RealDisk().lock(sys.argv[1])\n"
    )

    def run() -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-c", program, path]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    refused = run()
    lock.release()
    lock.release()

    assert "locked by another process" in refused.stderr
    assert run().returncode == 0


def test_running_out_of_descriptors_is_told_apart(disk: RealDisk, tmp_path: Path) -> None:
    disk.replace(f"{tmp_path}/a", b"")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft = len(os.listdir("/proc/self/fd")) + 3
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, limits[1]))
    try:
        with pytest.raises(TooManyOpenFiles):
            # Other tests may have left gaps below the limit: so many cannot fit.
            list(map(disk.open, [f"{tmp_path}/a"] * (soft + 1)))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_the_file_limit_is_raised_as_far_as_allowed() -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        most = raise_file_limit()
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == most >= limits[0]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_a_disk_that_does_not_sync_forces_nothing_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(_: int) -> None:
        raise AssertionError("nobody asked for that")

    monkeypatch.setattr(os, "fsync", never)
    disk = RealDisk(syncs=False)

    file = disk.open(f"{tmp_path}/file", create=True)
    file.write_at(0, [b"kept"])
    file.sync()
    disk.replace(f"{tmp_path}/small", b"whole")
    disk.sync_dir(str(tmp_path))

    assert file.read_at(0, 10) == b"kept"
    assert disk.read(f"{tmp_path}/small") == b"whole"
