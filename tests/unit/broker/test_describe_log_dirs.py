"""DescribeLogDirs, from the typed request to the typed answer."""

from pathlib import Path

from barnabas_broker.handlers.describe_log_dirs import DescribeLogDirsHandler
from barnabas_core.ports import DiskError
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.describe_log_dirs_request import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from barnabas_core.wire.messages.describe_log_dirs_response import DescribeLogDirsResult
from barnabas_core.wire.messages.register_broker_record import RegisterBrokerRecord
from barnabas_core.wire.schema import Message
from tests.support.broker_bench import context
from tests.support.cluster_image import cluster_view
from tests.support.storage_bench import StorageBench, play


async def ask(
    bench: StorageBench, *topics: tuple[str, list[int]], records: list[Message] | None = None
) -> list[DescribeLogDirsResult]:
    handler = DescribeLogDirsHandler(bench.storage, cluster_view(records or []), bench.executor)
    wanted = [DescribableLogDirTopic(name, indexes) for name, indexes in topics]
    request = DescribeLogDirsRequest(wanted or None)
    response = await handler.handle(request, context(5))
    assert response.error_code == 0
    return response.results


def listed(result: DescribeLogDirsResult) -> dict[str, list[int]]:
    return {
        topic.name: [partition.partition_index for partition in topic.partitions]
        for topic in result.topics
    }


def test_every_directory_tells_what_it_holds(tmp_path: Path) -> None:
    async def scenario(bench: StorageBench) -> None:
        partition = await bench.keep("a")
        await bench.keep("a", 1)
        bench.append(partition, 3)

        first, second = await ask(bench)

        assert (first.log_dir, second.log_dir) == (str(tmp_path / "1"), str(tmp_path / "2"))
        assert (listed(first), listed(second)) == ({"a": [0]}, {"a": [1]})
        (described,) = first.topics[0].partitions
        assert described.partition_size == partition.log.size_bytes > 0
        assert (described.offset_lag, described.is_future_key) == (0, False)
        assert first.total_bytes >= first.usable_bytes > 0
        assert not first.is_cordoned

    play(scenario, tmp_path / "1", tmp_path / "2")


def test_only_the_partitions_asked_for_are_told(tmp_path: Path) -> None:
    async def scenario(bench: StorageBench) -> None:
        for index in range(3):
            await bench.keep("a", index)
        await bench.keep("b")

        (found,) = await ask(bench, ("a", [0, 2, 9]), ("unknown", [0]))
        assert listed(found) == {"a": [0, 2]}

        (found,) = await ask(bench, ("unknown", [0]))
        assert listed(found) == {}

    play(scenario, tmp_path)


def test_a_failed_directory_is_a_storage_error(tmp_path: Path) -> None:
    async def scenario(bench: StorageBench) -> None:
        await bench.keep("a")
        bench.storage.fail(DiskError(str(tmp_path / "1"), "broken"))

        first, second = await ask(bench)

        assert (first.error_code, first.log_dir) == (
            ErrorCode.KAFKA_STORAGE_ERROR,
            str(tmp_path / "1"),
        )
        assert first.topics == []
        assert second.error_code == ErrorCode.NONE

    play(scenario, tmp_path / "1", tmp_path / "2")


def test_a_follower_that_knows_of_more_than_it_has_lags(tmp_path: Path) -> None:
    async def scenario(bench: StorageBench) -> None:
        partition = await bench.keep("a")
        bench.append(partition, 2)
        partition.log.high_watermark = 5

        (found,) = await ask(bench)

        assert found.topics[0].partitions[0].offset_lag == 3

    play(scenario, tmp_path)


def test_cordoned_directories_say_so(tmp_path: Path) -> None:
    async def scenario(bench: StorageBench) -> None:
        first, second = bench.storage.logs.directories
        own = RegisterBrokerRecord(
            broker_id=1, log_dirs=[first.id, second.id], cordoned_log_dirs=[second.id]
        )

        found = await ask(bench, records=[own])

        assert [one.is_cordoned for one in found] == [False, True]

    play(scenario, tmp_path / "1", tmp_path / "2")
