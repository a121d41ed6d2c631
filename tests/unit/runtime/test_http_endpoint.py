"""The HTTP server for those who watch, over real sockets."""

import asyncio
import io
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from barnabas_core.runtime import http_endpoint
from barnabas_core.runtime.clock import SystemClock
from barnabas_core.runtime.executor import SystemExecutor
from barnabas_core.runtime.http_endpoint import HttpAnswer, HttpEndpoint
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.runtime.metrics.registry import Role
from barnabas_core.runtime.observation import Observation

Ask = Callable[[bytes], Awaitable[bytes]]


async def _hello() -> HttpAnswer:
    return HttpAnswer(200, "grüezi\n")


async def _stream() -> HttpAnswer:
    async def pieces() -> AsyncIterator[str]:
        for _ in range(100):
            yield "x" * 100_000

    return HttpAnswer(200, pieces())


def with_endpoint(scenario: Callable[[Ask, int], Awaitable[None]]) -> None:
    async def run() -> None:
        endpoint = HttpEndpoint({"/hello": _hello, "/stream": _stream}, EventLog())
        _, port = await endpoint.open("127.0.0.1", 0)
        try:
            async with asyncio.timeout(60):
                await scenario(lambda request: ask(port, request), port)
        finally:
            await endpoint.close()

    asyncio.run(run())


async def ask(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request)
        return await reader.read()
    finally:
        writer.close()


def get(path: str, method: str = "GET") -> bytes:
    return f"{method} {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


def test_a_page_is_given_with_its_length() -> None:
    async def scenario(ask: Ask, port: int) -> None:
        head, _, body = (await ask(get("/hello?query"))).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b"Content-Length: 8" in head
        assert body.decode() == "grüezi\n"

    with_endpoint(scenario)


def test_a_head_has_no_body() -> None:
    async def scenario(ask: Ask, port: int) -> None:
        answer = await ask(get("/hello", "HEAD"))
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert answer.endswith(b"\r\n\r\n")
        assert b"Content-Length: 8" in answer

    with_endpoint(scenario)


def test_a_body_that_is_made_on_the_way_arrives_whole() -> None:
    async def scenario(ask: Ask, port: int) -> None:
        _, _, body = (await ask(get("/stream"))).partition(b"\r\n\r\n")
        assert len(body) == 10_000_000

    with_endpoint(scenario)


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (get("/other"), b"404"),
        (get("/hello", "POST"), b"405"),
        (b"rubbish\r\n\r\n", b"400"),
        (b"GET /hello SPDY/3\r\n\r\n", b"400"),
        (b"GET /hello HTTP/1.1\r\nX: " + b"x" * 9_000 + b"\r\n\r\n", b"431"),
    ],
)
def test_what_is_wrong_is_said(request_bytes: bytes, status: bytes) -> None:
    async def scenario(ask: Ask, port: int) -> None:
        assert (await ask(request_bytes)).startswith(b"HTTP/1.1 " + status)

    with_endpoint(scenario)


def test_whoever_says_nothing_is_sent_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_endpoint, "_REQUEST_S_MAX", 0.01)

    async def scenario(ask: Ask, port: int) -> None:
        assert (await ask(b"GET /hel")).startswith(b"HTTP/1.1 408")

    with_endpoint(scenario)


def test_one_connection_too_many_is_closed_and_others_are_served() -> None:
    async def scenario(ask: Ask, port: int) -> None:
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(32)]
        await asyncio.sleep(0)
        assert await _closed(port)
        for _, writer in held:
            writer.close()
            await writer.wait_closed()
        while not (await _maybe(ask, get("/hello"))).startswith(b"HTTP/1.1 200"):  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    with_endpoint(scenario)


async def _closed(port: int) -> bool:
    try:
        return await ask(port, get("/hello")) == b""
    except OSError:
        return True


async def _maybe(ask: Ask, request: bytes) -> bytes:
    try:
        return await ask(request)
    except OSError:
        return b""


def test_a_process_is_seen_from_outside() -> None:
    async def run() -> None:
        executor = SystemExecutor()
        observation = Observation(SystemClock(), executor, EventLog(stream=io.StringIO()))
        _, port = await observation.start("127.0.0.1", 0)
        try:
            metrics = await ask(port, get("/metrics"))
            assert b"process_open_fds" in metrics
            assert b"barnabas_event_loop_lag_seconds_bucket" in metrics
            assert (await ask(port, get("/healthz"))).startswith(b"HTTP/1.1 200")
            assert (await ask(port, get("/readyz"))).startswith(b"HTTP/1.1 503")
            observation.registry.add("broker 1", Role(1, (), lambda: None))
            assert (await ask(port, get("/readyz"))).startswith(b"HTTP/1.1 200")
        finally:
            await observation.stop()
            executor.close()

    asyncio.run(run())
