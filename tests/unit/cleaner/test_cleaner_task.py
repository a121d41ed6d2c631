"""The task around it all: real disk, real worker processes, a log that goes on being used."""

import asyncio
import io
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest

from barnabas_core.log.cleaner.settings import CleanerSettings
from barnabas_core.log.directories.checkpoint import CLEANER_FILE
from barnabas_core.log.environment import LogEnvironment
from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.manager import LogManager
from barnabas_core.log.partition_log import PartitionLog
from barnabas_core.log.producers.producer_state import AppendOrigin
from barnabas_core.log.segments.file_name import LOG
from barnabas_core.records.builder import build_batch
from barnabas_core.runtime.cleaner_task import CleanerTask
from barnabas_core.runtime.disk import RealDisk
from barnabas_core.runtime.executor import SystemExecutor, WorkerFailed
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.runtime.rng import SeededRng
from tests.support.dirty_log import StoredBatch, read_batches
from tests.support.manual_clock import ManualClock

T = TypeVar("T")
CONFIG = LogConfig(cleanup_compact=True, cleanup_delete=False, segment_bytes=2000)


class Hooked:
    """The real executor; a test may look at the log at each step, or break a worker."""

    def __init__(self) -> None:
        self.real = SystemExecutor()
        self.before_thread: Callable[[], None] = lambda: None
        self.after_worker: Callable[[], None] = lambda: None
        self.before_worker: Callable[[], Awaitable[None]] | None = None
        self.worker_count = 0

    def in_thread(self, call: Callable[[], T]) -> Awaitable[T]:
        self.before_thread()
        return self.real.in_thread(call)

    async def in_worker(self, job: str, arguments: Sequence[str]) -> bytes:
        self.worker_count += 1
        if self.before_worker is not None:
            await self.before_worker()
        output = await self.real.in_worker(job, arguments)
        self.after_worker()
        return output


class Broker:
    """As much of one as the cleaner needs."""

    def __init__(self, path: Path, config: LogConfig = CONFIG) -> None:
        self.clock = ManualClock()
        environment = LogEnvironment(RealDisk(), SeededRng(1))
        self.logs = LogManager(
            environment,
            self.clock,
            [str(path)],
            cluster_id="MkU3OEVBNTcwNTJENDM2Qk",
            node_id=1,
            config_of=lambda _: config,
        )
        self.logs.open()
        self.executor = Hooked()
        self.events = io.StringIO()
        self.task = CleanerTask(
            self.logs,
            self.executor,
            self.clock,
            EventLog(level="debug", stream=self.events),
            CleanerSettings(backoff_ms=10),
        )
        self.task.load_checkpoints()

    def log(self, topic: str = "orders") -> PartitionLog:
        return self.logs.create(topic, 0)

    def fill(self, log: PartitionLog, round_count: int = 6) -> None:
        for round_number in range(round_count):
            for key in range(20):
                self.put(log, b"%d" % key, b"%d" % round_number)
        log.flush(self.clock.now_ms())

    def put(self, log: PartitionLog, key: bytes, value: bytes | None) -> None:
        now_ms = self.clock.now_ms()
        batch = build_batch([(key, value)], timestamp_ms=now_ms)
        log.stage(batch, leader_epoch=0, origin=AppendOrigin.CLIENT, now_ms=now_ms)
        log.write()
        log.advance_high_watermark(log.log_end_offset)


def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(work())


def read_all(log: PartitionLog) -> list[StoredBatch]:
    batches: list[StoredBatch] = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        data = log.read(offset, 1 << 20, up_to=log.log_end_offset).bytes()
        batches += [it for it in read_batches(data) if it.header.last_offset >= offset]
        offset = batches[-1].header.next_offset
    return batches


def table(log: PartitionLog) -> dict[object, object]:
    return {it.key: it.value for batch in read_all(log) for it in batch.records}


def names(log: PartitionLog) -> list[str]:
    return sorted(it.name for it in Path(log.dir_path).iterdir())


def test_the_filthiest_log_is_cleaned_and_remembered(tmp_path: Path) -> None:
    async def work() -> None:
        broker = Broker(tmp_path)
        log = broker.log()
        broker.fill(log)
        expected, size_bytes = table(log), log.size_bytes
        active_base = log.segments[-1].base_offset

        assert await broker.task.clean_filthiest()
        assert not await broker.task.clean_filthiest()

        assert table(log) == expected
        assert log.size_bytes < size_bytes / 2
        assert (tmp_path / CLEANER_FILE).read_text() == f"0\n1\norders 0 {active_base}\n"
        assert not [it for it in names(log) if it.endswith((".cleaned", ".swap"))]
        broker.logs.close()
        reopened = Broker(tmp_path)
        assert table(reopened.log()) == expected
        assert not await reopened.task.clean_filthiest()

    run(work)


def test_retired_files_go_after_their_delay(tmp_path: Path) -> None:
    async def work() -> None:
        broker = Broker(tmp_path)
        log = broker.log()
        broker.fill(log)
        await broker.task.clean_filthiest()
        assert [it for it in names(log) if it.endswith(".deleted")]

        broker.clock.advance(CONFIG.file_delete_delay_ms)
        broker.logs.reap_job(broker.clock.now_ms()).run()

        files = [it for it in names(log) if it.endswith((LOG, ".deleted"))]
        assert files == sorted(Path(it.path(LOG)).name for it in log.segments)

    run(work)


def test_readers_and_writers_go_on_at_every_step(tmp_path: Path) -> None:
    async def work() -> None:
        broker = Broker(tmp_path)
        log = broker.log()
        broker.fill(log)
        expected = table(log)
        early = log.read(0, 1500, up_to=log.log_end_offset)
        early_bytes = early.bytes()
        looked: list[list[str]] = []

        def look() -> None:
            files = broker.logs.environment.files
            for segment in log.segments:
                files.drop(segment.path(LOG))  # as if others had needed its place
            broker.put(log, b"new", b"%d" % len(looked))
            expected[b"new"] = b"%d" % len(looked)
            assert table(log) == expected
            looked.append(names(log))

        broker.executor.before_thread = look
        await broker.task.clean_filthiest()
        look()

        assert len(looked) >= 6, broker.events.getvalue()
        assert any(it.endswith(".swap") for each in looked for it in each)
        assert early.bytes() == early_bytes, "a read that began before must come to its end"

    run(work)


def test_a_damaged_log_is_given_up_and_the_next_one_cleaned(tmp_path: Path) -> None:
    async def work() -> None:
        broker = Broker(tmp_path)
        damaged, sound = broker.log("damaged"), broker.log("sound")
        for log in (damaged, sound):
            broker.fill(log)
        RealDisk().open(damaged.segments[0].path(LOG)).write_at(100, [b"\xff" * 4])
        before = names(damaged)

        results = [await broker.task.clean_filthiest() for _ in range(3)]

        assert results == [False, True, False]
        assert list(broker.task.manager.uncleanable) == [("damaged", 0)]
        assert names(damaged) == before
        assert "log cannot be compacted" in broker.events.getvalue()
        assert len({it.key for batch in read_all(sound) for it in batch.records}) == 20

    run(work)


def test_a_failed_worker_is_tried_again_later(tmp_path: Path) -> None:
    async def work() -> None:
        broker = Broker(tmp_path)
        broker.fill(broker.log())

        async def fail() -> None:
            raise WorkerFailed("killed")

        broker.executor.before_worker = fail
        assert not await broker.task.clean_filthiest()
        broker.executor.before_worker = None
        assert not await broker.task.clean_filthiest()
        assert broker.executor.worker_count == 1

        broker.clock.advance(60_000)
        assert await broker.task.clean_filthiest()

    run(work)


def test_a_pause_ends_a_rewriting_and_keeps_the_log_out(tmp_path: Path) -> None:
    async def work() -> None:
        broker = Broker(tmp_path)
        log = broker.log()
        broker.fill(log)
        before = names(log)
        started = asyncio.Event()

        async def hang() -> None:
            started.set()
            await asyncio.Event().wait()

        broker.executor.before_worker = hang
        cleaning = asyncio.create_task(broker.task.clean_filthiest())
        await started.wait()
        await broker.task.pause("orders", 0)

        assert names(log) == before
        assert not await cleaning
        broker.executor.before_worker = None
        assert not await broker.task.clean_filthiest()
        log.truncate_to(log.log_end_offset - 5, broker.clock.now_ms())

        broker.task.resume("orders", 0)
        assert await broker.task.clean_filthiest()

    run(work)


def test_a_pause_waits_for_a_swap_under_way(tmp_path: Path) -> None:
    async def work() -> None:
        broker = Broker(tmp_path)
        log = broker.log()
        broker.fill(log)
        pauses: list[asyncio.Task[None]] = []

        def pause_once_swapping() -> None:
            is_swapping = any(it.endswith(".swap") for it in names(log))
            if is_swapping and not pauses:
                pauses.append(asyncio.create_task(broker.task.pause("orders", 0)))

        broker.executor.before_thread = pause_once_swapping
        await broker.task.clean_filthiest()
        await pauses[0]

        assert not [it for it in names(log) if it.endswith((".swap", ".cleaned"))]

    run(work)


def test_a_stop_in_the_middle_of_a_swap_finishes_it_first(tmp_path: Path) -> None:
    async def work() -> None:
        broker = Broker(tmp_path)
        log = broker.log()
        broker.fill(log)
        expected = table(log)
        running = asyncio.create_task(broker.task.run())

        def stop_once_swapping() -> None:
            if any(it.endswith(".swap") for it in names(log)):
                running.cancel()

        broker.executor.before_thread = stop_once_swapping
        with pytest.raises(asyncio.CancelledError):
            await running

        assert not [it for it in names(log) if it.endswith((".swap", ".cleaned"))]
        assert table(log) == expected

    run(work)


def test_a_truncation_brings_back_what_the_lost_records_superseded(tmp_path: Path) -> None:
    async def work() -> None:
        broker = Broker(tmp_path)
        log = broker.log()
        for key in [*range(100), 0, *range(100, 150)]:
            broker.put(log, b"%d" % key, b"value")
        log.flush(broker.clock.now_ms())

        def truncate() -> None:  # by somebody who forgot to pause
            log.truncate_to(100, broker.clock.now_ms())

        broker.executor.after_worker = truncate
        assert not await broker.task.clean_filthiest()

        assert log.log_end_offset == 100
        assert table(log) == {b"%d" % key: b"value" for key in range(100)}
        assert not [it for it in names(log) if it.endswith((".swap", ".cleaned"))]

    run(work)


def test_segments_that_are_not_what_they_were_are_not_replaced(tmp_path: Path) -> None:
    async def work() -> None:
        broker = Broker(tmp_path)
        log = broker.log()
        broker.fill(log)
        expected = table(log)

        def delete_the_first() -> None:  # by somebody who forgot to pause
            log.advance_log_start(log.segments[1].base_offset)
            log.delete_old_segments(broker.clock.now_ms())

        broker.executor.after_worker = delete_the_first
        assert not await broker.task.clean_filthiest()

        assert table(log) == expected
        assert not [it for it in names(log) if it.endswith((".swap", ".cleaned"))]

    run(work)


def test_retention_of_compacted_logs_is_done_here(tmp_path: Path) -> None:
    async def work() -> None:
        both = LogConfig(cleanup_compact=True, segment_bytes=2000, retention_ms=1000)
        broker = Broker(tmp_path, both)
        log = broker.log()
        broker.fill(log)
        broker.clock.advance(2000)
        broker.fill(log, 1)

        await broker.task.delete_old_segments()
        assert log.log_start_offset > 0

        log_start = log.log_start_offset
        await broker.task.pause("orders", 0)
        broker.clock.advance(10_000)
        await broker.task.delete_old_segments()
        assert log.log_start_offset == log_start

    run(work)


def test_a_deleted_partition_leaves_nothing_for_its_namesake(tmp_path: Path) -> None:
    async def work() -> None:
        broker = Broker(tmp_path)
        broker.fill(broker.log())
        await broker.task.clean_filthiest()

        await broker.task.pause("orders", 0)
        broker.logs.delete("orders", 0)
        await broker.task.forget("orders", 0)
        broker.task.resume("orders", 0)

        assert (tmp_path / CLEANER_FILE).read_text() == "0\n0\n"
        assert broker.task.manager.checkpoint_offset(str(tmp_path), ("orders", 0)) is None

    run(work)


def test_a_disabled_cleaner_cleans_nothing(tmp_path: Path) -> None:
    async def work() -> None:
        broker = Broker(tmp_path)
        broker.fill(broker.log())
        settings = CleanerSettings(is_enabled=False, backoff_ms=1)
        task = CleanerTask(broker.logs, broker.executor, broker.clock, EventLog(), settings)

        with pytest.raises(TimeoutError):
            await asyncio.wait_for(task.run(), 0.1)

        assert broker.executor.worker_count == 0

    run(work)
