"""Logs opened, created and lost."""

import asyncio
import io
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from unittest.mock import patch

import pytest

from barnabas_broker.partitions.partition import Partition
from barnabas_broker.partitions.purgatory import Purgatory
from barnabas_broker.partitions.turn_writer import INLINE_BYTES_MAX
from barnabas_broker.replication.followed_partition import FollowedPartition
from barnabas_broker.storage import Storage, StorageParts, open_logs
from barnabas_core.log.environment import LogEnvironment
from barnabas_core.log.error import OffsetOutOfRange
from barnabas_core.log.flush import FlushJob
from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.manager import LastDirectoryLost
from barnabas_core.log.producers.producer_state import AppendOrigin
from barnabas_core.ports import DiskError, Executor, TooManyOpenFiles
from barnabas_core.runtime.clock import SystemClock
from barnabas_core.runtime.disk import RealDisk
from barnabas_core.runtime.executor import SystemExecutor
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.runtime.rng import SeededRng
from barnabas_core.runtime.timers import Timers
from barnabas_core.wire.error_code import ErrorCode
from tests.support.broker_bench import batch
from tests.support.cluster_image import cluster_view, topic

if TYPE_CHECKING:
    from barnabas_broker.replication.leader_stream import LeaderStream

ID = b"t" * 16
NOW_MS = 1_700_000_000_000


class StorageBench:
    def __init__(self, *paths: Path, seed: int = 1) -> None:
        clock = SystemClock()
        self.timers = Timers(clock)
        self.executor = SystemExecutor()
        self.purgatory = Purgatory(self.timers)
        environment = LogEnvironment(RealDisk(), SeededRng(seed))
        directories = [str(path) for path in paths]
        logs = open_logs(environment, clock, directories, ("cluster", 1), lambda _: LogConfig())
        log = EventLog(stream=io.StringIO())
        self.storage = Storage(logs, self.purgatory, StorageParts(clock, self.executor, log))

    async def keep(self, name: str, number: int = 0) -> Partition:
        partition = await self.storage.keep(name, number, ID)
        assert partition is not None
        return partition


class Waiter:
    def __init__(self) -> None:
        self.failures: list[tuple[int, ErrorCode]] = []

    def on_written(self, token: int) -> None:
        raise AssertionError("it was not written")

    def on_write_failed(self, token: int, error: ErrorCode) -> None:
        self.failures.append((token, error))


def play(scenario: Callable[[StorageBench], Awaitable[None]], *paths: Path, seed: int = 1) -> None:
    async def scene() -> None:
        bench = StorageBench(*paths, seed=seed)
        await bench.storage.open()
        try:
            await scenario(bench)
            await bench.storage.close()
        finally:
            bench.timers.close()
            bench.executor.close()

    asyncio.run(scene())


def test_a_partition_is_found_again_with_its_records(tmp_path: Path) -> None:
    async def write(bench: StorageBench) -> None:
        log = (await bench.keep("t")).log
        log.stage(
            batch(timestamp_ms=NOW_MS), leader_epoch=0, origin=AppendOrigin.CLIENT, now_ms=NOW_MS
        )
        log.write()

    async def find(bench: StorageBench) -> None:
        assert len(bench.storage.partitions) == 0, "which are kept, the image says"
        assert (await bench.keep("t")).log.log_end_offset == 1

    play(write, tmp_path)
    play(find, tmp_path, seed=2)


def test_a_log_of_an_earlier_topic_of_the_same_name_is_not_taken_for_the_new_one(
    tmp_path: Path,
) -> None:
    async def write(bench: StorageBench) -> None:
        log = (await bench.keep("t")).log
        log.stage(
            batch(timestamp_ms=NOW_MS), leader_epoch=0, origin=AppendOrigin.CLIENT, now_ms=NOW_MS
        )
        log.write()

    async def keep_another(bench: StorageBench) -> None:
        partition = await bench.storage.keep("t", 0, b"another".ljust(16))
        assert partition is not None
        assert partition.log.log_end_offset == 0

    play(write, tmp_path)
    play(keep_another, tmp_path, seed=2)
    assert list(tmp_path.glob("t-0.*-delete"))


def test_a_topic_that_comes_back_under_its_name_begins_anew(tmp_path: Path) -> None:
    async def scenario(bench: StorageBench) -> None:
        first = await bench.keep("t")
        second = await bench.storage.keep("t", 0, b"another".ljust(16))
        assert second is not None
        assert second is not first
        assert bench.storage.partitions.find("t", 0) is second

    play(scenario, tmp_path)


def test_a_deleted_partition_is_gone_at_once_and_whoever_waits_is_told(tmp_path: Path) -> None:
    async def scenario(bench: StorageBench) -> None:
        partition = await bench.keep("t")
        image = cluster_view(topic("t", ID)).partition("t", 0)
        assert image is not None
        partition.lead(1, image, 0)
        waiter = Waiter()
        partition.when_written(0, waiter, 7)

        await bench.storage.delete("t", 0)

        assert waiter.failures == [(7, ErrorCode.NOT_LEADER_OR_FOLLOWER)]
        assert bench.storage.partitions.find("t", 0) is None
        assert not (tmp_path / "t-0").exists()
        await bench.storage.delete("t", 0)

    play(scenario, tmp_path)


def test_a_failing_directory_takes_its_own_partitions_and_no_others(tmp_path: Path) -> None:
    async def scenario(bench: StorageBench) -> None:
        for number in range(4):
            await bench.keep("t", number)
        lost = str(tmp_path / "first")
        bench.storage.fail(DiskError(f"{lost}/t-0/00000000000000000000.log", "input/output error"))

        offline = [it.log.partition for it in bench.storage.partitions if it.is_offline]
        assert len(offline) == 2
        assert not bench.storage.all_lost.is_set()
        created = await bench.keep("new")
        assert created.log.dir_path.startswith(str(tmp_path / "second"))

    play(scenario, tmp_path / "first", tmp_path / "second")


class CleanerOnABrokenDisk:
    def __init__(self, path: Path) -> None:
        self._path = path

    async def pause(self, topic: str, partition: int) -> None:
        pass

    async def forget(self, topic: str, partition: int) -> None:
        raise DiskError(f"{self._path}/cleaner-offset-checkpoint.tmp", "no space left")


def test_a_disk_that_fails_when_a_compacted_log_is_deleted_is_lost_and_nothing_else(
    tmp_path: Path,
) -> None:
    async def scenario(bench: StorageBench) -> None:
        partition = await bench.keep("t")
        partition.log.config = LogConfig(cleanup_compact=True)
        bench.storage.cleaner = cast("Any", CleanerOnABrokenDisk(tmp_path / "first"))
        await bench.storage.delete("t", 0)
        bench.storage.cleaner = None

        assert bench.storage.partitions.find("t", 0) is None
        states = [one.is_online for one in bench.storage.logs.directories]
        assert sorted(states) == [False, True]

    play(scenario, tmp_path / "first", tmp_path / "second")


def test_the_loss_of_the_last_directory_is_made_known(tmp_path: Path) -> None:
    async def scenario(bench: StorageBench) -> None:
        await bench.keep("t")
        bench.storage.fail(DiskError(f"{tmp_path}/t-0/00000000000000000000.log", "gone"))
        assert bench.storage.all_lost.is_set()
        assert await bench.storage.keep("new", 0, ID) is None

    play(scenario, tmp_path)


def test_a_shortage_of_descriptors_is_no_broken_disk(tmp_path: Path) -> None:
    async def scenario(bench: StorageBench) -> None:
        await bench.keep("t")
        path = f"{tmp_path}/t-0/00000000000000000000.log"
        bench.storage.fail(TooManyOpenFiles(path, "too many open files"))
        partition = bench.storage.partitions.find("t", 0)
        assert partition is not None
        assert not partition.log.is_offline

    play(scenario, tmp_path)


def test_why_no_directory_could_be_opened_is_told(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()

    async def nothing(bench: StorageBench) -> None:
        raise AssertionError("it must not open")

    with pytest.raises(LastDirectoryLost, match=str(file)):
        play(nothing, file)


def test_what_no_topic_claims_is_set_aside_and_its_files_stay(tmp_path: Path) -> None:
    async def main() -> None:
        bench = StorageBench(tmp_path)
        await bench.storage.open()
        await bench.keep("known")
        await bench.keep("gone")

        await bench.storage.set_aside("gone", 0)

        assert bench.storage.logs.get("gone", 0) is None

    asyncio.run(main())
    [stray] = tmp_path.glob("gone-0.*-stray")
    assert list(stray.glob("*.log"))


def test_a_log_that_begins_within_a_batch_takes_the_whole_batch(tmp_path: Path) -> None:
    """As after DeleteRecords on the leader, when a replica has nothing yet."""

    async def main() -> None:
        bench = StorageBench(tmp_path)
        await bench.storage.open()
        partition = await bench.keep("deleted")
        log = partition.log
        records = bytes(batch([b"0", b"1", b"2", b"3", b"4"], leader_epoch=0))
        await bench.storage.truncate(partition, 3)
        followed = FollowedPartition(partition, 0, cast("LeaderStream", None))
        begins_at = followed.start_within(records)
        assert begins_at == 0

        await bench.storage.truncate(partition, begins_at, keeps_start=True)
        assert followed.request(1).offset == 3
        assert followed.on_state(high_watermark=5, log_start=3)
        log.stage_replica(records, now_ms=NOW_MS)
        log.write()

        assert (log.log_start_offset, log.log_end_offset) == (3, 5)
        assert followed.start_within(records) is None
        with pytest.raises(OffsetOutOfRange):
            log.read(2, 100, up_to=5)
        assert len(log.read(3, 1000, up_to=5))

    asyncio.run(main())


class HeldExecutor:
    """Whose threads wait for a word."""

    def __init__(self) -> None:
        self.may_run = asyncio.Event()

    async def in_thread(self, call: Callable[[], None]) -> None:
        await self.may_run.wait()
        call()


def test_who_gives_up_waiting_for_a_write_leaves_the_write_as_it_is(tmp_path: Path) -> None:
    """As upkeep does that is stopped while a broker shuts down."""

    async def scenario(bench: StorageBench) -> None:
        partition = await bench.keep("t")
        log, writer, threads = partition.log, bench.storage.writer, HeldExecutor()
        writer._executor = cast("Executor", threads)
        records = batch([bytes(INLINE_BYTES_MAX)], timestamp_ms=NOW_MS)
        log.stage(records, leader_epoch=0, origin=AppendOrigin.CLIENT, now_ms=NOW_MS)
        writer.mark(partition)
        await asyncio.sleep(0)
        for wait in (writer.when_idle(partition), writer.drain()):
            waiting = asyncio.get_running_loop().create_task(wait)
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)

        threads.may_run.set()
        await writer.drain()

        assert log.log_end_offset == 1

    play(scenario, tmp_path)


def test_closing_waits_for_a_log_that_is_being_made(tmp_path: Path) -> None:
    """Whoever wanted it was stopped; its thread was not, and the directory would not be clean."""
    may_go_on = threading.Event()

    async def scenario(bench: StorageBench) -> None:
        create = bench.storage.logs.create

        def slowly(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - as it is called
            assert may_go_on.wait(30)
            return create(*arguments, **options)

        with patch.object(type(bench.storage.logs), "create", staticmethod(slowly)):
            keeping = asyncio.ensure_future(bench.storage.keep("t", 0, ID))
            await asyncio.sleep(0.01)
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)
            closing = asyncio.ensure_future(bench.storage.close())
            await asyncio.sleep(0.01)
            assert not closing.done()
            may_go_on.set()
            await closing
        assert (tmp_path / "t-0").is_dir()

    async def scene() -> None:
        bench = StorageBench(tmp_path)
        await bench.storage.open()
        try:
            await scenario(bench)
        finally:
            bench.timers.close()
            bench.executor.close()

    asyncio.run(scene())


def test_closing_leaves_the_loop_to_others(tmp_path: Path) -> None:
    threads: list[str] = []
    run = FlushJob.run

    def noted(job: FlushJob) -> None:
        threads.append(threading.current_thread().name)
        run(job)

    async def scene() -> None:
        bench = StorageBench(tmp_path)
        await bench.storage.open()
        for index in range(3):
            await bench.storage.keep("t", index, ID)
        with patch.object(FlushJob, "run", noted):
            await bench.storage.close()
        bench.timers.close()
        bench.executor.close()

    asyncio.run(scene())
    assert len(threads) == 3
    assert all(name.startswith("disk") for name in threads)
    assert (tmp_path / ".kafka_cleanshutdown").exists()
