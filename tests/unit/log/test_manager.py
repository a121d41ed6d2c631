"""Directories full of logs: who owns them, what they remember, and when one fails."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import pytest

from barnabas_core.log.directories.closing import close_directories
from barnabas_core.log.directories.directory import ForeignDirectory
from barnabas_core.log.error import LogOffline
from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.manager import LastDirectoryLost, LogManager, TopicIdMismatch
from barnabas_core.log.worker import JOBS, JobContext
from barnabas_core.ports import DiskError
from barnabas_core.wire.primitive import ZERO_UUID
from tests.support.fake_disk import FakeDisk
from tests.support.logs import CLUSTER_ID, new_manager, open_manager
from tests.support.manual_clock import ManualClock
from tests.support.small_log import (
    SMALL,
    TOPIC_ID,
    append,
    batch_of,
    fill,
    new_disk,
    produced,
    read_all,
)

T = TypeVar("T")
OTHER_ID = bytes(range(16, 32))
TWO = ("/logs", "/more")


def killed(disk: FakeDisk) -> FakeDisk:
    disk.crash_process()
    return disk


class TestOwnership:
    def test_a_new_directory_becomes_the_node_s(self) -> None:
        disk = new_disk()

        manager = open_manager(disk)

        meta = (disk.read("/logs/meta.properties") or b"").decode()
        assert f"cluster.id={CLUSTER_ID}\n" in meta
        assert "node.id=1\n" in meta
        assert "directory.id=" in meta
        assert len(manager.directories[0].id) == 16

    def test_it_keeps_its_id(self) -> None:
        disk = new_disk()
        manager = open_manager(disk)
        first = manager.directories[0].id
        manager.close()

        assert open_manager(disk).directories[0].id == first

    def test_a_directory_without_an_id_gets_one(self) -> None:
        disk = new_disk()
        meta = f"version=1\ncluster.id={CLUSTER_ID}\nnode.id=1\n".encode()
        disk.replace("/logs/meta.properties", meta)

        open_manager(disk)

        assert b"directory.id=" in (disk.read("/logs/meta.properties") or b"")

    @pytest.mark.parametrize("line", [b"node.id=1", CLUSTER_ID.encode()])
    def test_another_node_s_directory_is_refused(self, line: bytes) -> None:
        disk = new_disk()
        open_manager(disk).close()
        meta = disk.read("/logs/meta.properties")
        assert meta is not None
        disk.replace("/logs/meta.properties", meta.replace(line, line[:-1] + b"2"))

        with pytest.raises(ForeignDirectory):
            open_manager(disk)

    def test_a_second_process_is_kept_out(self) -> None:
        disk = new_disk()
        first = open_manager(disk)

        with pytest.raises(LastDirectoryLost):
            open_manager(disk)

        first.close()
        open_manager(disk)


class TestPartitions:
    def test_a_created_partition_is_there_after_a_restart(self) -> None:
        disk = new_disk()
        manager = open_manager(disk)
        append(manager.create("orders", 3, topic_id=TOPIC_ID), batch_of(2))
        manager.close()

        log = open_manager(disk).get("orders", 3)

        assert log is not None
        assert log.topic_id == TOPIC_ID
        assert log.log_end_offset == log.recovery_point == log.high_watermark == 2

    def test_creating_what_is_there_gives_it(self) -> None:
        manager = open_manager(new_disk())
        log = manager.create("orders", 0, topic_id=TOPIC_ID)

        assert manager.create("orders", 0, topic_id=TOPIC_ID) is log
        assert manager.create("orders", 0) is log

    def test_a_partition_of_another_topic_of_that_name_is_noticed(self) -> None:
        manager = open_manager(new_disk())
        manager.create("orders", 0, topic_id=TOPIC_ID)

        with pytest.raises(TopicIdMismatch):
            manager.create("orders", 0, topic_id=OTHER_ID)

    def test_a_partition_without_a_topic_id_takes_the_first_that_comes(self) -> None:
        disk = new_disk()
        manager = open_manager(disk)
        assert manager.create("orders", 0).topic_id == ZERO_UUID

        manager.create("orders", 0, topic_id=TOPIC_ID)
        manager.close()

        log = open_manager(disk).get("orders", 0)
        assert log is not None
        assert log.topic_id == TOPIC_ID

    def test_new_partitions_go_where_the_fewest_are(self) -> None:
        manager = open_manager(new_disk(), TWO)

        for index in range(5):
            manager.create("orders", index)

        assert [len(directory.logs) for directory in manager.directories] == [3, 2]

    def test_a_deleted_partition_is_gone_at_once_and_its_files_later(self) -> None:
        disk = new_disk()
        manager = open_manager(disk)
        log = manager.create("orders", 0)
        append(log, batch_of())

        manager.delete("orders", 0)

        assert manager.get("orders", 0) is None
        with pytest.raises(LogOffline):
            log.read(0, 100, up_to=1)
        (name,) = [name for name, size in disk.list_dir("/logs") if size < 0]
        assert name.startswith("orders-0.")
        assert name.endswith("-delete")
        manager.reap_job(2**62).run()
        assert not [name for name, size in disk.list_dir("/logs") if size < 0]

    def test_what_a_crash_left_of_a_deletion_goes_after_the_restart(self) -> None:
        disk = new_disk()
        manager = open_manager(disk)
        manager.create("orders", 0)
        manager.delete("orders", 0)

        manager = open_manager(killed(disk))
        manager.reap_job(0).run()

        assert not list(manager.logs())
        assert not [name for name, size in disk.list_dir("/logs") if size < 0]

    def test_deleting_what_is_not_there_is_nothing(self) -> None:
        open_manager(new_disk()).delete("orders", 0)

    def test_a_new_partition_does_not_inherit_the_offsets_of_an_old_one(self) -> None:
        disk = new_disk()
        manager = open_manager(disk)
        log = manager.create("orders", 0)
        append(log, batch_of(100))
        log.advance_log_start(50)
        log.flush(0)
        manager.checkpoint()

        manager.delete("orders", 0)
        append(manager.create("orders", 0), batch_of(2))

        log_after_kill = open_manager(killed(disk)).get("orders", 0)
        assert log_after_kill is not None
        assert log_after_kill.recovery_point == 0
        assert (log_after_kill.log_start_offset, log_after_kill.log_end_offset) == (0, 2)

    def test_directories_of_other_kinds_are_left_alone(self) -> None:
        disk = new_disk()
        for name in ("lost+found", f"orders-2.{'0' * 32}-stray"):
            disk.make_dirs(f"/logs/{name}")

        manager = open_manager(disk)
        manager.reap_job(2**62).run()

        assert not list(manager.logs())
        assert len([name for name, size in disk.list_dir("/logs") if size < 0]) == 2

    def test_a_copy_that_was_on_its_way_goes_and_the_move_is_remembered(self) -> None:
        disk = new_disk()
        disk.make_dirs(f"/logs/orders-1.{'0' * 32}-future")

        manager = open_manager(disk)
        manager.reap_job(2**62).run()

        assert not list(manager.logs())
        assert manager.directories[0].unfinished_moves == [("orders", 1)]
        assert not [name for name, size in disk.list_dir("/logs") if size < 0]


class TestRestart:
    def test_offsets_are_remembered(self) -> None:
        disk = new_disk()
        manager = open_manager(disk)
        log = manager.create("orders", 0)
        append(log, batch_of(10))
        log.flush(0)
        log.advance_log_start(3)
        manager.checkpoint()
        append(log, batch_of(10))

        again = open_manager(killed(disk)).get("orders", 0)

        assert again is not None
        assert again.recovery_point == 10
        assert again.log_start_offset == 3
        assert again.high_watermark == 10
        assert again.log_end_offset == 20

    def test_a_clean_stop_leaves_a_note_that_a_start_takes_away(self) -> None:
        disk = new_disk()
        manager = open_manager(disk)
        manager.create("orders", 0)
        manager.close(broker_epoch=77)
        assert disk.size_of("/logs/.kafka_cleanshutdown")

        manager = open_manager(disk)

        assert manager.directories[0].was_clean
        assert manager.directories[0].broker_epoch == 77
        assert disk.size_of("/logs/.kafka_cleanshutdown") is None
        disk.crash_machine()
        assert not open_manager(disk).directories[0].was_clean

    def test_after_a_clean_stop_nothing_is_scanned(self) -> None:
        disk = new_disk()
        manager = open_manager(disk, config=SMALL)
        fill(manager.create("orders", 0), 5)
        manager.close()
        before = disk.operation_count

        open_manager(disk, config=SMALL)

        assert disk.operation_count - before < 30

    def test_a_damaged_checkpoint_costs_time_and_nothing_else(self) -> None:
        disk = new_disk()
        manager = open_manager(disk, config=SMALL)
        fill(manager.create("orders", 0), 3)
        expected = read_all(manager.create("orders", 0))
        for name, size in disk.list_dir("/logs"):
            if size >= 0 and name.endswith("checkpoint"):
                disk.replace(f"/logs/{name}", b"rubbish")

        log = open_manager(killed(disk), config=SMALL).get("orders", 0)

        assert log is not None
        assert read_all(log) == expected

    def test_a_bad_index_after_a_clean_stop_is_repaired(self) -> None:
        disk = new_disk()
        manager = open_manager(disk, config=SMALL)
        log = manager.create("orders", 0)
        fill(log, 3)
        expected, path = read_all(log), log.segments[0].path(".index")
        manager.close()
        disk.remove(path)

        again = open_manager(disk, config=SMALL).get("orders", 0)

        assert again is not None
        assert read_all(again) == expected
        assert disk.size_of(path)

    def test_recovery_points_are_lowered_on_the_disk_before_a_truncation(self) -> None:
        disk = new_disk()
        manager = open_manager(disk)
        log = manager.create("orders", 0)
        for _ in range(4):
            append(log, batch_of())
        log.flush(0)
        manager.checkpoint()

        manager.truncate({("orders", 0): 2, ("unknown", 0): 1})

        assert disk.read("/logs/recovery-point-offset-checkpoint") == b"0\n1\norders 0 2\n"
        assert log.log_end_offset == 2

    def test_emptied_logs_go_on_where_they_are_told(self) -> None:
        manager = open_manager(new_disk())
        log = manager.create("orders", 0)
        append(log, batch_of(5))

        manager.truncate_fully({("orders", 0): 1000})

        assert (log.log_start_offset, log.log_end_offset) == (1000, 1000)


class TestFailure:
    def test_one_directory_takes_only_its_partitions_along(self) -> None:
        manager = open_manager(new_disk(), TWO)
        first, second = manager.create("orders", 0), manager.create("orders", 1)

        gone = manager.on_disk_error(DiskError("/more/orders-1/x.log", "input/output error"))

        assert gone == [second]
        assert second.is_offline
        assert append(first, batch_of()).first_offset == 0
        assert list(manager.logs()) == [first]
        assert manager.create("orders", 2).dir_path.startswith("/logs/")

    def test_a_neighbour_s_name_is_no_part_of_it(self) -> None:
        manager = open_manager(new_disk(), ("/logs", "/logs2"))

        manager.on_disk_error(DiskError("/logs2/orders-1/x.log", "input/output error"))

        assert [directory.is_online for directory in manager.directories] == [True, False]

    def test_the_last_directory_is_the_end(self) -> None:
        manager = open_manager(new_disk(), TWO)
        manager.on_disk_error(DiskError("/logs/x", "input/output error"))

        with pytest.raises(LastDirectoryLost):
            manager.on_disk_error(DiskError("/more/x", "input/output error"))
        with pytest.raises(LastDirectoryLost):
            manager.create("orders", 0)

    def test_a_directory_that_cannot_be_opened_stays_offline(self) -> None:
        disk = new_disk()
        disk.fails = lambda path: path.startswith("/more")

        manager = open_manager(disk, TWO)

        assert [directory.is_online for directory in manager.directories] == [True, False]

    def test_a_failure_while_closing_leaves_no_clean_note(self) -> None:
        disk = new_disk()
        manager = open_manager(disk)
        append(manager.create("orders", 0), batch_of())
        disk.fail_sync_after(0)

        manager.close()

        assert disk.size_of("/logs/.kafka_cleanshutdown") is None

    def test_a_checkpoint_that_fails_takes_its_directory_offline(self) -> None:
        disk = new_disk()
        manager = open_manager(disk, TWO)
        disk.fail_sync_after(0)

        manager.checkpoint()

        assert [directory.is_online for directory in manager.directories] == [False, True]


class InlineExecutor:
    """Threads and workers that are none; it tells which jobs there were."""

    def __init__(self, disk: FakeDisk) -> None:
        self._context = JobContext(disk, ManualClock(), lambda _: None)
        self.jobs: list[str] = []
        self.thread_calls = 0

    def in_thread(self, call: Callable[[], T]) -> Awaitable[T]:
        async def run() -> T:
            self.thread_calls += 1
            return call()

        return run()

    def in_worker(self, job: str, arguments: Sequence[str]) -> Awaitable[bytes]:
        async def run() -> bytes:
            self.jobs.append(f"{job} {arguments[0]}")
            return JOBS[arguments[0]](self._context, arguments[1]).encode()

        return run()


def close_all(manager: LogManager, executor: InlineExecutor, broker_epoch: int = -1) -> None:
    asyncio.run(close_directories(manager.directories, executor, ManualClock(), broker_epoch))


class TestBackground:
    def open(self, disk: FakeDisk, config: LogConfig = SMALL) -> tuple[LogManager, InlineExecutor]:
        manager, executor = new_manager(disk, config=config), InlineExecutor(disk)
        asyncio.run(manager.open_in_background(executor))
        return manager, executor

    def test_recovery_is_a_worker_s_job(self) -> None:
        disk = new_disk()
        manager = open_manager(disk, config=SMALL)
        logs = [manager.create("orders", index) for index in range(3)]
        for log in logs:
            append(log, produced(0))
            fill(log, 2)
        expected = [read_all(log) for log in logs]
        disk.open(logs[1].segments[-1].path(".log")).write_at(
            logs[1].segments[-1].size_bytes, [b"torn"]
        )

        manager, executor = self.open(killed(disk))

        found = [manager.get("orders", index) for index in range(3)]
        assert [read_all(log) for log in found if log is not None] == expected
        assert executor.jobs == ["barnabas_core.runtime.worker recover"]
        assert disk.size_of("/logs/recovery.job") is None

    def test_after_a_clean_stop_there_is_none(self) -> None:
        disk = new_disk()
        manager = open_manager(disk)
        for index in range(120):
            manager.create("orders", index)
        manager.close()

        manager, executor = self.open(disk)

        assert len(list(manager.logs())) == 120
        assert executor.jobs == []
        assert executor.thread_calls >= 3, "in slices that a loop can bear"

    def test_what_is_closed_in_slices_survives_the_machine(self) -> None:
        for seed in range(20):
            disk = new_disk(seed)
            manager, executor = self.open(disk)
            logs = [manager.create("orders", index, topic_id=TOPIC_ID) for index in range(60)]
            for log in logs[::2]:
                append(log, produced(0))
                fill(log, 2)
            expected = [read_all(log) for log in logs]

            close_all(manager, executor, broker_epoch=7)
            disk.crash_machine()
            manager, executor = self.open(disk)

            found = [manager.get("orders", index) for index in range(60)]
            assert [read_all(log) for log in found if log is not None] == expected
            assert manager.directories[0].broker_epoch == 7
            assert executor.jobs == [], f"seed {seed}: it was not clean"

    def test_a_directory_that_fails_while_it_is_closed_is_not_clean(self) -> None:
        def close(failing_sync: int) -> FakeDisk:
            disk = new_disk()
            manager, executor = self.open(disk)
            for index in range(3):
                append(manager.create("orders", index), batch_of(2))
            disk.sync_count = 0
            disk.fail_sync_after(failing_sync)
            close_all(manager, executor)
            return disk

        sync_count = close(2**31).sync_count
        for failing_sync in range(sync_count - 1):
            assert close(failing_sync).size_of("/logs/.kafka_cleanshutdown") is None
        assert close(2**31).size_of("/logs/.kafka_cleanshutdown") is not None

    def test_the_names_of_new_partitions_are_synced_together(self) -> None:
        disk = new_disk()
        manager, executor = self.open(disk)
        for index in range(120):
            manager.create("orders", index)
        disk.sync_count = 0

        close_all(manager, executor)

        assert disk.sync_count <= 120 + 10, "one each for the names in it, and the checkpoints"
        assert executor.thread_calls >= 120, "side by side"

    def test_a_failure_in_the_worker_is_the_directory_s(self) -> None:
        disk = new_disk()
        manager = open_manager(disk)
        append(manager.create("orders", 0), batch_of())
        killed(disk)
        disk.fails = lambda path: path.startswith("/logs/orders-0/")

        with pytest.raises(LastDirectoryLost):
            self.open(disk)
