"""Real clients judge the server: each writes a million records and reads them back."""

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.support.barnabas_process import running_barnabas
from tests.support.external import JavaRuntime
from tests.support.process import Child
from tools.fetch import Kcat

MILLION = 1_000_000


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Child, str]]:
    with running_barnabas(tmp_path_factory.mktemp("cluster"), "--ephemeral") as started:
        yield started


@pytest.fixture
def bootstrap(cluster: tuple[Child, str]) -> Iterator[str]:
    child, address = cluster
    yield address
    assert child.process.poll() is None, f"the server ended:\n{child.output()}"


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of a million lines, one record each."""
    path = tmp_path_factory.mktemp("lines") / "million.txt"
    path.write_text("".join(f"record {number}\n" for number in range(MILLION)))
    return path


def run(command: list[str], stdin: Path | None, stdout: Path, **environment: str) -> None:
    with open(stdin or os.devnull, "rb") as source, stdout.open("wb") as sink:
        done = subprocess.run(
            command,
            stdin=source,
            stdout=sink,
            stderr=subprocess.PIPE,
            env=os.environ | environment,
            timeout=200,
            check=False,
        )
    assert done.returncode == 0, done.stderr.decode()


def assert_same_lines(read: Path, written: Path) -> None:
    """Equal files; a million lines in an assertion's message would help nobody."""
    got, expected = read.read_bytes(), written.read_bytes()
    if got == expected:
        return
    got_lines, expected_lines = got.splitlines(), expected.splitlines()
    pairs = enumerate(zip(got_lines, expected_lines, strict=False))
    first = next((n for n, (one, other) in pairs if one != other), None)
    pytest.fail(f"{len(got_lines)} of {len(expected_lines)} lines, first difference at {first}")


def test_kcat_writes_and_reads_a_million_records(
    kcat: Kcat, bootstrap: str, lines: Path, tmp_path: Path
) -> None:
    common = [str(kcat.program), "-b", bootstrap, "-t", "by-kcat", "-p", "0", "-q"]
    read = tmp_path / "read.txt"

    run([*common, "-P"], lines, tmp_path / "written.out", **kcat.environment)
    run([*common, "-C", "-o", "beginning", "-e"], None, read, **kcat.environment)

    assert_same_lines(read, lines)


def test_kafkas_console_tools_write_and_read_a_million_records(
    java: JavaRuntime, bootstrap: str, lines: Path, tmp_path: Path
) -> None:
    target = ("--bootstrap-server", bootstrap, "--topic", "by-java")
    read = tmp_path / "read.txt"
    producer = java.command("org.apache.kafka.tools.ConsoleProducer", *target)
    consumer = java.command(
        "org.apache.kafka.tools.consumer.ConsoleConsumer",
        *target,
        *("--partition", "0", "--offset", "earliest", "--max-messages", str(MILLION)),
        *("--timeout-ms", "60000"),
    )

    run(producer, lines, tmp_path / "written.out")
    run(consumer, None, read)

    assert_same_lines(read, lines)


def test_librdkafka_writes_and_reads_a_million_records(bootstrap: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    for number in range(MILLION):
        while True:
            try:
                producer.produce("by-librdkafka", b"record %d" % number, partition=0)
                break
            except BufferError:
                producer.poll(0.1)
    assert producer.flush(120) == 0

    consumer = consumer_of(bootstrap)
    consumer.assign([TopicPartition("by-librdkafka", 0, 0)])
    number = 0
    while number < MILLION:
        messages = consumer.consume(10_000, timeout=60)
        assert messages, f"nothing more after {number} records"
        for message in messages:
            assert message.error() is None, message.error()
            assert (message.offset(), message.value()) == (number, b"record %d" % number)
            number += 1
    consumer.close()


def consumer_of(bootstrap: str) -> Consumer:
    """One that assigns partitions by itself; it would wait for a coordinator to commit offsets."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "never joined"}
    return Consumer({**settings, "enable.auto.commit": False})


@pytest.mark.parametrize(
    ("acks", "codec"),
    [
        ("0", "none"),
        ("1", "none"),
        *(("all", c) for c in ("none", "gzip", "snappy", "lz4", "zstd")),
    ],
)
def test_the_java_producer_loses_nothing_whatever_the_acks_and_the_codec(
    java: JavaRuntime, bootstrap: str, acks: str, codec: str
) -> None:
    topic = f"performance-{acks}-{codec}"
    settings = (f"acks={acks}", f"compression.type={codec}")

    said = java.run(
        "org.apache.kafka.tools.ProducerPerformance",
        *("--bootstrap-server", bootstrap, "--topic", topic, "--num-records", "20000"),
        *("--record-size", "100", "--throughput", "-1", "--command-property", *settings),
    )

    assert "20000 records sent" in said
    assert end_offset(bootstrap, topic, at_least=20_000) == 20_000


def end_offset(bootstrap: str, topic: str, at_least: int) -> int:
    """With acks=0 a producer is gone before its last request is served: this waits for it."""
    consumer = consumer_of(bootstrap)
    end = -1
    for _ in range(100):
        start, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=30)
        assert start == 0
        if end >= at_least:
            break
        time.sleep(0.1)
    consumer.close()
    return end
