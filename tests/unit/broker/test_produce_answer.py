"""What an answer to Produce waits for, how long, and what it says of what went wrong."""

import asyncio
from collections.abc import Awaitable, Sequence
from pathlib import Path

import pytest

from barnabas_broker.producing.produce_answer import ProduceAnswer
from barnabas_core.log.log_config import LogConfig
from barnabas_core.records.builder import build_batch
from barnabas_core.records.compression import Compression
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas_core.wire.messages.produce_response import (
    PartitionProduceResponse,
    ProduceResponse,
)
from tests.support.broker_bench import (
    TOPIC,
    TOPIC_ID,
    BrokerBench,
    batch,
    collect,
    context,
    run,
    value_of,
)
from tests.support.cluster_image import broker, replayed, topic

HOUR_MS = 3_600_000
ALL = -1


def request(
    buffers: Sequence[tuple[int, bytearray]], *, acks: int = ALL, timeout_ms: int = 60_000
) -> ProduceRequest:
    data = [PartitionProduceData(index, memoryview(buffer)) for index, buffer in buffers]
    return ProduceRequest(None, acks, timeout_ms, [TopicProduceData(TOPIC, TOPIC_ID, data)])


async def respond(bench: BrokerBench, asked: ProduceRequest, version: int = 10) -> ProduceResponse:
    reply = bench.produce.handle(asked, context(version))
    if isinstance(reply, ProduceAnswer):
        reply = await value_of(reply)
    elif isinstance(reply, Awaitable):
        reply = await reply
    assert isinstance(reply, ProduceResponse)
    return reply


async def answered(
    bench: BrokerBench, asked: ProduceRequest, version: int = 10
) -> list[PartitionProduceResponse]:
    response = await respond(bench, asked, version)
    return [each for topic in response.responses for each in topic.partition_responses]


def replicate(bench: BrokerBench, index: int, isr: tuple[int, ...]) -> None:
    """Make brokers 1 and 2 replicas, of which `isr` are in sync."""
    image = bench.view.partition(TOPIC, index)
    assert image is not None
    epoch = image.partition_epoch + 1
    changed = image._replace(
        replicas=(1, 2), directories=(bytes(16),) * 2, isr=isr, partition_epoch=epoch
    )
    bench.partition(index).lead(1, changed, bench.clock.now_ms())


def test_acks_all_waits_for_the_replicas_in_sync(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        replicate(bench, 0, (1, 2))
        reply = bench.produce.handle(request([(0, batch())]), context(9))
        assert isinstance(reply, ProduceAnswer)
        answers = collect(reply)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert (answers, len(bench.purgatory)) == ([], 1)

        bench.partition().on_acked(2, 1, bench.clock.now_ms())

        assert answers[0].responses[0].partition_responses[0].base_offset == 0
        assert len(bench.purgatory) == 0

    run(tmp_path, scenario)


def test_what_is_not_committed_in_time_has_timed_out_and_the_rest_has_not(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        replicate(bench, 1, (1, 2))
        asked = request([(0, batch()), (1, batch())], timeout_ms=10)

        committed, late = await answered(bench, asked)

        assert (committed.error_code, committed.base_offset) == (ErrorCode.NONE, 0)
        assert (late.error_code, late.base_offset) == (ErrorCode.REQUEST_TIMED_OUT, 0)
        bench.partition(1).on_acked(2, 1, bench.clock.now_ms())
        assert bench.partition(1).high_watermark == 1

    run(tmp_path, scenario, partition_count=2)


def test_a_write_that_is_committed_in_its_turn_needs_no_timer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(bench: BrokerBench) -> None:
        waits: list[object] = []
        monkeypatch.setattr(bench.purgatory, "wait", lambda *it: waits.append(it))
        for _ in range(3):
            await answered(bench, request([(0, batch())]))
        await asyncio.sleep(0)
        assert waits == []

    run(tmp_path, scenario)


def test_a_client_that_goes_away_leaves_no_timer(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        replicate(bench, 0, (1, 2))
        reply = bench.produce.handle(request([(0, batch())]), context(9))
        assert isinstance(reply, ProduceAnswer)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert len(bench.purgatory) == 1

        reply.cancel()

        assert len(bench.purgatory) == 0
        bench.partition().on_acked(2, 1, bench.clock.now_ms())

    run(tmp_path, scenario)


def test_too_few_replicas_in_sync_take_nothing_for_acks_all(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        replicate(bench, 0, (1,))
        (refused,) = await answered(bench, request([(0, batch())]))
        (taken,) = await answered(bench, request([(0, batch())], acks=1))
        assert refused.error_code == ErrorCode.NOT_ENOUGH_REPLICAS
        assert (taken.error_code, taken.base_offset) == (ErrorCode.NONE, 0)

    run(tmp_path, scenario, config=LogConfig(min_insync_replicas=2))


@pytest.mark.parametrize(("version", "is_named"), [(9, False), (10, True), (13, True)])
def test_the_wrong_broker_names_the_right_one(tmp_path: Path, version: int, is_named: bool) -> None:
    async def scenario(bench: BrokerBench) -> None:
        bench.view.image = replayed([broker(2, "other", 9093, "b")], bench.view.image)[1]
        image = bench.view.partition(TOPIC, 0)
        assert image is not None
        bench.partition().follow(image._replace(leader=2, leader_epoch=5))

        response = await respond(bench, request([(0, batch())]), version)

        (answer,) = response.responses[0].partition_responses
        assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        hint = (answer.current_leader.leader_id, answer.current_leader.leader_epoch)
        assert hint == ((2, 5) if is_named else (-1, -1))
        nodes = [(it.node_id, it.host, it.port, it.rack) for it in response.node_endpoints]
        assert nodes == ([(2, "other", 9093, "b")] if is_named else [])

    run(tmp_path, scenario)


def test_a_partition_that_others_keep_is_hinted_at_from_the_image(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        records = [broker(2), *topic("elsewhere", bytes(16), [(2,)])]
        bench.view.image = replayed(records, bench.view.image)[1]
        asked = request([(0, batch())])
        asked.topic_data[0].name = "elsewhere"

        (answer,) = await answered(bench, asked)

        assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert answer.current_leader.leader_id == 2

    run(tmp_path, scenario)


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP])
def test_records_without_a_key_are_named(tmp_path: Path, codec: Compression) -> None:
    async def scenario(bench: BrokerBench) -> None:
        records = [(b"k", b"v"), (None, b"v"), (b"k", b"v"), (None, b"v")]
        buffer = build_batch(records, timestamp_ms=bench.clock.now_ms(), compression=codec)

        (answer,) = await answered(bench, request([(0, buffer)]))

        assert answer.error_code == ErrorCode.INVALID_RECORD
        assert [error.batch_index for error in answer.record_errors] == [1, 3]
        assert answer.error_message
        assert (answer.base_offset, answer.log_start_offset) == (-1, 0)

    run(tmp_path, scenario, config=LogConfig(cleanup_compact=True, cleanup_delete=False))


def test_an_answer_names_no_more_than_a_thousand_records(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        (answer,) = await answered(bench, request([(0, batch([b""] * 5_000))]))
        assert len(answer.record_errors) == 1_000

    run(tmp_path, scenario, config=LogConfig(cleanup_compact=True, cleanup_delete=False))


def test_records_of_another_time_are_named(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        late = batch([b"a", b"b"], timestamp_ms=bench.clock.now_ms() + 2 * HOUR_MS)
        (answer,) = await answered(bench, request([(0, late)]))
        assert answer.error_code == ErrorCode.INVALID_TIMESTAMP
        assert [error.batch_index for error in answer.record_errors] == [0, 1]
        assert bench.partition().log.staged_end_offset == 0

    run(tmp_path, scenario)


def test_of_a_partition_that_is_named_twice_the_last_is_written(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        asked = request([(0, batch([b"a"])), (1, batch([b"b"])), (0, batch([b"c", b"d"]))])

        answers = await answered(bench, asked)

        assert [each.index for each in answers] == [0, 1]
        assert [bench.partition(index).log.log_end_offset for index in (0, 1)] == [2, 1]

    run(tmp_path, scenario, partition_count=2)


def test_a_piece_of_another_batch_is_left_out(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        whole = batch()
        (answer,) = await answered(bench, request([(0, whole + whole[:40])]))
        assert (answer.error_code, answer.base_offset) == (ErrorCode.NONE, 0)
        assert bench.partition().log.size_bytes == len(whole)

    run(tmp_path, scenario)


def test_internal_topics_are_for_the_admin_client_alone(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        async def error(client_id: str) -> int:
            asked = request([(0, batch())])
            asked.topic_data[0].name = "__consumer_offsets"
            reply = bench.produce.handle(asked, context(9, client_id))
            assert isinstance(reply, ProduceResponse)
            return reply.responses[0].partition_responses[0].error_code

        assert await error("any") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        known = topic("__consumer_offsets", bytes(16), [(2,)])
        bench.view.image = replayed(known, bench.view.image)[1]
        assert await error("any") == ErrorCode.INVALID_TOPIC_EXCEPTION
        assert await error("__admin_client") == ErrorCode.NOT_LEADER_OR_FOLLOWER

    run(tmp_path, scenario)
