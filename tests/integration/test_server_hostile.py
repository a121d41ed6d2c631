"""Hostile bytes: whatever comes in, the server goes on serving the others.

The seed is in the name of the test and replays it.
"""

import contextlib
import random
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.records.builder import build_batch
from barnabas_core.runtime.clock import SystemClock
from barnabas_core.wire.api import API_BY_KEY
from barnabas_core.wire.frame import encode_request
from barnabas_core.wire.messages.api_versions_request import ApiVersionsRequest
from barnabas_core.wire.messages.api_versions_response import ApiVersionsResponse
from barnabas_core.wire.messages.fetch_request import FetchRequest
from barnabas_core.wire.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas_core.wire.messages.produce_response import ProduceResponse
from barnabas_core.wire.schema import Message
from tests.support.barnabas_process import running_barnabas
from tests.support.process import Child
from tests.support.raw_client import ConnectionClosed, RawClient
from tests.support.wire_message import messages

SERVED = (0, 1, 2, 3, 18, 22)
HELLO = ApiVersionsRequest("raw", "1")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Child, tuple[str, int]]]:
    with running_barnabas(tmp_path_factory.mktemp("hostile")) as (child, bootstrap):
        host, _, port = bootstrap.rpartition(":")
        yield child, (host, int(port))


def resident_kib(child: Child) -> int:
    status = Path(f"/proc/{child.process.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


def produce(address: tuple[str, int]) -> ProduceResponse:
    batch = build_batch([(None, b"x")], timestamp_ms=SystemClock().now_ms())
    data = [PartitionProduceData(0, memoryview(batch))]
    asked = ProduceRequest(None, 1, 1000, [TopicProduceData("good", partition_data=data)])
    with RawClient(address) as client:
        return client.ask(asked, 9, ProduceResponse)


def attack(
    address: tuple[str, int], count: int, make: Callable[[], bytes], *, hang_up: bool = False
) -> None:
    """Send frames, on a new connection whenever the server has closed the last one."""
    sent = 0
    while sent < count:
        with RawClient(address) as client, contextlib.suppress(ConnectionClosed, TimeoutError):
            while sent < count:
                sent += 1
                client.send_bytes(make())
                if hang_up:
                    break


def assert_still_serving(server: tuple[Child, tuple[str, int]]) -> None:
    child, address = server
    assert child.process.poll() is None, child.output()
    with RawClient(address) as client:
        for _ in range(10):
            assert client.ask(HELLO, 3, ApiVersionsResponse).error_code == 0
    assert produce(address).responses
    assert "Traceback" not in child.output(), child.output()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_frames_harm_nobody(server: tuple[Child, tuple[str, int]], seed: int) -> None:
    rng = random.Random(seed)

    def frame() -> bytes:
        body = rng.randbytes(rng.choice((0, 1, 4, 9, 10, 11, 40, 500)))
        return struct.pack(">i", len(body)) + body

    attack(server[1], 500, frame)

    assert_still_serving(server)


@pytest.mark.parametrize("seed", [1, 2])
def test_random_bytes_without_any_frame_harm_nobody(
    server: tuple[Child, tuple[str, int]], seed: int
) -> None:
    rng = random.Random(seed)

    attack(server[1], 300, lambda: rng.randbytes(rng.randrange(1, 3000)))

    assert_still_serving(server)


@pytest.mark.parametrize("seed", [1, 2])
def test_truncated_frames_harm_nobody(server: tuple[Child, tuple[str, int]], seed: int) -> None:
    rng = random.Random(seed)

    def half() -> bytes:
        length = rng.choice((10, 1000, 100_000, 50_000_000))
        return struct.pack(">i", length) + rng.randbytes(rng.randrange(min(length, 200_000)))

    attack(server[1], 100, half, hang_up=True)

    assert_still_serving(server)


@pytest.mark.parametrize("length", [-1, -(2**31), 2**31 - 1, 100 * 1024 * 1024 + 1])
def test_impossible_lengths_harm_nobody(server: tuple[Child, tuple[str, int]], length: int) -> None:
    attack(server[1], 50, lambda: struct.pack(">i", length) + b"rest", hang_up=True)

    assert_still_serving(server)


@pytest.mark.parametrize("key", SERVED)
def test_fuzzed_bodies_of_every_api_harm_nobody(
    server: tuple[Child, tuple[str, int]], key: int
) -> None:
    """1,000 requests of each served api: right headers, bodies of random and of broken bytes."""
    rng = random.Random(key)
    info = API_BY_KEY[key]

    def frame() -> bytes:
        version = rng.randint(info.min_version, info.max_version)
        flexible = info.request_header_version(version) == 2
        head = struct.pack(">hhih", key, version, 1, -1) + (b"\0" if flexible else b"")
        body = bytearray(rng.randbytes(rng.randrange(120)))
        for _ in range(rng.randrange(8)):
            # Small numbers and lengths lead a decoder further in than noise does.
            if body:
                body[rng.randrange(len(body))] = rng.choice((0, 1, 2, 3, 0x7F, 0x80, 0xFF))
        if rng.random() < 0.3:
            body = bytearray(len(body))
        return struct.pack(">i", len(head) + len(body)) + head + body

    attack(server[1], 1_000, frame)

    assert_still_serving(server)


@pytest.mark.parametrize("key", SERVED)
@given(data=st.data())
def test_any_request_is_answered_or_ends_its_connection(
    server: tuple[Child, tuple[str, int]], key: int, data: st.DataObject
) -> None:
    """Requests that decode, with any values in them, and those with a few bytes changed."""
    info = API_BY_KEY[key]
    version = data.draw(st.integers(info.min_version, info.max_version))
    request = data.draw(messages(info.request, version))
    assert isinstance(request, Message)
    if isinstance(request, FetchRequest):
        request.max_wait_ms = min(request.max_wait_ms, 5)
    frame = bytearray(b"".join(cast("list[bytes]", encode_request(request, version, 1, "fuzz"))))
    # Not the time to wait, which would make the test wait.
    first = 27 if isinstance(request, FetchRequest) else 12
    for _ in range(data.draw(st.integers(0, 3))):
        position = data.draw(st.integers(min(first, len(frame) - 1), len(frame) - 1))
        frame[position] = data.draw(st.integers(0, 255))
    hello = struct.pack(">ihhih", 10, 18, 0, 99, -1)

    with RawClient(server[1]) as client, contextlib.suppress(ConnectionClosed):
        client.send_bytes(bytes(frame) + hello)
        while int.from_bytes(client.receive_frame()[:4]) != 99:
            pass

    assert server[0].process.poll() is None
    assert "Traceback" not in server[0].output()


def test_broken_record_batches_are_refused_one_by_one(
    server: tuple[Child, tuple[str, int]],
) -> None:
    """A Produce request that is well formed around records that are not."""
    rng = random.Random(7)
    produce(server[1])
    refused = 0
    for _ in range(500):
        batch = build_batch([(b"k", b"v" * 50)] * 3, timestamp_ms=SystemClock().now_ms())
        for _ in range(rng.randrange(1, 4)):
            batch[rng.randrange(len(batch))] ^= 1 << rng.randrange(8)
        data = [PartitionProduceData(0, memoryview(batch))]
        asked = ProduceRequest(None, 1, 1000, [TopicProduceData("good", partition_data=data)])
        with RawClient(server[1]) as client:
            answer = client.ask(asked, 9, ProduceResponse)
        refused += answer.responses[0].partition_responses[0].error_code != 0

    # The base offset and the leader epoch are the broker's to set: bits there do not count.
    assert refused > 350
    assert_still_serving(server)


def test_memory_comes_back_after_an_attack(server: tuple[Child, tuple[str, int]]) -> None:
    child, address = server
    produce(address)
    before_kib = resident_kib(child)

    with contextlib.ExitStack() as clients:
        for _ in range(100):
            client = clients.enter_context(RawClient(address))
            with contextlib.suppress(ConnectionClosed):
                client.send_bytes(struct.pack(">i", 100 * 1024 * 1024) + bytes(300_000))
    assert_still_serving(server)

    # 100 connections held 1 MiB each at the height of it.
    assert resident_kib(child) < before_kib + 60 * 1024
