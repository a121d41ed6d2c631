"""The server from outside: start, one-record requests, bulk writing and reading.

usage: python -m bench.server

Starts `barnabas up` and prints a table. Client and server share the machine's cores, so the rates
depend on both; the server's own CPU time per request or per gigabyte depends less on the rest.
Pages are written once and freed before anything is measured: see docs/benchmarks.md.
"""

import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import uvloop
from confluent_kafka import Consumer, Producer, TopicPartition

from barnabas_core.records.builder import build_batch
from barnabas_core.wire.frame import encode_request
from barnabas_core.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from barnabas_core.wire.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas_core.wire.schema import Message
from bench.request_client import drive

PROGRAM = Path(sys.executable).parent / "barnabas"
TICKS = os.sysconf("SC_CLK_TCK")
START_COUNT = 7
WARM_UP_BYTES = 2 << 30
SECONDS = 4.0
LARGE = (1024, 400_000)
SMALL = (100, 1_000_000)


@dataclass
class Server:
    pid: int
    host: str
    port: int

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    def connect(self) -> socket.socket:
        return socket.create_connection((self.host, self.port))

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def resident_mb(self) -> float:
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024


@contextmanager
def running() -> Iterator[Server]:
    command = [str(PROGRAM), "up", "--port", "0", "--ephemeral"]
    # As it is installed: compiled, whatever a developer's shell says about that.
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": ""}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    try:
        host, _, port = process.stdout.readline().removeprefix("bootstrap: ").rpartition(":")
        yield Server(process.pid, host, int(port))
    finally:
        process.terminate()
        process.wait()


def frame(message: Message, version: int) -> bytes:
    return b"".join(cast("list[bytes]", encode_request(message, version, 1, "bench")))


def one_record_produce() -> bytes:
    batch = build_batch([(None, bytes(100))], timestamp_ms=int(time.time() * 1000))
    data = [PartitionProduceData(0, memoryview(batch))]
    topics = [TopicProduceData("bench", partition_data=data)]
    return frame(ProduceRequest(None, 1, 1000, topics), 9)


def start_seconds() -> tuple[float, float]:
    """(until ApiVersions is answered, resident MB), the best of a few."""
    found = []
    for _ in range(START_COUNT):
        begun = time.perf_counter()
        with running() as server, server.connect() as connection:
            connection.sendall(struct.pack(">ihhih", 10, 18, 0, 1, -1))
            connection.recv(1000)
            found.append((time.perf_counter() - begun, server.resident_mb()))
    return min(found)


def requests(server: Server, connection_count: int, request: bytes) -> str:
    before = server.cpu_seconds()
    result = uvloop.run(drive(server.host, server.port, connection_count, request, seconds=SECONDS))
    cpu_us = (server.cpu_seconds() - before) / result.total_count * 1e6
    return (
        f"{result.rate:,.0f} requests/s, p50 {result.percentile_ms(50):.2f} ms, "
        f"p99 {result.percentile_ms(99):.2f} ms, {cpu_us:.0f} us CPU each"
    )


def bulk(server: Server, act: Callable[[str, int, int], None], size: int, count: int) -> str:
    before, begun = server.cpu_seconds(), time.perf_counter()
    act(server.address, size, count)
    seconds = time.perf_counter() - begun
    total = size * count
    cpu = (server.cpu_seconds() - before) / (total / 1e9)
    return (
        f"{total / seconds / 1e6:,.0f} MB/s, {count / seconds / 1e3:,.0f}k records/s, "
        f"{cpu:.2f} CPU-s/GB"
    )


def write(address: str, size: int, count: int) -> None:
    producer = Producer(
        {
            "bootstrap.servers": address,
            "acks": 1,
            "linger.ms": 5,
            "batch.size": 1 << 20,
            "queue.buffering.max.kbytes": 1 << 19,
            "queue.buffering.max.messages": 1_000_000,
        }
    )
    value = os.urandom(size)
    for _ in range(count):
        while True:
            try:
                producer.produce(f"bulk-{size}", value)
                break
            except BufferError:
                producer.poll(0.05)
    assert producer.flush(60) == 0


def read(address: str, size: int, count: int) -> None:
    consumer = Consumer(
        {"bootstrap.servers": address, "group.id": "none", "enable.auto.commit": "false"}
    )
    consumer.assign([TopicPartition(f"bulk-{size}", 0, 0)])
    found = 0
    while found < count:
        found += len(consumer.consume(10_000, 10))
    consumer.close()


def warm_up() -> None:
    """Have the machine hand out its pages now."""
    directory = tempfile.mkdtemp()
    with Path(directory, "pages").open("wb") as file:
        file.writelines(bytes(1 << 20) for _ in range(WARM_UP_BYTES >> 20))
    shutil.rmtree(directory)


def main() -> None:
    seconds, idle_mb = start_seconds()
    warm_up()
    rows = [
        ("start to the first ApiVersions answer", f"{seconds:.2f} s"),
        ("resident, idle", f"{idle_mb:.0f} MB"),
    ]
    with running() as server:
        metadata = frame(MetadataRequest([MetadataRequestTopic(name="bench")]), 9)
        rows.append(("Metadata, 1 connection", requests(server, 1, metadata)))
        produce = one_record_produce()
        for count in (1, 16, 64):
            name = f"one record per Produce, {count} connection{'s' * (count > 1)}"
            rows.append((name, requests(server, count, produce)))
        for size, count in (LARGE, SMALL):
            rows.append((f"write {size} B records, batched", bulk(server, write, size, count)))
            rows.append((f"read {size} B records", bulk(server, read, size, count)))
        rows.append(("resident after that", f"{server.resident_mb():.0f} MB"))
    print("| what | |")
    print("|---|---|")
    for name, value in rows:
        print(f"| {name} | {value} |")


if __name__ == "__main__":
    main()
