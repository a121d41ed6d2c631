"""Produce, from the typed request to the typed answer."""

import asyncio
from collections.abc import Awaitable, Sequence
from pathlib import Path

import pytest

from barnabas_broker.producing.produce_answer import ProduceAnswer
from barnabas_core.log.append import OpenedAppend
from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.write import PendingWrite
from barnabas_core.ports import DiskError, TooManyOpenFiles
from barnabas_core.records.batch import parse_header
from barnabas_core.records.builder import build_batch
from barnabas_core.records.compression import Compression
from barnabas_core.runtime.clock import SystemClock
from barnabas_core.server.dispatch import RequestContext, RequestRefused
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

NO_RECORDS = object()


def request(
    buffers: Sequence[bytearray | bytes | None], *, acks: int = 1, topic: str = TOPIC
) -> ProduceRequest:
    data = [
        PartitionProduceData(index, None if each is None else memoryview(each))
        for index, each in enumerate(buffers)
    ]
    return ProduceRequest(None, acks, 1000, [TopicProduceData(topic, partition_data=data)])


async def answered(
    bench: BrokerBench, asked: ProduceRequest, where: RequestContext
) -> list[PartitionProduceResponse]:
    reply = bench.produce.handle(asked, where)
    if isinstance(reply, ProduceAnswer):
        reply = await value_of(reply)
    elif isinstance(reply, Awaitable):
        reply = await reply
    assert isinstance(reply, ProduceResponse)
    return [each for topic in reply.responses for each in topic.partition_responses]


@pytest.mark.parametrize("acks", [1, -1])
@pytest.mark.parametrize("version", range(3, 14))
def test_records_are_acknowledged_with_their_offset(
    tmp_path: Path, acks: int, version: int
) -> None:
    async def scenario(bench: BrokerBench) -> None:
        for expected in (0, 3):
            asked = request([batch([b"a", b"b", b"c"])], acks=acks)
            if version >= 13:
                asked.topic_data[0].name = ""
                asked.topic_data[0].topic_id = TOPIC_ID
            (answer,) = await answered(bench, asked, context(version))
            assert (answer.error_code, answer.base_offset) == (ErrorCode.NONE, expected)
            assert (answer.log_start_offset, answer.log_append_time_ms) == (0, -1)
        assert bench.partition().log.log_end_offset == 6
        assert bench.partition().high_watermark == 6

    run(tmp_path, scenario)


def test_nothing_is_acknowledged_before_it_is_written(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        reply = bench.produce.handle(request([batch()]), context(9))
        assert isinstance(reply, ProduceAnswer)
        answers = collect(reply)
        assert bench.partition().log.log_end_offset == 0
        assert answers == []

        await asyncio.sleep(0)

        assert bench.partition().log.log_end_offset == 1
        assert len(answers) == 1

    run(tmp_path, scenario)


def test_all_requests_of_a_turn_are_written_at_once(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        replies = [bench.produce.handle(request([batch()]), context(9)) for _ in range(50)]
        answers = [collect(reply) for reply in replies if isinstance(reply, ProduceAnswer)]

        await asyncio.sleep(0)

        offsets = [each[0].responses[0].partition_responses[0].base_offset for each in answers]
        assert offsets == list(range(50))

    run(tmp_path, scenario)


def test_a_large_write_happens_in_a_thread_and_what_comes_meanwhile_after_it(
    tmp_path: Path,
) -> None:
    async def scenario(bench: BrokerBench) -> None:
        large = bench.produce.handle(request([batch([bytes(900_000)])]), context(9))
        assert isinstance(large, ProduceAnswer)
        first = collect(large)
        await asyncio.sleep(0)
        assert bench.partition().is_writing
        small = bench.produce.handle(request([batch()]), context(9))
        assert isinstance(small, ProduceAnswer)
        second = collect(small)

        await bench.writer.drain()

        assert first[0].responses[0].partition_responses[0].base_offset == 0
        assert second[0].responses[0].partition_responses[0].base_offset == 1
        assert bench.partition().log.log_end_offset == 2

    run(tmp_path, scenario)


def test_what_somebody_else_wrote_is_acknowledged_too(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        reply = bench.produce.handle(request([batch()]), context(9))
        assert isinstance(reply, ProduceAnswer)
        answers = collect(reply)
        bench.partition().log.roll(bench.clock.now_ms())

        await asyncio.sleep(0)

        assert len(answers) == 1
        assert bench.partition().high_watermark == 1

    run(tmp_path, scenario)


def test_several_partitions_are_answered_together(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        buffers = [batch([b"x"] * count) for count in (1, 2, 3)]
        answers = await answered(bench, request([*buffers, batch()]), context(9))
        assert [answer.error_code for answer in answers] == [0, 0, 0, 3]
        ends = [bench.partition(index).log.log_end_offset for index in range(3)]
        assert ends == [1, 2, 3]

    run(tmp_path, scenario, partition_count=3)


def test_acks_0_is_written_and_not_answered(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        assert bench.produce.handle(request([batch()], acks=0), context(9)) is None
        await asyncio.sleep(0)
        assert bench.partition().log.log_end_offset == 1

    run(tmp_path, scenario)


def test_acks_0_that_fails_closes_the_connection(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        with pytest.raises(RequestRefused, match="UNKNOWN_TOPIC_OR_PARTITION"):
            bench.produce.handle(request([batch()], acks=0, topic="absent"), context(9))

    run(tmp_path, scenario)


def corrupt() -> bytearray:
    buffer = batch()
    buffer[-1] ^= 1
    return buffer


@pytest.mark.parametrize(
    ("buffer", "version", "error"),
    [
        (None, 9, ErrorCode.INVALID_RECORD),
        (b"", 9, ErrorCode.INVALID_RECORD),
        (b"short", 9, ErrorCode.INVALID_RECORD),
        (batch() + batch(), 9, ErrorCode.INVALID_RECORD),
        (corrupt(), 9, ErrorCode.CORRUPT_MESSAGE),
        (batch()[:-1], 9, ErrorCode.INVALID_RECORD),
        (batch([bytes(1_100_000)]), 9, ErrorCode.MESSAGE_TOO_LARGE),
        (batch(compression=Compression.ZSTD), 6, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        (batch(compression=Compression.ZSTD), 7, ErrorCode.NONE),
        (batch(is_transactional=True, producer_id=1), 9, ErrorCode.INVALID_TXN_STATE),
    ],
)
def test_what_may_not_be_appended_is_refused(
    tmp_path: Path, buffer: bytes | bytearray | None, version: int, error: ErrorCode
) -> None:
    # Each its own copy: a batch that is taken is patched in place.
    copied = None if buffer is None else bytearray(buffer)

    async def scenario(bench: BrokerBench) -> None:
        (answer,) = await answered(bench, request([copied]), context(version))
        assert ErrorCode(answer.error_code) is error
        if error is not ErrorCode.NONE:
            assert (answer.base_offset, answer.log_start_offset) == (-1, -1)
            assert answer.error_message
            assert bench.partition().log.staged_end_offset == 0

    run(tmp_path, scenario)


@pytest.mark.parametrize("acks", [2, -2, 32767])
def test_unknown_acks_are_refused(tmp_path: Path, acks: int) -> None:
    async def scenario(bench: BrokerBench) -> None:
        (answer,) = await answered(bench, request([batch()], acks=acks), context(9))
        assert answer.error_code == ErrorCode.INVALID_REQUIRED_ACKS
        assert bench.partition().log.staged_end_offset == 0

    run(tmp_path, scenario)


def test_an_unknown_topic_id_says_so(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        asked = request([batch()])
        asked.topic_data[0].topic_id = b"x" * 16
        (answer,) = await answered(bench, asked, context(13))
        assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_ID

    run(tmp_path, scenario)


def test_a_repeated_batch_is_answered_with_its_old_offset(tmp_path: Path) -> None:
    def numbered(sequence: int) -> bytearray:
        return batch([b"x"], producer_id=9, producer_epoch=0, base_sequence=sequence)

    async def scenario(bench: BrokerBench) -> None:
        for sequence in (0, 1):
            await answered(bench, request([numbered(sequence)]), context(9))
        (again,) = await answered(bench, request([numbered(0)]), context(9))
        assert (again.error_code, again.base_offset) == (ErrorCode.NONE, 0)
        (gap,) = await answered(bench, request([numbered(7)]), context(9))
        assert gap.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert bench.partition().log.log_end_offset == 2

    run(tmp_path, scenario)


def test_a_repetition_of_what_is_not_written_yet_waits_for_it(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        buffers = [
            batch([b"x"], producer_id=9, producer_epoch=0, base_sequence=0) for _ in range(2)
        ]
        replies = [bench.produce.handle(request([each]), context(9)) for each in buffers]
        answers = []
        for reply in replies:
            assert isinstance(reply, ProduceAnswer)
            answers.append(collect(reply))
        assert answers == [[], []]

        await asyncio.sleep(0)

        offsets = [each[0].responses[0].partition_responses[0].base_offset for each in answers]
        assert offsets == [0, 0]

    run(tmp_path, scenario)


def test_log_append_time_is_in_the_answer(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        before_ms = bench.clock.now_ms()
        (answer,) = await answered(bench, request([batch(timestamp_ms=5)]), context(9))
        assert before_ms <= answer.log_append_time_ms <= bench.clock.now_ms()

    run(tmp_path, scenario, config=LogConfig(message_timestamp_type="LogAppendTime"))


@pytest.mark.parametrize("size", [10, 500_000])
def test_a_write_without_a_descriptor_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    failures: list[PendingWrite] = []
    run_write = PendingWrite.run

    def fail_twice(self: PendingWrite) -> None:
        if len(failures) < 2:
            failures.append(self)
            raise TooManyOpenFiles("/somewhere", "too many open files")
        run_write(self)

    async def scenario(bench: BrokerBench) -> None:
        monkeypatch.setattr(PendingWrite, "run", fail_twice)
        (answer,) = await answered(bench, request([batch([bytes(size)])]), context(9))
        assert (answer.error_code, answer.base_offset) == (ErrorCode.NONE, 0)
        assert len(failures) == 2
        assert bench.failures == []

    run(tmp_path, scenario)


def test_a_failed_write_is_a_storage_error_for_all_who_wait_and_come_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(bench: BrokerBench) -> None:
        def fail(*_: object) -> None:
            raise DiskError("/somewhere", "no space left")

        monkeypatch.setattr("barnabas_core.log.write.PendingWrite.run", fail)
        (waiting,) = await answered(bench, request([batch()]), context(9))
        (later,) = await answered(bench, request([batch()]), context(9))
        assert waiting.error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert (waiting.base_offset, waiting.log_start_offset) == (-1, -1)
        assert later.error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert len(bench.failures) == 1

    run(tmp_path, scenario)


# Topics that look into batches


COMPACTED = LogConfig(cleanup_compact=True)


def keyed(count: int) -> bytearray:
    now_ms = SystemClock().now_ms()
    records: list[tuple[bytes | None, bytes]] = [(b"%d" % it, b"value") for it in range(count)]
    return build_batch(records, timestamp_ms=now_ms, compression=Compression.ZSTD)


def test_a_compacted_topic_takes_no_record_without_a_key(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        (refused,) = await answered(bench, request([batch()]), context(9))
        (taken,) = await answered(bench, request([keyed(3)]), context(9))

        assert refused.error_code == ErrorCode.INVALID_RECORD
        assert (taken.error_code, taken.base_offset) == (ErrorCode.NONE, 0)
        assert bench.partition().log.log_end_offset == 3

    run(tmp_path, scenario, config=COMPACTED)


def test_the_keys_of_a_large_batch_are_looked_at_in_slices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slices: list[int] = []
    advance = OpenedAppend.advance

    def noted(opened: OpenedAppend, record_count: int) -> bool:
        slices.append(record_count)
        return advance(opened, record_count)

    monkeypatch.setattr(OpenedAppend, "advance", noted)

    async def scenario(bench: BrokerBench) -> None:
        (answer,) = await answered(bench, request([keyed(20_000)]), context(9))

        assert answer.error_code == ErrorCode.NONE
        assert bench.partition().log.log_end_offset == 20_000
        assert len(slices) >= 20
        assert max(slices) <= 1_000

    run(tmp_path, scenario, config=COMPACTED)


def test_a_topic_with_a_codec_of_its_own_stores_that(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        await answered(bench, request([batch([b"a" * 1000] * 3)]), context(9))

        log = bench.partition().log
        stored = log.read(0, 10_000, up_to=3).slices[0]
        header = parse_header(stored.read(0, len(stored)))
        assert header.compression is Compression.LZ4
        assert (header.record_count, header.base_offset) == (3, 0)

    run(tmp_path, scenario, config=LogConfig(compression_type="lz4"))


def test_rubbish_for_such_a_topic_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        damaged = keyed(3)
        damaged[-1] ^= 1

        (answer,) = await answered(bench, request([damaged]), context(9))

        assert answer.error_code == ErrorCode.CORRUPT_MESSAGE
        assert bench.partition().log.staged_end_offset == 0

    run(tmp_path, scenario, config=COMPACTED)
