"""OffsetForLeaderEpoch, from the typed request to the typed answer."""

from pathlib import Path

from barnabas_broker.handlers.offset_for_leader_epoch import OffsetForLeaderEpochHandler
from barnabas_core.log.producers.producer_state import AppendOrigin
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.support.broker_bench import TOPIC, BrokerBench, batch, context, run


def answer(
    bench: BrokerBench, epoch: int, current: int = -1, index: int = 0, topic: str = TOPIC
) -> tuple[int, int, int]:
    """(error, epoch, end offset)"""
    handler = OffsetForLeaderEpochHandler(bench.partitions, bench.view)
    asked = OffsetForLeaderPartition(index, current, epoch)
    request = OffsetForLeaderEpochRequest(-1, [OffsetForLeaderTopic(topic, [asked])])
    (answered,) = handler.handle(request, context(4)).topics
    (found,) = answered.partitions
    assert (answered.topic, found.partition) == (topic, index)
    return found.error_code, found.leader_epoch, found.end_offset


def write(bench: BrokerBench, epoch: int, count: int) -> None:
    partition = bench.partition()
    for _ in range(count):
        partition.log.assign_epoch(epoch)
        buffer = batch()
        partition.log.stage(
            buffer,
            leader_epoch=epoch,
            origin=AppendOrigin.CLIENT,
            now_ms=bench.clock.now_ms(),
        )
        partition.log.write()
        partition.on_written()


def test_an_epoch_ends_where_the_next_begins(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        write(bench, 0, 3)
        write(bench, 4, 2)

        assert answer(bench, 0) == (0, 0, 3)
        assert answer(bench, 4) == (0, 4, 5)
        assert answer(bench, 2) == (0, 0, 3), "the last epoch before it"

    run(tmp_path, scenario)


def test_an_epoch_that_the_log_does_not_know_has_no_end(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        write(bench, 0, 1)

        assert answer(bench, 9) == (0, -1, -1)
        assert answer(bench, -1) == (0, -1, -1)

    run(tmp_path, scenario)


def test_a_client_with_another_leader_epoch_is_refused(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        bench.partition().leader_epoch = 3

        assert answer(bench, 0, current=2)[0] == ErrorCode.FENCED_LEADER_EPOCH
        assert answer(bench, 0, current=4)[0] == ErrorCode.UNKNOWN_LEADER_EPOCH
        assert answer(bench, 0, current=3)[0] == ErrorCode.NONE

    run(tmp_path, scenario)


def test_only_the_leader_answers(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        bench.partition().resign()

        assert answer(bench, 0) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1, -1)

    run(tmp_path, scenario)


def test_what_is_not_here_has_an_error_that_tells_why(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        unknown = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)
        assert answer(bench, 0, index=7) == unknown
        assert answer(bench, 0, topic="unknown") == unknown
        bench.partitions.remove(TOPIC, 0)
        assert answer(bench, 0) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1, -1)

    run(tmp_path, scenario)


def test_a_log_whose_directory_failed_is_a_storage_error(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        bench.partition().log.go_offline("failed")

        assert answer(bench, 0) == (ErrorCode.KAFKA_STORAGE_ERROR, -1, -1)

    run(tmp_path, scenario)
