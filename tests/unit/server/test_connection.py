"""One connection, driven through a transport that is not a socket."""

import asyncio
import io
import struct
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar, cast

import pytest

from barnabas_core.log.read import LogRead
from barnabas_core.ports import Buffer, DiskError
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.server.answer import PIECE_BYTES
from barnabas_core.server.budget import ByteBudget
from barnabas_core.server.connection import QUEUED_BYTES_MAX, Connection, ConnectionEnvironment
from barnabas_core.server.deferred import Deferred
from barnabas_core.server.dispatch import Dispatcher, Handler, RequestContext
from barnabas_core.server.framing import FIRST_BYTES
from barnabas_core.wire.api import ApiKey
from barnabas_core.wire.frame import decode_response, encode_request
from barnabas_core.wire.messages.fetch_request import FetchRequest
from barnabas_core.wire.messages.fetch_response import (
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from barnabas_core.wire.messages.init_producer_id_request import InitProducerIdRequest
from barnabas_core.wire.messages.init_producer_id_response import InitProducerIdResponse
from barnabas_core.wire.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas_core.wire.messages.produce_response import ProduceResponse
from barnabas_core.wire.schema import Message
from tests.support.fake_transport import FakeTransport
from tests.support.manual_clock import ManualClock

T = TypeVar("T")
Handle = Callable[[Any, RequestContext], Any]


class LoopExecutor:
    """Runs what belongs in a thread in the next turn of the loop."""

    def __init__(self) -> None:
        self.calls = 0

    async def in_thread(self, call: Callable[[], T]) -> T:
        self.calls += 1
        await asyncio.sleep(0)
        return call()

    def in_worker(self, job: str, arguments: Sequence[str]) -> Awaitable[bytes]:
        raise AssertionError("a connection has no such work")


class Bench:
    """A connection with its surroundings."""

    def __init__(
        self,
        handlers: dict[ApiKey, Handle],
        *,
        room: int | None = None,
        frame_bytes_max: int = 100 * 1024 * 1024,
        budget_bytes: int = 512 * 1024 * 1024,
    ) -> None:
        self.lines = io.StringIO()
        log = EventLog(stream=self.lines)
        self.executor = LoopExecutor()
        self.budget = ByteBudget(budget_bytes)
        self.disk_errors: list[DiskError] = []
        self.environment = ConnectionEnvironment(
            dispatcher=Dispatcher([Handler(api, handle) for api, handle in handlers.items()], log),
            clock=ManualClock(),
            executor=self.executor,
            log=log,
            frame_bytes_max=frame_bytes_max,
            budget=self.budget,
            on_disk_error=self.disk_errors.append,
        )
        self.lost: list[Connection] = []
        self.transport = self.connect(room)

    def connect(self, room: int | None = None) -> FakeTransport:
        connection = Connection(
            self.environment, "PLAINTEXT", lambda connection: True, self.lost.append
        )
        return FakeTransport(connection, room)


def framed(message: Message, version: int, correlation_id: int = 0) -> bytes:
    parts = encode_request(message, version, correlation_id)
    return b"".join(cast("list[bytes]", parts))


def init(correlation_id: int) -> bytes:
    return framed(InitProducerIdRequest(None, 0), 2, correlation_id)


def produce(size: int, correlation_id: int = 0) -> bytes:
    partition = PartitionProduceData(0, memoryview(bytes(size)))
    topic = TopicProduceData("t", partition_data=[partition])
    return framed(ProduceRequest(None, 1, 1000, [topic]), 9, correlation_id)


def correlation_ids(data: bytes) -> list[int]:
    found = []
    while data:
        length, correlation_id = struct.unpack_from(">ii", data)
        assert length <= len(data) - 4
        found.append(correlation_id)
        data = data[4 + length :]
    return found


def at_once(request: Message, context: RequestContext) -> InitProducerIdResponse:
    return InitProducerIdResponse(producer_id=context.correlation_id)


async def turns(count: int = 10) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def test_pipelined_requests_are_answered_in_order() -> None:
    async def scenario() -> bytes:
        bench = Bench({ApiKey.INIT_PRODUCER_ID: at_once})
        bench.transport.give(b"".join(init(number) for number in range(100)))
        await turns(20)
        return bench.transport.drain()

    assert correlation_ids(asyncio.run(scenario())) == list(range(100))


def test_one_that_is_held_is_served_when_its_turn_comes() -> None:
    async def scenario() -> None:
        bench = Bench({ApiKey.INIT_PRODUCER_ID: at_once})
        connection = cast("Connection", bench.transport.protocol)
        connection.hold()
        bench.transport.give(init(1) + init(2))
        await turns()
        assert bench.transport.drain() == b""

        connection.release()
        assert correlation_ids(bench.transport.drain()) == [1, 2]

        bench.transport.lose()
        connection.release()  # too late, and no harm

    asyncio.run(scenario())


def test_the_next_request_waits_for_the_answer_to_the_last() -> None:
    seen: list[int] = []
    waiting: list[Deferred[InitProducerIdResponse]] = []

    def later(request: Message, context: RequestContext) -> Deferred[InitProducerIdResponse]:
        seen.append(context.correlation_id)
        waiting.append(Deferred())
        return waiting[-1]

    async def scenario() -> None:
        bench = Bench({ApiKey.INIT_PRODUCER_ID: later})
        bench.transport.give(init(1) + init(2))
        await turns()
        assert seen == [1]
        waiting[0].resolve(InitProducerIdResponse())
        await turns()
        assert seen == [1, 2]
        waiting[1].resolve(InitProducerIdResponse())
        assert correlation_ids(bench.transport.drain()) == [1, 2]

    asyncio.run(scenario())


def test_a_client_that_floods_is_no_longer_read_from() -> None:
    waiting: list[Deferred[InitProducerIdResponse]] = []

    def later(request: Message, context: RequestContext) -> Deferred[InitProducerIdResponse]:
        waiting.append(Deferred())
        return waiting[-1]

    async def scenario() -> None:
        bench = Bench({ApiKey.INIT_PRODUCER_ID: later})
        flood = init(1) * 100_000
        bench.transport.give(flood)
        taken = len(flood) - len(bench.transport.left)
        assert not bench.transport.is_reading()
        assert taken < QUEUED_BYTES_MAX + 2 * FIRST_BYTES

        for number in range(taken // len(init(1)) // 2):
            waiting[number].resolve(InitProducerIdResponse())
            await turns(2)
        assert bench.transport.is_reading()

    asyncio.run(scenario())


def test_a_request_without_an_answer_lets_the_next_one_in() -> None:
    def silent(request: Message, context: RequestContext) -> None:
        return None

    async def scenario() -> bytes:
        bench = Bench({ApiKey.PRODUCE: silent, ApiKey.INIT_PRODUCER_ID: at_once})
        bench.transport.give(produce(10, 1) + produce(10, 2) + init(3))
        await turns()
        return bench.transport.drain()

    assert correlation_ids(asyncio.run(scenario())) == [3]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (struct.pack(">i", -7), "-7 bytes"),
        (struct.pack(">i", 100 * 1024 * 1024 + 1), "104857601 bytes"),
        (struct.pack(">ihhih", 10, 999, 0, 1, -1), "api key 999"),
        (struct.pack(">i", 3) + b"abc", "no header"),
    ],
)
def test_a_malformed_frame_closes_the_connection_with_one_line(data: bytes, reason: str) -> None:
    async def scenario() -> Bench:
        bench = Bench({ApiKey.INIT_PRODUCER_ID: at_once})
        bench.transport.give(data + init(1))
        await turns()
        return bench

    bench = asyncio.run(scenario())

    assert bench.transport.closed
    assert bench.transport.drain() == b""
    assert len(bench.lines.getvalue().splitlines()) == 1
    assert reason in bench.lines.getvalue()
    assert "192.0.2.1:4711" in bench.lines.getvalue()


def test_a_handler_that_fails_costs_its_own_connection() -> None:
    def broken(request: Message, context: RequestContext) -> InitProducerIdResponse:
        raise ValueError("unlucky")

    async def scenario() -> Bench:
        bench = Bench({ApiKey.INIT_PRODUCER_ID: broken})
        bench.transport.give(init(1))
        await turns()
        return bench

    bench = asyncio.run(scenario())

    assert bench.transport.closed
    assert "unlucky" in bench.lines.getvalue()


def test_a_lost_connection_cancels_the_answer_it_waits_for() -> None:
    cancelled: list[bool] = []

    def later(request: Message, context: RequestContext) -> Deferred[InitProducerIdResponse]:
        return Deferred(on_cancel=lambda: cancelled.append(True))

    async def scenario() -> Bench:
        bench = Bench({ApiKey.INIT_PRODUCER_ID: later})
        bench.transport.give(init(1))
        bench.transport.lose()
        return bench

    bench = asyncio.run(scenario())

    assert cancelled == [True]
    assert len(bench.lost) == 1


class Range:
    """A file range, cold until it is read in a thread."""

    def __init__(self, size: int, *, cold: bool) -> None:
        self.size = size
        self.cold = cold

    def __len__(self) -> int:
        return self.size

    def try_read(self, position: int, size: int) -> Buffer | None:
        return None if self.cold else bytes(size)

    def read(self, position: int, size: int) -> Buffer:
        self.cold = False
        return bytes(size)


def fetch_of(*ranges: Range) -> Handle:
    def fetch(request: FetchRequest, context: RequestContext) -> FetchResponse:
        partitions = [
            PartitionData(number, records=cast("Any", LogRead(0, [each])))
            for number, each in enumerate(ranges)
        ]
        return FetchResponse(responses=[FetchableTopicResponse("t", partitions=partitions)])

    return fetch


def fetch(correlation_id: int) -> bytes:
    return framed(FetchRequest(), 12, correlation_id)


def test_a_large_answer_is_read_only_as_the_peer_takes_it() -> None:
    sizes = (5 * PIECE_BYTES, 17, 3 * PIECE_BYTES + 1)

    async def scenario() -> bytes:
        ranges = [Range(size, cold=False) for size in sizes]
        bench = Bench({ApiKey.FETCH: fetch_of(*ranges)}, room=PIECE_BYTES)
        bench.transport.give(fetch(1) + fetch(2))
        answer = b""
        for _ in range(100):
            assert len(bench.transport.written) <= 2 * PIECE_BYTES + 1000
            piece = bench.transport.drain()
            answer += piece
            await turns(2)
        return answer

    answer = asyncio.run(scenario())

    assert correlation_ids(answer) == [1, 2]
    length = struct.unpack_from(">i", answer)[0]
    _, response = decode_response(FetchResponse, 12, answer[4 : 4 + length])
    found = [len(each.records or b"") for each in response.responses[0].partitions]
    assert found == list(sizes)


def test_a_cold_range_is_read_in_a_thread_and_the_order_kept() -> None:
    async def scenario() -> Bench:
        cold = Range(2 * PIECE_BYTES, cold=True)
        bench = Bench({ApiKey.FETCH: fetch_of(Range(10, cold=False), cold, Range(20, cold=True))})
        bench.transport.give(fetch(1) + fetch(2))
        await turns(30)
        return bench

    bench = asyncio.run(scenario())

    assert bench.executor.calls == 2
    assert correlation_ids(bench.transport.drain()) == [1, 2]


def test_an_answer_that_tears_closes_the_connection() -> None:
    class Shrunk(Range):
        def try_read(self, position: int, size: int) -> Buffer | None:
            return bytes(size - 1)

    async def scenario() -> Bench:
        bench = Bench({ApiKey.FETCH: fetch_of(Shrunk(100, cold=False))})
        bench.transport.give(fetch(1))
        await turns()
        return bench

    bench = asyncio.run(scenario())

    assert bench.transport.closed
    assert "in the middle of an answer" in bench.lines.getvalue()


def test_a_disk_that_fails_in_the_middle_of_an_answer_is_reported() -> None:
    class Broken(Range):
        def try_read(self, position: int, size: int) -> Buffer | None:
            if not self.cold:
                raise DiskError("/somewhere", "input/output error")
            return None

        def read(self, position: int, size: int) -> Buffer:
            raise DiskError("/somewhere", "input/output error")

    async def scenario(*, cold: bool) -> Bench:
        bench = Bench({ApiKey.FETCH: fetch_of(Broken(100, cold=cold))})
        bench.transport.give(fetch(1))
        await turns()
        return bench

    for cold in (False, True):
        bench = asyncio.run(scenario(cold=cold))
        assert bench.transport.closed
        assert len(bench.disk_errors) == 1


def test_a_reader_that_goes_away_during_a_read_in_a_thread_harms_nobody() -> None:
    async def scenario() -> None:
        bench = Bench({ApiKey.FETCH: fetch_of(Range(100, cold=True))})
        bench.transport.give(fetch(1))
        bench.transport.lose()
        await turns()
        assert bench.executor.calls == 1

    asyncio.run(scenario())


def answer_produce(request: ProduceRequest, context: RequestContext) -> ProduceResponse:
    return ProduceResponse()


def test_the_records_of_a_large_produce_are_a_view_of_the_frame_they_were_read_into() -> None:
    seen: list[memoryview] = []

    def keep(request: ProduceRequest, context: RequestContext) -> ProduceResponse:
        records = request.topic_data[0].partition_data[0].records
        assert isinstance(records, memoryview)
        seen.append(records)
        return ProduceResponse()

    async def scenario() -> None:
        bench = Bench({ApiKey.PRODUCE: keep})
        bench.transport.give(produce(3 * FIRST_BYTES))

    asyncio.run(scenario())

    (records,) = seen
    assert isinstance(records.obj, bytearray)
    assert not records.readonly
    assert len(records.obj) - len(records) < 100


def test_large_requests_wait_for_room_and_are_served_in_turn() -> None:
    waiting: list[Deferred[ProduceResponse]] = []

    def later(request: ProduceRequest, context: RequestContext) -> Deferred[ProduceResponse]:
        waiting.append(Deferred())
        return waiting[-1]

    async def scenario() -> None:
        bench = Bench({ApiKey.PRODUCE: later}, budget_bytes=500_000)
        first, second = bench.transport, bench.connect()
        first.give(produce(400_000))
        second.give(produce(400_000))
        assert len(waiting) == 1
        assert not second.is_reading()
        assert bench.budget.is_short

        waiting[0].resolve(ProduceResponse())
        assert second.is_reading()
        second.give(second.left)

        assert len(waiting) == 2
        waiting[1].resolve(ProduceResponse())
        assert bench.budget.used_bytes == 0

    asyncio.run(scenario())


def test_a_lost_connection_gives_back_what_it_held() -> None:
    async def scenario() -> None:
        bench = Bench({ApiKey.PRODUCE: answer_produce}, budget_bytes=500_000)
        first, second = bench.transport, bench.connect()
        first.give(produce(400_000)[:100_000])
        second.give(produce(400_000))
        third = bench.connect()
        third.give(produce(400_000))
        assert not second.is_reading()
        assert not third.is_reading()

        second.lose()
        first.lose()
        assert third.is_reading()
        third.give(third.left)

        assert len(correlation_ids(third.drain())) == 1
        assert bench.budget.used_bytes == 0

    asyncio.run(scenario())


def test_requests_that_wait_do_not_make_the_reader_of_answers_starve() -> None:
    """A peer that does not read is not served, and goes on where it stopped once it reads."""

    async def scenario() -> None:
        bench = Bench({ApiKey.INIT_PRODUCER_ID: at_once}, room=50)
        bench.transport.give(b"".join(init(number) for number in range(20)))
        await turns()
        unread = correlation_ids(bytes(bench.transport.written))
        assert len(unread) < 10

        answer = b""
        for _ in range(30):
            answer += bench.transport.drain()
            await turns(3)
        assert correlation_ids(answer) == list(range(20))

    asyncio.run(scenario())
