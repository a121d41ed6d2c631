"""Replicas moved between log directories: real logs on a real disk, no broker around them."""

import asyncio
import io
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from barnabas_broker.directory_assignment import (
    AssignmentParts,
    DirectoryAssignment,
    assigned_in,
)
from barnabas_broker.handlers.alter_replica_log_dirs import AlterReplicaLogDirsHandler
from barnabas_broker.handlers.describe_log_dirs import DescribeLogDirsHandler
from barnabas_broker.partitions.partition import Partition
from barnabas_broker.replica_moves import MoveParts, ReplicaMoves
from barnabas_core.config.error import ConfigError
from barnabas_core.links.controller_client import ControllerClient
from barnabas_core.links.local_links import LocalLinks, LocalNetwork
from barnabas_core.log.directories.directory import LogDirectory
from barnabas_core.log.directories.directory_meta import MetaProperties
from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.partition_log import PartitionLog
from barnabas_core.log.producers.producer_state import AppendOrigin
from barnabas_core.ports import DiskError
from barnabas_core.ports.link import Identity, Purpose
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.runtime.supervisor import Supervisor
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.alter_replica_log_dirs_request import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from barnabas_core.wire.messages.describe_log_dirs_request import DescribeLogDirsRequest
from barnabas_core.wire.messages.partition_record import PartitionRecord
from barnabas_core.wire.messages.topic_record import TopicRecord
from tests.support.broker_bench import batch, context
from tests.support.cluster_image import broker, cluster_view, replayed, topic
from tests.support.storage_bench import TOPIC_ID, StorageBench, play
from tests.unit.broker.test_directory_assignment import ADDRESS, Controller

SMALL = LogConfig(segment_bytes=2_000)
RATE = "replica.alter.log.dirs.io.max.bytes.per.second"


class MoveBench:
    """Two directories, a controller to tell, and moves under way."""

    def __init__(self, storage: StorageBench, assignment: DirectoryAssignment) -> None:
        self.bench = storage
        self.storage = storage.storage
        self.assignment = assignment
        self.controller = Controller()
        parts = MoveParts(
            self.storage,
            assignment,
            storage.clock,
            storage.executor,
            EventLog(stream=io.StringIO()),
        )
        self.moves = ReplicaMoves(parts)
        self.supervisor = Supervisor(EventLog(stream=io.StringIO()))

    def start(self) -> None:
        self.supervisor.start("moves", self.moves.run)

    @property
    def directories(self) -> list[LogDirectory]:
        return self.storage.logs.directories

    def place_of(self, partition: Partition) -> int:
        found = self.storage.logs.directory_of(partition.log.topic, partition.log.partition)
        assert found is not None
        assert partition.log is found.logs[partition.log.topic, partition.log.partition]
        return self.directories.index(found)

    async def ask(self, partition: Partition, place: int) -> ErrorCode:
        log = partition.log
        return await self.moves.request(log.topic, log.partition, self.directories[place].path)

    async def until_done(self) -> None:
        while len(self.moves):  # noqa: ASYNC110  nobody is told
            await asyncio.sleep(0.005)
        async with self.storage.changing:
            pass  # what was there before is gone, too


Scenario = Callable[[MoveBench], Awaitable[None]]


def moving(
    scenario: Scenario, *paths: Path, config: LogConfig | None = None, starts: bool = True
) -> None:
    async def scene(bench: StorageBench) -> None:
        log = EventLog(stream=io.StringIO())
        links = LocalLinks(LocalNetwork(log), Identity("c", 1, "broker"), bench.clock, log)
        client = ControllerClient(links, [ADDRESS], Purpose.MEMBERSHIP, bench.clock)
        parts = AssignmentParts(client, bench.clock, log, 1, lambda: 42)
        moves = MoveBench(bench, DirectoryAssignment(parts, bench.storage.logs))
        server = await links.serve(ADDRESS, {Purpose.MEMBERSHIP: moves.controller})
        moves.supervisor.start("assignment", moves.assignment.run)
        if starts:
            moves.start()
        try:
            async with asyncio.timeout(60):
                await scenario(moves)
        finally:
            await moves.supervisor.stop()
            await client.close()
            await server.close()

    play(scene, *paths, config=config)


async def lead(bench: MoveBench, name: str = "a") -> Partition:
    partition = await bench.bench.keep(name)
    _, image = replayed([broker(), *topic(name, TOPIC_ID)])
    (described,) = image.topics.by_id[TOPIC_ID].partitions.values()
    partition.lead(1, described, bench.bench.clock.monotonic_ms())
    return partition


def contents(log: PartitionLog) -> bytes:
    data, offset = b"", log.log_start_offset
    for segment in log.segments:
        assert segment.base_offset >= offset or segment is log.segments[0]
        data += Path(segment.path(".log")).read_bytes()
    return data


def test_a_replica_moves_with_all_that_is_in_it(tmp_path: Path) -> None:
    async def scenario(bench: MoveBench) -> None:
        partition = await lead(bench)
        bench.bench.append(partition, 100)
        partition.log.stage(
            batch(producer_id=7, producer_epoch=1, base_sequence=0),
            leader_epoch=0,
            origin=AppendOrigin.CLIENT,
            now_ms=bench.bench.clock.now_ms(),
        )
        partition.log.write()
        bench.storage.on_written(partition)
        old, before = partition.log, contents(partition.log)

        assert await bench.ask(partition, 1) is ErrorCode.NONE
        await bench.until_done()

        assert bench.place_of(partition) == 1
        assert contents(partition.log) == before
        log = partition.log
        assert (log.log_end_offset, log.high_watermark) == (101, 101)
        assert log.topic_id == TOPIC_ID
        assert log.producers.entry(7) is not None
        assert log.end_offset_for_epoch(0) == (0, 101)
        assert old.is_offline
        assert bench.controller.assigned == {(TOPIC_ID, 0): bench.directories[1].id}
        assert (tmp_path / "2" / "a-0").is_dir()
        assert not (tmp_path / "1" / "a-0").exists()

    moving(scenario, tmp_path / "1", tmp_path / "2", config=SMALL)


def test_it_is_written_to_all_the_while(tmp_path: Path) -> None:
    async def scenario(bench: MoveBench) -> None:
        partition = await lead(bench)
        bench.bench.append(partition, 50)
        await bench.ask(partition, 1)

        count = 50
        while len(bench.moves):
            partition.log.stage(
                batch(),
                leader_epoch=0,
                origin=AppendOrigin.CLIENT,
                now_ms=bench.bench.clock.now_ms(),
            )
            bench.storage.writer.mark(partition)
            count += 1
            # A pace that the copy can keep: no move ends under more than that.
            await asyncio.sleep(0.001)
        await bench.storage.writer.drain()

        assert count > 50
        assert bench.place_of(partition) == 1
        assert partition.log.log_end_offset == partition.log.high_watermark == count

    moving(scenario, tmp_path / "1", tmp_path / "2", config=SMALL)


def test_a_log_that_does_not_start_at_nothing_moves_from_its_start_on(tmp_path: Path) -> None:
    async def scenario(bench: MoveBench) -> None:
        partition = await lead(bench)
        bench.bench.append(partition, 60)
        partition.log.advance_log_start(33)

        await bench.ask(partition, 1)
        await bench.until_done()

        assert bench.place_of(partition) == 1
        log = partition.log
        assert (log.log_start_offset, log.log_end_offset) == (33, 60)
        assert len(log.read(33, 10_000, up_to=60)) > 0

    moving(scenario, tmp_path / "1", tmp_path / "2", config=SMALL)


def test_the_copy_is_described_as_a_future_replica(tmp_path: Path) -> None:
    async def scenario(bench: MoveBench) -> None:
        bench.controller.errors = [ErrorCode.NOT_CONTROLLER] * 1_000  # so that it does not end
        partition = await lead(bench)
        bench.bench.append(partition, 10)
        await bench.ask(partition, 1)
        handler = DescribeLogDirsHandler(
            bench.storage, cluster_view([broker()]), bench.bench.executor
        )

        response = await handler.handle(DescribeLogDirsRequest(None), context(5))

        described = [
            (one.is_future_key, one.offset_lag)
            for result in response.results
            for name in result.topics
            for one in name.partitions
        ]
        assert [is_future for is_future, _ in described] == [False, True]
        assert described[1][1] in range(11)

    moving(scenario, tmp_path / "1", tmp_path / "2")


def test_a_move_back_ends_the_move(tmp_path: Path) -> None:
    async def scenario(bench: MoveBench) -> None:
        bench.controller.errors = [ErrorCode.NOT_CONTROLLER] * 1_000
        partition = await lead(bench)
        bench.bench.append(partition, 10)
        await bench.ask(partition, 1)

        assert await bench.ask(partition, 0) is ErrorCode.NONE

        await bench.until_done()
        assert bench.place_of(partition) == 0
        assert not partition.log.is_offline
        assert not bench.directories[1].future_logs
        left = [name for name in os.listdir(tmp_path / "2") if name.startswith("a-0")]
        assert all(name.endswith("-delete") for name in left)

    moving(scenario, tmp_path / "1", tmp_path / "2")


def test_a_throttled_move_waits_until_it_is_let_go(tmp_path: Path) -> None:
    async def scenario(bench: MoveBench) -> None:
        bench.moves.set_rate({RATE: "0"})
        partition = await lead(bench)
        bench.bench.append(partition, 100)

        assert await bench.ask(partition, 1) is ErrorCode.NONE
        future = bench.directories[1].future_logs["a", 0]
        await asyncio.sleep(0.3)
        assert (future.log_end_offset, bench.place_of(partition)) == (0, 0)

        bench.moves.set_rate({})
        await bench.until_done()
        assert (partition.log.log_end_offset, bench.place_of(partition)) == (100, 1)

    moving(scenario, tmp_path / "one", tmp_path / "two")


def test_a_throttled_move_can_be_taken_back(tmp_path: Path) -> None:
    async def scenario(bench: MoveBench) -> None:
        bench.moves.set_rate({RATE: "0"})
        partition = await lead(bench)
        bench.bench.append(partition, 100)

        assert await bench.ask(partition, 1) is ErrorCode.NONE
        assert await bench.ask(partition, 0) is ErrorCode.NONE

        assert len(bench.moves) == 0
        assert bench.place_of(partition) == 0

    moving(scenario, tmp_path / "one", tmp_path / "two")


def test_what_moves_copy_is_counted_against_their_rate(tmp_path: Path) -> None:
    async def scenario(bench: MoveBench) -> None:
        bench.moves.set_rate({RATE: "1"})
        partition = await lead(bench)
        bench.bench.append(partition, 100)
        size_bytes = partition.log.size_bytes

        await bench.ask(partition, 1)
        await bench.until_done()

        now_ms = bench.bench.clock.monotonic_ms()
        assert bench.moves.quota.delay_ms(now_ms + (size_bytes - 500) * 1000) > 0
        assert bench.moves.quota.delay_ms(now_ms + size_bytes * 1000) == 0

    moving(scenario, tmp_path / "one", tmp_path / "two")


def test_a_rate_that_is_none_leaves_the_one_before(tmp_path: Path) -> None:
    async def scenario(bench: MoveBench) -> None:
        bench.moves.set_rate({RATE: "7"})

        with pytest.raises(ConfigError):
            bench.moves.set_rate({RATE: "fast"})

        assert bench.moves.quota.bytes_per_s == 7

    moving(scenario, tmp_path / "one", tmp_path / "two")


def test_a_topic_that_is_deleted_meanwhile_is_gone_from_both(tmp_path: Path) -> None:
    async def scenario(bench: MoveBench) -> None:
        bench.controller.errors = [ErrorCode.NOT_CONTROLLER] * 1_000
        partition = await lead(bench)
        bench.bench.append(partition, 10)
        await bench.ask(partition, 1)

        async with bench.storage.changing:
            await bench.storage.delete("a", 0)
        await bench.until_done()

        for directory in bench.directories:
            assert not directory.logs
            assert not directory.future_logs
            assert directory.is_online

    moving(scenario, tmp_path / "1", tmp_path / "2")


def test_a_truncated_log_is_copied_again(tmp_path: Path) -> None:
    async def scenario(bench: MoveBench) -> None:
        bench.controller.errors = [ErrorCode.NOT_CONTROLLER] * 2
        partition = await lead(bench)
        bench.bench.append(partition, 50)
        await bench.ask(partition, 1)
        while not bench.controller.call_count:  # noqa: ASYNC110  nobody is told
            await asyncio.sleep(0.005)

        await bench.storage.truncate(partition, 20)
        await bench.until_done()

        assert bench.place_of(partition) == 1
        assert partition.log.log_end_offset == 20

    moving(scenario, tmp_path / "1", tmp_path / "2", config=SMALL)


def test_when_the_target_fails_the_replica_stays(tmp_path: Path) -> None:
    async def scenario(bench: MoveBench) -> None:
        bench.controller.errors = [ErrorCode.NOT_CONTROLLER] * 1_000
        partition = await lead(bench)
        bench.bench.append(partition, 10)
        await bench.ask(partition, 1)

        bench.storage.fail(DiskError(str(tmp_path / "2"), "broken"))
        await bench.until_done()

        assert bench.place_of(partition) == 0
        assert not partition.log.is_offline
        bench.bench.append(partition)

    moving(scenario, tmp_path / "1", tmp_path / "2")


def test_a_replica_that_is_not_here_yet_is_made_where_it_was_asked_for(tmp_path: Path) -> None:
    async def scenario(bench: MoveBench) -> None:
        path = bench.directories[1].path
        assert await bench.moves.request("a", 0, path) is ErrorCode.REPLICA_NOT_AVAILABLE

        partition = await lead(bench)

        assert bench.place_of(partition) == 1

    moving(scenario, tmp_path / "1", tmp_path / "2")


@pytest.mark.parametrize("name", ["a", "a" * 240])
def test_what_cannot_be_moved_is_refused(tmp_path: Path, name: str) -> None:
    async def scenario(bench: MoveBench) -> None:
        handler = AlterReplicaLogDirsHandler(bench.moves)
        partition = await lead(bench, name)

        async def ask(path: str) -> int:
            asked = AlterReplicaLogDir(path, [AlterReplicaLogDirTopic(name, [0])])
            answer = await handler.handle(AlterReplicaLogDirsRequest([asked]), context(2))
            (result,) = answer.results
            assert result.topic_name == name
            return result.partitions[0].error_code

        if len(name) > 1:
            assert await ask(bench.directories[1].path) == ErrorCode.INVALID_TOPIC_EXCEPTION
            return
        assert await ask("/nowhere") == ErrorCode.LOG_DIR_NOT_FOUND
        assert await ask(bench.directories[0].path) == ErrorCode.NONE, "it is there already"
        bench.storage.fail(DiskError(bench.directories[1].path, "broken"))
        assert await ask(bench.directories[1].path) == ErrorCode.KAFKA_STORAGE_ERROR
        assert bench.place_of(partition) == 0

    moving(scenario, tmp_path / "1", tmp_path / "2")


def test_a_move_that_a_restart_cut_short_is_made_after_it(tmp_path: Path) -> None:
    async def before(bench: MoveBench) -> None:
        bench.controller.errors = [ErrorCode.NOT_CONTROLLER] * 1_000
        partition = await lead(bench)
        bench.bench.append(partition, 30)
        await bench.ask(partition, 1)

    async def after(bench: MoveBench) -> None:
        partition = await lead(bench)
        assert bench.place_of(partition) == 0
        bench.start()
        while not len(bench.moves):  # noqa: ASYNC110  nobody is told
            await asyncio.sleep(0)
        await bench.until_done()
        assert bench.place_of(partition) == 1
        assert partition.log.log_end_offset == 30

    paths = tmp_path / "1", tmp_path / "2"
    moving(before, *paths, config=SMALL, starts=False)
    moving(after, *paths, config=SMALL, starts=False)


@pytest.mark.parametrize("place", [0, 1])
def test_of_two_equal_logs_the_one_is_taken_that_the_metadata_name(
    tmp_path: Path, place: int
) -> None:
    paths = tmp_path / "1", tmp_path / "2"

    async def make(bench: StorageBench) -> None:
        bench.append(await bench.keep("a"), 5)

    async def scene() -> None:
        bench = StorageBench(*paths)
        ids = [MetaProperties.decode((path / "meta.properties").read_bytes()) for path in paths]
        directory_id = ids[place].directory_id
        assert directory_id is not None
        record = topic("a", TOPIC_ID)[1]
        assert isinstance(record, PartitionRecord)
        record.directories = [directory_id]
        _, image = replayed([broker(), TopicRecord("a", TOPIC_ID), record])
        try:
            await bench.storage.open(assigned_in(image, 1))
            partition = await bench.keep("a")
            assert partition.log.dir_path == str(paths[place] / "a-0")
            assert partition.log.log_end_offset == 5
            assert not (paths[1 - place] / "a-0").exists()
            await bench.storage.close()
        finally:
            bench.timers.close()
            bench.executor.close()

    play(make, paths[0])
    # Ids are drawn with the same seed otherwise, and no two directories have the same.
    play(make, paths[1], seed=2)
    asyncio.run(scene())


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_of_two_logs_that_a_crash_leaves_the_longer_is_taken(
    tmp_path: Path, order: tuple[int, int]
) -> None:
    paths = [tmp_path / str(number) for number in order]

    async def make(bench: StorageBench, count: int) -> None:
        partition = await bench.keep("a")
        bench.append(partition, count)

    async def check(bench: StorageBench) -> None:
        partition = await bench.keep("a")
        assert partition.log.log_end_offset == 7
        assert partition.log.dir_path == str(tmp_path / "2" / "a-0")
        assert not (tmp_path / "1" / "a-0").exists()

    play(lambda bench: make(bench, 5), tmp_path / "1")
    play(lambda bench: make(bench, 7), tmp_path / "2")
    play(check, *paths)
