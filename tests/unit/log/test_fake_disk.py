"""The fake disk forgets what it may forget, and nothing else."""

from contextlib import suppress

import pytest

from barnabas_core.ports import DiskError
from tests.support.fake_disk import Crash, FakeDisk


def contents_after_crashes(build: str, count: int = 200) -> set[bytes | None]:
    """What `/d/a` may hold after a machine crash, over many seeds."""
    found = set()
    for seed in range(count):
        disk = FakeDisk(seed)
        disk.make_dirs("/d")
        disk.sync_dir("/")
        file = disk.open("/d/a", create=True)
        for step in build.split():
            if step == "sync":
                file.sync()
            elif step == "sync_dir":
                disk.sync_dir("/d")
            elif step.startswith("cut"):
                file.truncate(int(step[3:]))
            else:
                file.write_at(file.size(), [step.encode()])
        disk.crash_machine()
        found.add(disk.read("/d/a"))
    return found


def test_what_was_synced_with_its_name_is_always_there() -> None:
    assert contents_after_crashes("abc sync sync_dir") == {b"abc"}


def test_a_name_that_was_not_synced_may_be_lost_with_its_data() -> None:
    assert contents_after_crashes("abc sync") == {None, b"abc"}


def test_data_that_was_not_synced_may_be_lost_torn_or_kept() -> None:
    found = contents_after_crashes("sync_dir abc")

    assert {b"", b"abc", b"ab", b"a", b"\0\0c", b"a\0c"} <= found
    assert None not in found


def test_later_writes_may_arrive_without_earlier_ones() -> None:
    assert b"\0\0\0def" in contents_after_crashes("sync_dir abc def", 2000)


def test_a_truncation_may_be_lost() -> None:
    assert contents_after_crashes("abc sync sync_dir cut1") == {b"abc", b"a"}


def test_names_of_renamed_files_are_old_or_new() -> None:
    found = set()
    for seed in range(50):
        disk = FakeDisk(seed)
        disk.make_dirs("/d")
        disk.replace("/d/a", b"1")
        disk.sync_dir("/")
        disk.rename("/d/a", "/d/b")
        disk.crash_machine()
        found.add(tuple(name for name, _ in disk.list_dir("/d")))

    assert found == {("a",), ("b",)}


def test_a_durable_replacement_is_old_or_new_and_whole() -> None:
    found = set()
    for seed in range(300):
        disk = FakeDisk(seed)
        disk.make_dirs("/d")
        disk.sync_dir("/")
        disk.replace("/d/a", b"old")
        disk.crash_after(disk.random.randrange(1, 8))
        with suppress(Crash):
            disk.replace("/d/a", b"newer")
        disk.crash_machine()
        found.add(disk.read("/d/a"))

    assert found == {b"old", b"newer"}


def test_a_process_crash_keeps_everything() -> None:
    disk = FakeDisk()
    disk.make_dirs("/d")
    disk.open("/d/a", create=True).write_at(0, [b"abc"])

    disk.crash_process()

    assert disk.read("/d/a") == b"abc"


def test_a_crash_may_cut_a_write_short_and_ends_everything() -> None:
    found = set()
    for seed in range(50):
        disk = FakeDisk(seed)
        file = disk.open("/a", create=True)
        disk.crash_after(1)
        with pytest.raises(Crash):
            file.write_at(0, [b"abc"])
        with pytest.raises(Crash):
            disk.read("/a")
        disk.crash_process()
        found.add(disk.read("/a"))

    assert found == {b"", b"a", b"ab", b"abc"}


def test_after_a_failed_sync_another_one_helps_nothing() -> None:
    disk = FakeDisk()
    disk.open("/a", create=True)
    disk.sync_dir("/")
    file = disk.open("/a")
    file.write_at(0, [b"abc"])
    disk.fail_sync_after(0)

    with pytest.raises(DiskError):
        file.sync()
    assert file.read_at(0, 3) == b"abc"
    disk.crash_machine()

    assert disk.read("/a") == b""


def test_the_same_seed_loses_the_same() -> None:
    def left(seed: int) -> list[tuple[str, int]]:
        disk = FakeDisk(seed)
        for index in range(20):
            disk.open(f"/{index}", create=True).write_at(0, [bytes(100)])
        disk.crash_machine()
        return disk.list_dir("/")

    assert left(5) == left(5)
    assert left(5) != left(6)


def test_a_lock_is_free_again_after_a_crash() -> None:
    disk = FakeDisk()
    disk.lock("/lock")
    with pytest.raises(DiskError):
        disk.lock("/lock")

    disk.crash_process()

    disk.lock("/lock").release()
    disk.lock("/lock")
