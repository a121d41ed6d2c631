"""Logs opened, created and lost."""

import asyncio
import io
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from barnabas_broker.metadata_memory import BrokerNode, MemoryMetadata
from barnabas_broker.partitions.purgatory import Purgatory
from barnabas_broker.storage import Storage, StorageParts, TopicInPieces, WatchedLogs, open_logs
from barnabas_core.log.environment import LogEnvironment
from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.manager import LastDirectoryLost
from barnabas_core.log.partition_log import PartitionLog
from barnabas_core.ports import DiskError, TooManyOpenFiles
from barnabas_core.runtime.clock import SystemClock
from barnabas_core.runtime.disk import RealDisk
from barnabas_core.runtime.executor import SystemExecutor
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.runtime.rng import SeededRng
from barnabas_core.runtime.timers import Timers
from barnabas_core.wire.error_code import ErrorCode


class StorageBench:
    def __init__(self, *paths: Path, seed: int = 1) -> None:
        clock = SystemClock()
        self.timers = Timers(clock)
        self.executor = SystemExecutor()
        self.metadata = MemoryMetadata("cluster", BrokerNode(1, "host", 9092))
        self.purgatory = Purgatory(self.timers)
        environment = LogEnvironment(RealDisk(), SeededRng(seed))
        directories = [str(path) for path in paths]
        logs = open_logs(environment, clock, directories, ("cluster", 1), LogConfig())
        log = EventLog(stream=io.StringIO())
        self.storage = Storage(
            logs, self.metadata, self.purgatory, StorageParts(clock, self.executor, log)
        )


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


def test_topics_are_found_again_from_their_directories(tmp_path: Path) -> None:
    ids: dict[str, bytes] = {}

    async def create(bench: StorageBench) -> None:
        for name, count in (("one", 1), ("three", 3)):
            assert await bench.storage.create_topic(name, count) is ErrorCode.NONE
            image = bench.metadata.topic(name)
            assert image is not None
            ids[name] = image.topic_id

    async def find(bench: StorageBench) -> None:
        found = {it.name: (it.topic_id, len(it.partitions)) for it in bench.metadata.topics()}
        assert found == {"one": (ids["one"], 1), "three": (ids["three"], 3)}
        assert len(bench.storage.partitions) == 4

    play(create, tmp_path)
    play(find, tmp_path, seed=2)


def test_a_creation_that_a_crash_cut_short_is_completed(tmp_path: Path) -> None:
    async def create(bench: StorageBench) -> None:
        await bench.storage.create_topic("three", 3)

    async def find(bench: StorageBench) -> None:
        assert bench.storage.partitions.find("three", 0) is not None
        image = bench.metadata.topic("three")
        assert image is not None
        ids = {partition.log.topic_id for partition in bench.storage.partitions}
        assert ids == {image.topic_id}

    play(create, tmp_path)
    for file in (tmp_path / "three-0").iterdir():
        file.unlink()
    (tmp_path / "three-0").rmdir()
    (tmp_path / "three-1" / "partition.metadata").unlink()
    play(find, tmp_path, seed=2)


def test_directories_of_two_topics_with_one_name_are_refused(tmp_path: Path) -> None:
    async def create(bench: StorageBench) -> None:
        await bench.storage.create_topic("two", 2)
        await bench.storage.create_topic("other", 1)

    async def nothing(bench: StorageBench) -> None:
        raise AssertionError("it must not open")

    play(create, tmp_path)
    foreign = (tmp_path / "other-0" / "partition.metadata").read_bytes()
    (tmp_path / "two-1" / "partition.metadata").write_bytes(foreign)
    with pytest.raises(TopicInPieces, match="two-0"):
        play(nothing, tmp_path)


def test_a_topic_is_created_once_however_many_ask(tmp_path: Path) -> None:
    async def scenario(bench: StorageBench) -> None:
        answers = await asyncio.gather(*[bench.storage.create_topic("t", 2) for _ in range(10)])
        assert set(answers) == {ErrorCode.NONE}
        assert len(bench.storage.partitions) == 2

    play(scenario, tmp_path)


@pytest.mark.parametrize("name", ["a b", "a_b"])
def test_a_name_that_is_bad_or_too_like_another_is_refused(tmp_path: Path, name: str) -> None:
    async def scenario(bench: StorageBench) -> None:
        await bench.storage.create_topic("a.b", 1)
        assert await bench.storage.create_topic(name, 1) is ErrorCode.INVALID_TOPIC_EXCEPTION

    play(scenario, tmp_path)


def test_a_failing_directory_takes_its_own_partitions_and_no_others(tmp_path: Path) -> None:
    async def scenario(bench: StorageBench) -> None:
        await bench.storage.create_topic("t", 4)
        lost = str(tmp_path / "first")
        bench.storage.fail(DiskError(f"{lost}/t-0/00000000000000000000.log", "input/output error"))

        offline = [it.log.partition for it in bench.storage.partitions if it.is_offline]
        assert len(offline) == 2
        image = bench.metadata.topic("t")
        assert image is not None
        leaders = [partition.leader_id for partition in image.partitions]
        assert [leader == -1 for leader in leaders] == [it in offline for it in range(4)]
        assert not bench.storage.all_lost.is_set()

        assert await bench.storage.create_topic("new", 1) is ErrorCode.NONE
        created = bench.storage.partitions.find("new", 0)
        assert created is not None
        assert created.log.dir_path.startswith(str(tmp_path / "second"))

    play(scenario, tmp_path / "first", tmp_path / "second")


def test_a_creation_that_failed_half_way_is_taken_up_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = WatchedLogs.create

    def fail_in_first(
        self: WatchedLogs, topic: str, partition: int, *, topic_id: bytes
    ) -> PartitionLog:
        if partition == 2:
            raise DiskError(f"{tmp_path}/first/t-2", "input/output error")
        return create(self, topic, partition, topic_id=topic_id)

    async def scenario(bench: StorageBench) -> None:
        monkeypatch.setattr(WatchedLogs, "create", fail_in_first)
        assert await bench.storage.create_topic("t", 3) is ErrorCode.KAFKA_STORAGE_ERROR
        assert bench.metadata.topic("t") is None
        assert len(bench.storage.partitions) == 0
        monkeypatch.undo()

        assert await bench.storage.create_topic("t", 3) is ErrorCode.NONE
        image = bench.metadata.topic("t")
        assert image is not None
        leaders = [partition.leader_id for partition in image.partitions]
        # The first partition was in the directory that failed.
        assert leaders == [-1, 1, 1]

    play(scenario, tmp_path / "first", tmp_path / "second")


def test_the_loss_of_the_last_directory_is_made_known(tmp_path: Path) -> None:
    async def scenario(bench: StorageBench) -> None:
        await bench.storage.create_topic("t", 1)
        bench.storage.fail(DiskError(f"{tmp_path}/t-0/00000000000000000000.log", "gone"))
        assert bench.storage.all_lost.is_set()
        assert await bench.storage.create_topic("new", 1) is ErrorCode.KAFKA_STORAGE_ERROR

    play(scenario, tmp_path)


def test_a_shortage_of_descriptors_is_no_broken_disk(tmp_path: Path) -> None:
    async def scenario(bench: StorageBench) -> None:
        await bench.storage.create_topic("t", 1)
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
