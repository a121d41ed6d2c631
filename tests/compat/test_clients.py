"""Real clients judge the server: each writes many records, most a million, and reads them back."""

import asyncio
import itertools
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import aiokafka
import kafka
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.support.barnabas_process import running_barnabas
from tests.support.external import JavaRuntime
from tests.support.process import Child
from tools.fetch import Kcat

MILLION = 1_000_000
THOUSANDS = 20_000  # for clients in pure Python
NUMBERED = [(number, b"%d" % number, b"record %d" % number) for number in range(THOUSANDS)]


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


def test_aiokafka_writes_and_reads(bootstrap: str) -> None:
    async def scenario() -> list[tuple[int, bytes | None, bytes | None]]:
        partition = aiokafka.TopicPartition("by-aiokafka", 0)
        producer = aiokafka.AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True)
        async with producer:
            for number in range(THOUSANDS):
                key, value = b"%d" % number, b"record %d" % number
                sent = await producer.send("by-aiokafka", value, key=key, partition=0)
            assert (await sent).offset == THOUSANDS - 1
        consumer = aiokafka.AIOKafkaConsumer(bootstrap_servers=bootstrap)
        async with consumer:
            consumer.assign([partition])
            await consumer.seek_to_beginning(partition)
            assert await consumer.end_offsets([partition]) == {partition: THOUSANDS}
            found: list[tuple[int, bytes | None, bytes | None]] = []
            while len(found) < THOUSANDS:
                batches = await consumer.getmany(timeout_ms=60_000)
                assert batches, f"nothing more after {len(found)} records"
                found += [(it.offset, it.key, it.value) for it in batches[partition]]
            return found

    assert asyncio.run(scenario()) == NUMBERED


def test_kafka_python_writes_and_reads(bootstrap: str) -> None:
    partition = kafka.TopicPartition("by-kafka-python", 0)
    producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, acks="all")
    for number in range(THOUSANDS):
        key, value = b"%d" % number, b"record %d" % number
        sent = producer.send("by-kafka-python", value, key=key, partition=0)
    assert sent.get(60).offset == THOUSANDS - 1
    producer.close()

    consumer = kafka.KafkaConsumer(bootstrap_servers=bootstrap, consumer_timeout_ms=60_000)
    consumer.assign([partition])
    consumer.seek_to_beginning(partition)
    assert consumer.end_offsets([partition]) == {partition: THOUSANDS}
    records = itertools.islice(consumer, THOUSANDS)
    found = [(record.offset, record.key, record.value) for record in records]
    consumer.close()

    assert found == NUMBERED


def test_kafka_python_follows_many_partitions_in_a_session(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic("many", 50, 1)])["many"].result(60)
    partitions = [kafka.TopicPartition("many", index) for index in range(50)]
    producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, acks="all")
    consumer = kafka.KafkaConsumer(bootstrap_servers=bootstrap, consumer_timeout_ms=60_000)
    consumer.assign(partitions)
    consumer.seek_to_beginning(*partitions)

    found = []
    for number in range(100):
        producer.send("many", b"%d" % number, partition=number * 7 % 50).get(60)
        found += [record.value for record in itertools.islice(consumer, 1)]
    producer.close()
    consumer.close()

    assert found == [b"%d" % number for number in range(100)]


def consumer_of(bootstrap: str) -> Consumer:
    """One that assigns partitions by itself, and commits nothing."""
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
