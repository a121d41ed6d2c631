"""ListOffsets, from the typed request to the typed answer."""

from pathlib import Path

import pytest

from barnabas_core.log.producers.producer_state import AppendOrigin
from barnabas_core.records.control import end_transaction_batch
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from barnabas_core.wire.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
)
from tests.support.broker_bench import TOPIC, BrokerBench, batch, context, run

UNKNOWN = (ErrorCode.NONE, -1, -1, -1)
UNSUPPORTED = (ErrorCode.UNSUPPORTED_VERSION, -1, -1, -1)


async def listed(
    bench: BrokerBench, *asked: ListOffsetsPartition, version: int = 11, isolation: int = 0
) -> list[ListOffsetsPartitionResponse]:
    request = ListOffsetsRequest(-1, isolation, [ListOffsetsTopic(TOPIC, list(asked))])
    reply = bench.list_offsets.handle(request, context(version))
    response = reply if isinstance(reply, ListOffsetsResponse) else await reply
    return response.topics[0].partitions


async def at(
    bench: BrokerBench, timestamp: int, *, version: int = 11, isolation: int = 0
) -> tuple[int, int, int, int]:
    """(error, timestamp, offset, leader epoch)"""
    asked = ListOffsetsPartition(0, -1, timestamp)
    (found,) = await listed(bench, asked, version=version, isolation=isolation)
    return found.error_code, found.timestamp, found.offset, found.leader_epoch


def fill(bench: BrokerBench) -> int:
    """Offsets 0 to 5, with a timestamp each; the time of the first."""
    now_ms = bench.clock.now_ms()
    for offset, delay_ms in enumerate((0, 10, 50, 20, 30, 40)):
        bench.append(batch([b"%d" % offset], timestamp_ms=now_ms + delay_ms))
    return now_ms


def test_special_timestamps_name_the_ends_of_the_log(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        start_ms = fill(bench)
        bench.partition().log.advance_log_start(1)
        assert await at(bench, -1) == (0, -1, 6, 0)
        assert await at(bench, -2) == (0, -1, 1, 0)
        assert await at(bench, -3) == (0, start_ms + 50, 2, 0)
        assert await at(bench, -4) == (0, -1, 1, 0)
        assert await at(bench, -5) == UNKNOWN
        assert await at(bench, -6) == UNKNOWN

    run(tmp_path, scenario)


@pytest.mark.parametrize("version", range(1, 12))
def test_special_timestamps_are_known_from_their_version_on(tmp_path: Path, version: int) -> None:
    first_version = {-1: 1, -2: 1, -3: 7, -4: 8, -5: 9, -6: 11}

    async def scenario(bench: BrokerBench) -> None:
        for timestamp, first in first_version.items():
            error = (await at(bench, timestamp, version=version))[0]
            assert error == (0 if version >= first else ErrorCode.UNSUPPORTED_VERSION)
        assert await at(bench, -7, version=version) == UNSUPPORTED

    run(tmp_path, scenario)


def test_a_timestamp_finds_the_first_record_that_reaches_it(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        start_ms = fill(bench)
        assert await at(bench, 0) == (0, start_ms, 0, 0)
        assert await at(bench, start_ms + 1) == (0, start_ms + 10, 1, 0)
        assert await at(bench, start_ms + 20) == (0, start_ms + 50, 2, 0)
        assert await at(bench, start_ms + 50) == (0, start_ms + 50, 2, 0)
        assert await at(bench, start_ms + 51) == UNKNOWN

    run(tmp_path, scenario)


def test_an_empty_log_has_ends_and_no_records(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        assert (await at(bench, -1))[2] == 0
        assert (await at(bench, -2))[2] == 0
        assert await at(bench, -3) == UNKNOWN
        assert await at(bench, 0) == UNKNOWN

    run(tmp_path, scenario)


def test_read_committed_sees_no_further_than_the_last_stable_offset(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        now_ms = bench.clock.now_ms()
        bench.append(batch(timestamp_ms=now_ms))
        opening = batch(
            timestamp_ms=now_ms + 5,
            is_transactional=True,
            producer_id=1,
            producer_epoch=0,
            base_sequence=0,
        )
        bench.append(opening)

        assert (await at(bench, -1, isolation=0))[2] == 2
        assert (await at(bench, -1, isolation=1))[2] == 1
        assert (await at(bench, now_ms + 5, isolation=0))[2] == 1
        assert await at(bench, now_ms + 5, isolation=1) == UNKNOWN

        marker = end_transaction_batch(True, 0, 1, 0, now_ms + 6)
        bench.append(marker, origin=AppendOrigin.COORDINATOR)
        assert (await at(bench, -1, isolation=1))[2] == 3

    run(tmp_path, scenario)


def test_errors_are_answered_per_partition(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        answers = await listed(
            bench,
            ListOffsetsPartition(0, 0, -1),
            ListOffsetsPartition(9, -1, -1),
            ListOffsetsPartition(1, 7, -1),
            ListOffsetsPartition(2, -1, -1),
            ListOffsetsPartition(2, -1, -2),
        )
        assert [ErrorCode(answer.error_code) for answer in answers] == [
            ErrorCode.NONE,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ErrorCode.UNKNOWN_LEADER_EPOCH,
            ErrorCode.INVALID_REQUEST,
            ErrorCode.INVALID_REQUEST,
        ]

    run(tmp_path, scenario, partition_count=3)


@pytest.mark.parametrize("timestamp", [-1, -2, -3, 0])
def test_an_offline_log_is_a_storage_error(tmp_path: Path, timestamp: int) -> None:
    async def scenario(bench: BrokerBench) -> None:
        bench.partition().log.go_offline("gone")
        assert (await at(bench, timestamp))[0] == ErrorCode.KAFKA_STORAGE_ERROR

    run(tmp_path, scenario)


def test_a_new_leader_does_not_tell_what_it_does_not_know_yet(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        start_ms = fill(bench)
        partition = bench.partition()
        partition.log.high_watermark = 4
        assert partition.leadership is not None
        partition.leadership.start_offset = 6
        unavailable = (ErrorCode.OFFSET_NOT_AVAILABLE, -1, -1, -1)

        assert await at(bench, -1) == unavailable
        assert await at(bench, start_ms + 60) == UNKNOWN
        assert await at(bench, start_ms + 50) == (0, start_ms + 50, 2, 0)
        assert await at(bench, -2) == (0, -1, 0, 0)
        assert (await at(bench, -1, version=4))[0] == ErrorCode.LEADER_NOT_AVAILABLE
        partition.log.high_watermark = 1
        assert await at(bench, start_ms + 50) == unavailable
        partition.log.high_watermark = 6
        assert await at(bench, -1) == (0, -1, 6, 0)

    run(tmp_path, scenario)
