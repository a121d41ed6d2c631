"""The endpoint on real sockets: bounds, idle connections, slow readers, hostile bytes."""

import asyncio
import io
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import uvloop

from barnabas_core.log.read import LogRead, MemorySlice
from barnabas_core.runtime.clock import SystemClock
from barnabas_core.runtime.executor import SystemExecutor
from barnabas_core.runtime.listener import SystemListener
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.runtime.timers import Timers
from barnabas_core.server.api_versions import ApiVersionsHandler, NodeIdentity
from barnabas_core.server.connection_quota import ConnectionLimits
from barnabas_core.server.dispatch import Dispatcher, Handler, RequestContext
from barnabas_core.server.endpoint import Endpoint, EndpointConfig, EndpointParts
from barnabas_core.wire.api import ApiKey
from barnabas_core.wire.messages.api_versions_request import ApiVersionsRequest
from barnabas_core.wire.messages.api_versions_response import ApiVersionsResponse
from barnabas_core.wire.messages.fetch_request import FetchRequest, ForgottenTopic
from barnabas_core.wire.messages.fetch_response import (
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from tests.support.raw_client import ConnectionClosed, RawClient

ANSWER_BYTES = 8 * 1024 * 1024
HELLO = ApiVersionsRequest("raw", "1")


def large_answer(request: FetchRequest, context: RequestContext) -> FetchResponse:
    records: Any = LogRead(0, [MemorySlice(bytes(ANSWER_BYTES))])
    partition = PartitionData(0, records=records)
    return FetchResponse(responses=[FetchableTopicResponse("t", partitions=[partition])])


@dataclass
class Running:
    address: tuple[str, int]
    endpoint: Endpoint
    lines: io.StringIO


@contextmanager
def running(
    config: EndpointConfig, loop_factory: Callable[[], asyncio.AbstractEventLoop]
) -> Iterator[Running]:
    """An endpoint on a loop of its own in a thread."""
    lines = io.StringIO()
    started: list[Running] = []
    is_up = threading.Event()
    stop: list[Callable[[], object]] = []

    async def serve() -> None:
        clock, log, executor = SystemClock(), EventLog(stream=lines), SystemExecutor()
        timers = Timers(clock)
        fetch = Handler(ApiKey.FETCH, large_answer)
        versions = ApiVersionsHandler([fetch], NodeIdentity("cluster", 0))
        endpoint = Endpoint(
            SystemListener(),
            Dispatcher([fetch, versions.handler], log),
            config,
            EndpointParts(clock, timers, executor, log, lambda error: None),
        )
        address = await endpoint.open("127.0.0.1", 0)
        started.append(Running(address, endpoint, lines))
        done = asyncio.Event()
        loop = asyncio.get_running_loop()
        stop.append(lambda: loop.call_soon_threadsafe(done.set))
        is_up.set()
        await done.wait()
        await endpoint.close()
        endpoint.abort_connections()
        timers.close()
        executor.close()
        await asyncio.sleep(0)

    def run() -> None:
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            runner.run(serve())

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert is_up.wait(30)
        yield started[0]
    finally:
        stop[0]()
        thread.join(30)


@pytest.fixture(params=["uvloop", "asyncio"])
def loop_factory(request: pytest.FixtureRequest) -> Callable[[], asyncio.AbstractEventLoop]:
    return uvloop.new_event_loop if request.param == "uvloop" else asyncio.new_event_loop


LoopFactory = Callable[[], asyncio.AbstractEventLoop]


def test_a_slow_reader_does_not_stop_the_others(loop_factory: LoopFactory) -> None:
    with (
        running(EndpointConfig(), loop_factory) as server,
        RawClient(server.address) as slow,
        RawClient(server.address) as other,
    ):
        sent = [slow.send(FetchRequest(), 12) for _ in range(20)]

        for _ in range(50):
            assert other.ask(HELLO, 3, ApiVersionsResponse).error_code == 0
        sizes = [
            len(slow.receive(FetchResponse, 12, each).responses[0].partitions[0].records or b"")
            for each in sent
        ]

        assert sizes == [ANSWER_BYTES] * 20


def test_connections_beyond_the_bound_are_refused(loop_factory: LoopFactory) -> None:
    with (
        running(EndpointConfig(limits=ConnectionLimits(count_max=2)), loop_factory) as server,
        RawClient(server.address) as first,
        RawClient(server.address) as second,
    ):
        for client in (first, second):
            client.ask(HELLO, 3, ApiVersionsResponse)

        with RawClient(server.address) as third:
            assert third.is_closed()
        first.close()
        while server.endpoint.connection_count > 1:
            pass
        with RawClient(server.address) as fourth:
            assert fourth.ask(HELLO, 3, ApiVersionsResponse).error_code == 0
        assert "too many" in server.lines.getvalue()


def test_connections_from_one_address_are_bounded(loop_factory: LoopFactory) -> None:
    limits = ConnectionLimits(address_count_max=5, address_overrides={"127.0.0.1": 1})
    with (
        running(EndpointConfig(limits=limits), loop_factory) as server,
        RawClient(server.address) as first,
    ):
        assert first.ask(HELLO, 3, ApiVersionsResponse).error_code == 0

        with RawClient(server.address) as second:
            assert second.is_closed()
        assert "max.connections.per.ip" in server.lines.getvalue()


def test_who_connects_too_fast_is_served_all_the_same(loop_factory: LoopFactory) -> None:
    limits = ConnectionLimits(rate_max=10)
    with running(EndpointConfig(limits=limits), loop_factory) as server, ExitStack() as clients:
        for _ in range(15):
            client = clients.enter_context(RawClient(server.address))
            assert client.ask(HELLO, 3, ApiVersionsResponse).error_code == 0


def test_with_a_negative_bound_nobody_is_idle(loop_factory: LoopFactory) -> None:
    with (
        running(EndpointConfig(idle_ms_max=-1), loop_factory) as server,
        RawClient(server.address) as client,
    ):
        for _ in range(20):
            assert client.ask(HELLO, 3, ApiVersionsResponse).error_code == 0
        assert server.endpoint.connection_count == 1


def test_an_idle_connection_is_closed_and_a_busy_one_is_not(loop_factory: LoopFactory) -> None:
    # Long enough that a busy machine does not make the busy connection look idle.
    with (
        running(EndpointConfig(idle_ms_max=1_500), loop_factory) as server,
        RawClient(server.address) as idle,
        RawClient(server.address) as busy,
    ):
        idle.ask(HELLO, 3, ApiVersionsResponse)
        busy.ask(HELLO, 3, ApiVersionsResponse)
        assert server.endpoint.connection_count == 2
        waiter = threading.Event()
        while server.endpoint.connection_count > 1:
            busy.ask(HELLO, 3, ApiVersionsResponse)
            waiter.wait(0.03)

        assert idle.is_closed()
        assert busy.ask(HELLO, 3, ApiVersionsResponse).error_code == 0


def test_hostile_lengths_close_only_their_own_connection(loop_factory: LoopFactory) -> None:
    with running(EndpointConfig(), loop_factory) as server, RawClient(server.address) as good:
        for length in (-1, -(2**31), 2**31 - 1, 100 * 1024 * 1024 + 1, 0, 1, 9):
            with RawClient(server.address) as hostile:
                hostile.send_bytes(struct.pack(">i", length) + bytes(max(0, min(length, 20))))
                assert hostile.is_closed()
            assert good.ask(HELLO, 3, ApiVersionsResponse).error_code == 0


def test_half_a_request_costs_little_and_a_half_open_peer_nothing(
    loop_factory: LoopFactory,
) -> None:
    with running(EndpointConfig(), loop_factory) as server:
        with ExitStack() as hostile:
            for _ in range(100):
                each = hostile.enter_context(socket.create_connection(server.address))
                each.sendall(struct.pack(">i", 100 * 1024 * 1024) + bytes(10))
            with RawClient(server.address) as good:
                good.ask(HELLO, 3, ApiVersionsResponse)
            assert server.endpoint.large_bytes == 0
        while server.endpoint.connection_count > 0:
            pass


def test_a_large_request_that_stalls_gives_way_to_those_that_wait(
    loop_factory: LoopFactory,
) -> None:
    config = EndpointConfig(large_bytes_max=2_000_000, stalled_ms_max=200)
    with (
        running(config, loop_factory) as server,
        socket.create_connection(server.address) as hostile,
    ):
        hostile.sendall(struct.pack(">i", 1_900_000) + bytes(1_200_000))
        while server.endpoint.large_bytes == 0:
            pass

        with RawClient(server.address, "x" * 30_000) as good:
            request = FetchRequest(rack_id="r" * 30_000)
            request.forgotten_topics_data = [ForgottenTopic("t", partitions=[0] * 250_000)]
            answer = good.ask(request, 11, FetchResponse)

        assert len(answer.responses) == 1
        # The answer may be here before the server has let go of its request.
        deadline = time.monotonic() + 30
        while server.endpoint.large_bytes and time.monotonic() < deadline:
            time.sleep(0.001)
        assert server.endpoint.large_bytes == 0
        assert "stalled" in server.lines.getvalue()


def test_requests_that_come_byte_by_byte_are_answered(loop_factory: LoopFactory) -> None:
    with running(EndpointConfig(), loop_factory) as server, RawClient(server.address) as client:
        frame = b"".join([struct.pack(">ihhih", 11, 18, 0, 5, 1), b"x"])
        for value in frame:
            client.send_bytes(bytes([value]))

        assert client.receive(ApiVersionsResponse, 0, 5).error_code == 0


def test_a_server_that_closes_hangs_up(loop_factory: LoopFactory) -> None:
    with ExitStack() as after:
        with running(EndpointConfig(), loop_factory) as server:
            client = after.enter_context(RawClient(server.address))
            client.ask(HELLO, 3, ApiVersionsResponse)

        with pytest.raises(ConnectionClosed):
            client.receive_frame()
