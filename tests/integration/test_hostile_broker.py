"""A broker and a controller are sent what nobody should send, and go on as before.

Afterwards they serve, hold no more memory or connections than they did, and have not one traceback
in their log: what a client gets wrong is answered or ends its connection, in one line. The seed is
printed; BARNABAS_HOSTILE_SEED repeats a run of the soak.
"""

import contextlib
import os
import random
import socket
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from barnabas_core.wire.api import ApiKey
from barnabas_core.wire.frame import encode_request
from barnabas_core.wire.messages.api_versions_request import ApiVersionsRequest
from barnabas_core.wire.messages.api_versions_response import ApiVersionsResponse
from barnabas_core.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from barnabas_core.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from barnabas_core.wire.messages.metadata_response import MetadataResponse
from tests.support.barnabas_process import running_barnabas
from tests.support.controller_process import controllers, until
from tests.support.hostile_requests import Hostile, HostileRequests
from tests.support.librdkafka import produce, read
from tests.support.process import Child
from tests.support.raw_client import ConnectionClosed, RawClient

REQUESTS = 5_000
REQUESTS_OF_A_SOAK = 100_000
GROWTH_KIB_MAX = 20 * 1024
FREED_IN_S = 60.0
CONNECTIONS = 100
KEPT = "kept"
RECORDS = [b"%d".ljust(10_000, b".") % number for number in range(500)]
HELLO = struct.pack(">ihhih", 10, 18, 0, 0x7E57, -1)
ANSWER_TO_HELLO = struct.pack(">i", 0x7E57)


@dataclass(frozen=True, slots=True)
class Target:
    child: Child
    address: tuple[str, int]

    def resident_kib(self, name: str = "VmRSS:") -> int:
        status = Path(f"/proc/{self.child.process.pid}/status").read_text()
        return int(status.partition(name)[2].split()[0])

    def peak_kib(self) -> int:
        return self.resident_kib("VmHWM:")

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.child.process.pid}/fd"))

    def assert_no_traceback(self) -> None:
        output = self.child.output()
        assert self.child.process.poll() is None, output[-5_000:]
        at = output.find("Traceback")
        assert at < 0, output[max(0, at - 500) : at + 5_000]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Target]:
    with running_barnabas(tmp_path) as (child, bootstrap):
        host, _, port = bootstrap.rpartition(":")
        yield Target(child, (host, int(port)))


@pytest.fixture
def controller(tmp_path: Path) -> Iterator[Target]:
    with controllers(tmp_path, 1) as quorum:
        node = quorum[quorum.wait_active()]
        assert node.child is not None
        yield Target(node.child, node.address)


def served_by(target: Target) -> list[tuple[ApiKey, int]]:
    with RawClient(target.address) as client:
        answer = client.ask(ApiVersionsRequest("before", "1"), 4, ApiVersionsResponse)
    return [
        (ApiKey(one.api_key), version)
        for one in answer.api_keys
        for version in range(one.min_version, one.max_version + 1)
    ]


def attack(target: Target, hostile: HostileRequests, count: int) -> Counter[str]:
    """What was sent, by kind, and what became of it."""
    seen: Counter[str] = Counter()
    sent = 0
    while sent < count:
        with RawClient(target.address, timeout_s=5) as client:
            for _ in range(count - sent):
                sent += 1
                one = hostile.next()
                outcome = send(client, one)
                seen[one.kind] += 1
                seen[outcome] += 1
                if outcome != "answered":
                    break
    return seen


def send(client: RawClient, one: Hostile) -> str:
    """A greeting behind it is answered when the request is done with, unless it is closed."""
    try:
        if one.hangs_up:
            client.send_bytes(one.data)
            return "hung up"
        client.send_bytes(one.data + HELLO)
        while client.receive_frame()[:4] != ANSWER_TO_HELLO:
            pass
    except ConnectionClosed:
        return "closed"
    except TimeoutError:
        return "not waited for"
    return "answered"


def torment(target: Target, topics: "Topics", count: int, seed: int) -> None:
    print(f"seed {seed}: repeat with BARNABAS_HOSTILE_SEED={seed}")
    # The first round also loads what each api needs, which stays.
    served = served_by(target)
    attack(target, HostileRequests(seed + 1, served, topics.attacked()), min(count, REQUESTS))
    before_kib, descriptors = target.resident_kib(), target.descriptors()

    with contextlib.ExitStack() as kept:
        half_open(target, kept)
        slow_readers(target, topics.kept_id, kept)
        flood(target, kept)
        seen = attack(target, HostileRequests(seed, served, topics.attacked()), count)
    target.assert_no_traceback()

    until(lambda: target.descriptors() <= descriptors + 5, "connections are closed", FREED_IN_S)
    allowed_kib = before_kib + GROWTH_KIB_MAX
    with contextlib.suppress(AssertionError):
        until(lambda: target.resident_kib() < allowed_kib, "memory is freed", FREED_IN_S)
    print(f"{count} requests: {dict(seen)}")
    print(
        f"resident {before_kib} KiB before, {target.peak_kib()} at the height, "
        f"{target.resident_kib()} after; descriptors {descriptors} and {target.descriptors()}"
    )
    assert target.resident_kib() < allowed_kib


@dataclass(slots=True)
class Topics:
    """One that nobody names in an attack, and one, `good`, that may be deleted by it."""

    bootstrap: str
    address: tuple[str, int]
    kept_id: bytes = b""

    def make(self) -> None:
        produce(self.bootstrap, KEPT, RECORDS)
        self.kept_id = topic_id_of(self.address, KEPT)

    def attacked(self) -> bytes:
        """The id of `good`, which is there and has records."""
        produce(self.bootstrap, "good", RECORDS[:10])
        return topic_id_of(self.address, "good")


class NoTopics(Topics):
    """A controller keeps no records."""

    def attacked(self) -> bytes:
        return b"t" * 16


def half_open(target: Target, kept: contextlib.ExitStack) -> None:
    """Connections with nothing, a part of a length, and a part of a frame on them."""
    for number in range(CONNECTIONS):
        client = kept.enter_context(RawClient(target.address))
        client.send_bytes((b"", b"\0\0", struct.pack(">i", 90 << 20) + bytes(1_000))[number % 3])


def slow_readers(target: Target, topic_id: bytes, kept: contextlib.ExitStack) -> None:
    """They ask for megabytes again and again, and read none of it."""
    part = FetchPartition(0, fetch_offset=0, partition_max_bytes=8 << 20)
    request = FetchRequest(max_wait_ms=0, topics=[FetchTopic(topic_id=topic_id, partitions=[part])])
    asked = b"".join(cast("list[bytes]", encode_request(request, 16, 1, "slow")))
    for _ in range(CONNECTIONS):
        connected = kept.enter_context(socket.create_connection(target.address))
        connected.setblocking(False)
        with contextlib.suppress(OSError):
            for _ in range(200):
                connected.send(asked)


def flood(target: Target, kept: contextlib.ExitStack) -> None:
    """Many at once, each with many requests and no interest in the answers."""
    for _ in range(CONNECTIONS):
        client = kept.enter_context(RawClient(target.address))
        with contextlib.suppress(ConnectionClosed):
            client.send_bytes(HELLO * 500)


def assert_greets(target: Target) -> None:
    with RawClient(target.address) as client:
        answer = client.ask(ApiVersionsRequest("after", "1"), 4, ApiVersionsResponse)
    assert answer.error_code == 0


def topic_id_of(address: tuple[str, int], topic: str) -> bytes:
    with RawClient(address) as client:
        request = MetadataRequest([MetadataRequestTopic(name=topic)])
        return client.ask(request, 12, MetadataResponse).topics[0].topic_id


def torment_broker(broker: Target, count: int, seed: int) -> None:
    bootstrap = f"{broker.address[0]}:{broker.address[1]}"
    topics = Topics(bootstrap, broker.address)
    topics.make()

    torment(broker, topics, count, seed)

    assert [one.value() for one in read(bootstrap, KEPT, len(RECORDS))] == RECORDS
    produce(bootstrap, "after", RECORDS)
    assert [one.value() for one in read(bootstrap, "after", len(RECORDS))] == RECORDS
    broker.assert_no_traceback()


def torment_controller(controller: Target, count: int, seed: int) -> None:
    torment(controller, NoTopics("", controller.address, b"k" * 16), count, seed)

    assert_greets(controller)
    controller.assert_no_traceback()


def some_seed() -> int:
    given = os.environ.get("BARNABAS_HOSTILE_SEED")
    return int(given) if given else random.SystemRandom().randrange(1 << 32)


def test_a_broker_outlives_whatever_it_is_sent(broker: Target) -> None:
    torment_broker(broker, REQUESTS, seed=1)


def test_a_controller_outlives_whatever_it_is_sent(controller: Target) -> None:
    torment_controller(controller, REQUESTS, seed=1)


@pytest.mark.soak
def test_a_broker_outlives_a_hundred_thousand_requests(broker: Target) -> None:
    torment_broker(broker, REQUESTS_OF_A_SOAK, some_seed())


@pytest.mark.soak
def test_a_controller_outlives_a_hundred_thousand_requests(controller: Target) -> None:
    torment_controller(controller, REQUESTS_OF_A_SOAK, some_seed())
