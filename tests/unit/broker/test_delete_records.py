"""DeleteRecords, from the typed request to the typed answer."""

import asyncio
from pathlib import Path

import pytest

from barnabas_broker.handlers.delete_records import DeleteRecordsHandler
from barnabas_broker.partitions.partition import Partition
from barnabas_core.log.log_config import LogConfig
from barnabas_core.server.deferred import Deferred
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from barnabas_core.wire.messages.delete_records_response import DeleteRecordsResponse
from tests.support.broker_bench import TOPIC, BrokerBench, batch, collect, context, run

Reply = DeleteRecordsResponse | Deferred[DeleteRecordsResponse]


def ask(bench: BrokerBench, *wanted: tuple[int, int], timeout_ms: int = 60_000) -> Reply:
    handler = DeleteRecordsHandler(bench.partitions, bench.view, bench.purgatory)
    partitions = [DeleteRecordsPartition(index, offset) for index, offset in wanted]
    request = DeleteRecordsRequest([DeleteRecordsTopic(TOPIC, partitions)], timeout_ms)
    return handler.handle(request, context(2))


def results(response: Reply) -> list[tuple[int, int, int]]:
    """(partition, low watermark, error)"""
    assert isinstance(response, DeleteRecordsResponse)
    return [
        (result.partition_index, result.low_watermark, result.error_code)
        for result in response.topics[0].partitions
    ]


def fill(bench: BrokerBench, index: int = 0) -> None:
    for _ in range(5):
        bench.append(batch(), index)


def test_the_log_starts_at_the_offset_asked_for(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        fill(bench)

        assert results(ask(bench, (0, 3))) == [(0, 3, ErrorCode.NONE)]

        assert bench.partition().log.log_start_offset == 3

    run(tmp_path, scenario)


def test_minus_one_is_the_high_watermark(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        fill(bench)

        assert results(ask(bench, (0, -1))) == [(0, 5, ErrorCode.NONE)]

    run(tmp_path, scenario)


def test_what_is_deleted_already_is_told_without_change(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        fill(bench)
        ask(bench, (0, 4))

        assert results(ask(bench, (0, 2))) == [(0, 4, ErrorCode.NONE)]

    run(tmp_path, scenario)


@pytest.mark.parametrize("offset", [6, -2])
def test_offsets_outside_of_what_is_committed_are_refused(tmp_path: Path, offset: int) -> None:
    async def scenario(bench: BrokerBench) -> None:
        fill(bench)

        assert results(ask(bench, (0, offset))) == [(0, -1, ErrorCode.OFFSET_OUT_OF_RANGE)]

        assert bench.partition().log.log_start_offset == 0

    run(tmp_path, scenario)


def test_topics_that_are_only_compacted_keep_their_records(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        assert results(ask(bench, (0, 0))) == [(0, -1, ErrorCode.POLICY_VIOLATION)]

    run(tmp_path, scenario, config=LogConfig(cleanup_delete=False, cleanup_compact=True))


def test_only_the_leader_deletes(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        fill(bench)
        bench.partition().resign()

        assert results(ask(bench, (0, 1))) == [(0, -1, ErrorCode.NOT_LEADER_OR_FOLLOWER)]

    run(tmp_path, scenario)


def test_each_partition_has_its_own_error(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        fill(bench)
        bench.partition(1).log.go_offline("failed")

        assert results(ask(bench, (0, 1), (1, 0), (9, 0))) == [
            (0, 1, ErrorCode.NONE),
            (1, -1, ErrorCode.KAFKA_STORAGE_ERROR),
            (9, -1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ]

    run(tmp_path, scenario, partition_count=2)


class Lagging(Partition):
    """One whose followers have deleted nothing yet."""

    followers_at = 0

    @property
    def low_watermark(self) -> int:
        return min(self.followers_at, self.log.log_start_offset)


def lag(bench: BrokerBench) -> Lagging:
    """Give the partition a follower that is behind."""
    partition = bench.partition()
    lagging = Lagging(partition.log)
    lagging.leadership, lagging.leader_epoch = partition.leadership, partition.leader_epoch
    bench.partitions.add(lagging)
    return lagging


def test_the_answer_waits_for_every_replica(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        fill(bench)
        partition = lag(bench)
        reply = ask(bench, (0, 3))
        assert isinstance(reply, Deferred)
        answers = collect(reply)

        partition.followers_at = 2
        bench.purgatory.wake(partition)
        assert answers == []
        partition.followers_at = 3
        bench.purgatory.wake(partition)

        assert results(answers[0]) == [(0, 3, ErrorCode.NONE)]
        assert len(bench.purgatory) == 0

    run(tmp_path, scenario)


def test_a_replica_that_does_not_follow_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        fill(bench)
        lag(bench)
        reply = ask(bench, (0, 3), timeout_ms=20)
        assert isinstance(reply, Deferred)
        answered: asyncio.Future[DeleteRecordsResponse] = asyncio.Future()
        reply.then(answered.set_result)

        response = await asyncio.wait_for(answered, 30)

        assert results(response) == [(0, 0, ErrorCode.REQUEST_TIMED_OUT)]

    run(tmp_path, scenario)


def test_losing_the_leadership_ends_the_waiting(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        fill(bench)
        partition = lag(bench)
        reply = ask(bench, (0, 3))
        assert isinstance(reply, Deferred)
        answers = collect(reply)

        partition.resign()
        bench.purgatory.wake_all(partition)

        assert results(answers[0]) == [(0, -1, ErrorCode.NOT_LEADER_OR_FOLLOWER)]

    run(tmp_path, scenario)


def test_a_client_that_has_gone_is_not_waited_for(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        fill(bench)
        lag(bench)
        reply = ask(bench, (0, 3))
        assert isinstance(reply, Deferred)

        reply.cancel()

        assert len(bench.purgatory) == 0

    run(tmp_path, scenario)
