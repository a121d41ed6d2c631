"""Fetch, from the typed request to the typed answer."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from barnabas_core.log.producers.producer_state import AppendOrigin
from barnabas_core.log.read import LogRead
from barnabas_core.ports import DiskError
from barnabas_core.records.control import end_transaction_batch
from barnabas_core.records.record import iter_records
from barnabas_core.runtime.disk import RealFile
from barnabas_core.server.deferred import Deferred
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.fetch_request import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ReplicaState,
)
from barnabas_core.wire.messages.fetch_response import FetchResponse, PartitionData
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

MANY = 2**31 - 1
READ_COMMITTED = 1


def request(
    offsets: Sequence[int] = (0,), *, partition_max_bytes: int = MANY, **fields: int
) -> FetchRequest:
    partitions = [
        FetchPartition(index, fetch_offset=offset, partition_max_bytes=partition_max_bytes)
        for index, offset in enumerate(offsets)
    ]
    return FetchRequest(topics=[FetchTopic(TOPIC, TOPIC_ID, partitions)], **fields)  # type: ignore[arg-type]


async def answered(bench: BrokerBench, asked: FetchRequest, version: int = 12) -> FetchResponse:
    reply = bench.fetch.handle(asked, context(version))
    if isinstance(reply, Deferred):
        return await value_of(reply)
    return reply if isinstance(reply, FetchResponse) else await reply


async def fetched(
    bench: BrokerBench, asked: FetchRequest, version: int = 12
) -> list[PartitionData]:
    response = await answered(bench, asked, version)
    assert response.error_code == 0
    return [each for topic in response.responses for each in topic.partitions]


def values(data: PartitionData) -> list[bytes]:
    """Of all records in the answer, markers left out."""
    read = data.records
    if not isinstance(read, LogRead):
        assert read == b""
        return []
    buffer = read.bytes()
    found, position = [], 0
    while position < len(buffer):
        length = int.from_bytes(buffer[position + 8 : position + 12])
        found += [bytes(each.value or b"") for each in iter_records(buffer, position)]
        position += 12 + length
    return found


@pytest.mark.parametrize("version", range(4, 19))
def test_records_are_read_from_the_offset_on(tmp_path: Path, version: int) -> None:
    async def scenario(bench: BrokerBench) -> None:
        bench.append(batch([b"a", b"b"]))
        bench.append(batch([b"c"]))
        (all_of_it,) = await fetched(bench, request([0]), version)
        (rest,) = await fetched(bench, request([2]), version)
        (nothing,) = await fetched(bench, request([3]), version)
        assert values(all_of_it) == [b"a", b"b", b"c"]
        assert values(rest) == [b"c"]
        assert values(nothing) == []
        assert (rest.high_watermark, rest.last_stable_offset, rest.log_start_offset) == (3, 3, 0)
        assert rest.aborted_transactions is None

    run(tmp_path, scenario)


@pytest.mark.parametrize("offset", [-1, 4, 2**62])
def test_an_offset_outside_the_log_is_out_of_range(tmp_path: Path, offset: int) -> None:
    async def scenario(bench: BrokerBench) -> None:
        bench.append(batch([b"a", b"b", b"c"]))
        (data,) = await fetched(bench, request([offset], max_wait_ms=60_000, min_bytes=1))
        assert data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        assert (data.high_watermark, data.log_start_offset) == (-1, -1)

    run(tmp_path, scenario)


def test_an_answer_without_enough_bytes_waits_until_they_are_written(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        size = len(batch([bytes(100)]))
        asked = request([0, 0], max_wait_ms=60_000, min_bytes=3 * size)
        reply = bench.fetch.handle(asked, context(12))
        assert isinstance(reply, Deferred)
        answers = collect(reply)

        bench.append(batch([bytes(100)]), 0)
        bench.append(batch([bytes(100)]), 1)
        assert answers == []
        assert len(bench.purgatory) == 1
        bench.append(batch([bytes(100)]), 1)

        assert len(bench.purgatory) == 0
        sizes = [len(each.records or b"") for each in answers[0].responses[0].partitions]
        assert sizes == [size, 2 * size]

    run(tmp_path, scenario, partition_count=2)


def test_an_answer_comes_when_the_wait_is_over(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        bench.append(batch([b"a"]))
        (data,) = await fetched(bench, request([0], max_wait_ms=20, min_bytes=100_000))
        assert values(data) == [b"a"]
        assert len(bench.purgatory) == 0

    run(tmp_path, scenario)


def test_without_a_wait_the_answer_comes_at_once(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        reply = bench.fetch.handle(request([0], max_wait_ms=0, min_bytes=1), context(12))
        assert isinstance(reply, FetchResponse)

    run(tmp_path, scenario)


def test_a_fetch_of_nothing_does_not_wait(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        reply = bench.fetch.handle(FetchRequest(max_wait_ms=60_000, min_bytes=1), context(12))
        assert isinstance(reply, FetchResponse)
        assert reply.responses == []

    run(tmp_path, scenario)


def test_a_client_that_goes_away_waits_no_longer(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        reply = bench.fetch.handle(request([0], max_wait_ms=60_000, min_bytes=1), context(12))
        assert isinstance(reply, Deferred)
        assert len(bench.purgatory) == 1
        reply.cancel()
        assert len(bench.purgatory) == 0
        bench.append(batch())

    run(tmp_path, scenario)


def test_an_error_in_one_partition_is_answered_at_once(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        bench.append(batch([b"a"]))
        asked = request([0, 0], max_wait_ms=60_000, min_bytes=100_000)
        good, absent = await fetched(bench, asked)
        assert values(good) == [b"a"]
        assert absent.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    run(tmp_path, scenario)


def test_an_unknown_topic_id_says_so(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        asked = request([0])
        asked.topics[0].topic_id = b"x" * 16
        (data,) = await fetched(bench, asked, 13)
        assert data.error_code == ErrorCode.UNKNOWN_TOPIC_ID

    run(tmp_path, scenario)


def test_the_first_batch_comes_whole_and_the_rest_as_far_as_it_fits(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        for index in range(3):
            bench.append(batch([bytes(1000)]), index)
            bench.append(batch([bytes(1000)]), index)
        size = len(batch([bytes(1000)]))

        async def sizes(**limits: int) -> list[int]:
            partitions = await fetched(bench, request([0, 0, 0], **limits))
            return [len(each.records or b"") for each in partitions]

        assert await sizes(max_bytes=1) == [size, 0, 0]
        assert await sizes(max_bytes=2 * size) == [2 * size, 0, 0]
        # The second partition's first batch does not fit any more: better nothing than a piece.
        assert await sizes(max_bytes=2 * size + 5) == [2 * size, 0, 0]
        assert await sizes(max_bytes=5 * size) == [2 * size, 2 * size, size]
        assert await sizes(max_bytes=MANY, partition_max_bytes=size) == [size] * 3

    run(tmp_path, scenario, partition_count=3)


def test_the_broker_bounds_what_a_client_may_ask_for(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        for _ in range(20):
            bench.append(batch([bytes(1000)]))
        (data,) = await fetched(bench, request([0]))
        assert len(data.records or b"") <= 5000

    run(tmp_path, scenario, response_bytes_max=5000)


def transaction(bench: BrokerBench, producer_id: int, value: bytes, sequence: int = 0) -> None:
    fields = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": sequence}
    bench.append(batch([value], is_transactional=True, **fields))


def end(bench: BrokerBench, producer_id: int, *, commit: bool) -> None:
    marker = end_transaction_batch(commit, 0, producer_id, 0, bench.clock.now_ms())
    bench.append(marker, origin=AppendOrigin.COORDINATOR)


def test_read_committed_stops_at_the_last_stable_offset_and_names_aborted_transactions(
    tmp_path: Path,
) -> None:
    async def scenario(bench: BrokerBench) -> None:
        transaction(bench, 1, b"aborted")
        transaction(bench, 2, b"committed")
        end(bench, 2, commit=True)
        end(bench, 1, commit=False)
        transaction(bench, 3, b"open")

        (committed,) = await fetched(bench, request([0], isolation_level=READ_COMMITTED))
        (all_of_it,) = await fetched(bench, request([0]))

        assert values(committed)[:2] == [b"aborted", b"committed"]
        assert b"open" not in values(committed)
        assert committed.aborted_transactions is not None
        named = [(it.producer_id, it.first_offset) for it in committed.aborted_transactions]
        assert named == [(1, 0)]
        assert (committed.high_watermark, committed.last_stable_offset) == (5, 4)
        assert b"open" in values(all_of_it)

    run(tmp_path, scenario)


def test_a_read_committed_fetch_wakes_when_the_transaction_ends(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        asked = request([0], isolation_level=READ_COMMITTED, max_wait_ms=60_000, min_bytes=1)
        reply = bench.fetch.handle(asked, context(12))
        assert isinstance(reply, Deferred)
        answers = collect(reply)

        transaction(bench, 1, b"value")
        assert answers == []
        end(bench, 1, commit=True)

        assert len(answers) == 1

    run(tmp_path, scenario)


@pytest.mark.parametrize(
    ("epoch", "error"),
    [
        (-1, ErrorCode.NONE),
        (5, ErrorCode.NONE),
        (4, ErrorCode.FENCED_LEADER_EPOCH),
        (6, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_leader_epochs_must_agree(tmp_path: Path, epoch: int, error: ErrorCode) -> None:
    async def scenario(bench: BrokerBench) -> None:
        bench.partition().leader_epoch = 5
        asked = request([0])
        asked.topics[0].partitions[0].current_leader_epoch = epoch
        (data,) = await fetched(bench, asked)
        assert data.error_code == error

    run(tmp_path, scenario)


def test_a_log_that_took_another_way_is_told_where_they_part(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        bench.append(batch([b"a", b"b"]))
        asked = request([3], max_wait_ms=60_000, min_bytes=1)
        asked.topics[0].partitions[0].last_fetched_epoch = 0
        (data,) = await fetched(bench, asked)
        assert (data.diverging_epoch.epoch, data.diverging_epoch.end_offset) == (0, 2)
        assert data.records == b""

        asked.topics[0].partitions[0].last_fetched_epoch = 3
        (data,) = await fetched(bench, asked)
        assert data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE

    run(tmp_path, scenario)


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        (request(session_id=0, session_epoch=-1), ErrorCode.NONE),
        (request(session_id=0, session_epoch=0), ErrorCode.NONE),
        (request(session_id=7, session_epoch=0), ErrorCode.NONE),
        (request(session_id=7, session_epoch=3), ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
        (request(replica_id=2), ErrorCode.INVALID_REQUEST),
        (FetchRequest(replica_state=ReplicaState(2, 1)), ErrorCode.INVALID_REQUEST),
        (request(replica_id=-2), ErrorCode.NONE),
    ],
)
def test_who_gets_no_session_is_answered_without_and_replicas_are_refused(
    tmp_path: Path, asked: FetchRequest, error: ErrorCode
) -> None:
    async def scenario(bench: BrokerBench) -> None:
        response = await answered(bench, asked)
        assert (response.error_code, response.session_id) == (error, 0)

    run(tmp_path, scenario, session_slots=0)


def test_a_position_that_is_not_in_memory_is_found_in_a_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = []
    cached = RealFile.try_read_at

    def first_time_cold(self: RealFile, position: int, size: int) -> bytes | None:
        if (position, size) not in refused:
            refused.append((position, size))
            return None
        return cached(self, position, size)

    async def scenario(bench: BrokerBench) -> None:
        for _ in range(40):
            bench.append(batch([bytes(100_000)]))
        monkeypatch.setattr(RealFile, "try_read_at", first_time_cold)
        (data,) = await fetched(bench, request([1], partition_max_bytes=1000))
        assert refused
        assert isinstance(data.records, LogRead)
        assert len(values(data)) == 1

    run(tmp_path, scenario)


def test_a_disk_that_fails_takes_the_partition_offline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> bytes | None:
        raise DiskError("/somewhere", "input/output error")

    async def scenario(bench: BrokerBench) -> None:
        for _ in range(40):
            bench.append(batch([bytes(100_000)]))
        monkeypatch.setattr(RealFile, "try_read_at", fail)
        for _ in range(2):
            (data,) = await fetched(bench, request([1]))
            assert data.error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert len(bench.failures) == 1

    run(tmp_path, scenario)


def test_a_waiting_fetch_is_answered_when_its_partition_goes_offline(tmp_path: Path) -> None:
    async def scenario(bench: BrokerBench) -> None:
        reply = bench.fetch.handle(request([0], max_wait_ms=60_000, min_bytes=1), context(12))
        assert isinstance(reply, Deferred)
        answers = collect(reply)

        bench.partitions.fail(bench.partition(), DiskError("/somewhere", "gone"))

        (data,) = answers[0].responses[0].partitions
        assert data.error_code == ErrorCode.KAFKA_STORAGE_ERROR

    run(tmp_path, scenario)


@pytest.mark.parametrize("index", range(3))
def test_any_of_its_partitions_wakes_a_waiting_fetch(tmp_path: Path, index: int) -> None:
    async def scenario(bench: BrokerBench) -> None:
        asked = request([0, 0, 0], max_wait_ms=60_000, min_bytes=1)
        reply = bench.fetch.handle(asked, context(12))
        assert isinstance(reply, Deferred)
        answers = collect(reply)

        bench.append(batch([b"value"]), index)

        found = [values(each) for each in answers[0].responses[0].partitions]
        assert found == [[b"value"] if each == index else [] for each in range(3)]

    run(tmp_path, scenario, partition_count=3)
