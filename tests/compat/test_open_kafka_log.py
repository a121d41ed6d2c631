"""Directories that a real Kafka wrote, opened by our log.

One node writes, is killed, and leaves `crashed`; started again it recovers and is stopped, which
leaves `stopped`. Kafka's own view of what is in there comes from a consumer that read everything
before the kill, and from the checkpoints and snapshots of the stopped node.
"""

import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Message, TopicPartition

from barnabas_core.log.index.transaction_index import AbortedTransaction
from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.manager import LogManager
from barnabas_core.log.partition_log import PartitionLog
from barnabas_core.records.batch import BatchHeader
from barnabas_core.records.record import Record
from barnabas_core.wire.primitive import uuid_text
from tests.support.dump_log import batch_field, dump_directory, dump_files
from tests.support.external import JavaRuntime
from tests.support.kafka_node import KafkaNode
from tests.support.kafka_writer import (
    FIRST_TIMESTAMP_MS,
    Written,
    write_transactions,
    write_with_every_codec,
)
from tests.support.log_directory import open_logs, read_everything

SMALL = {"segment.bytes": "1048576", "index.interval.bytes": "1024"}
TRANSACTION_RECORDS = 200
NOW_MS = FIRST_TIMESTAMP_MS + 3_600_000
CONFIG = LogConfig(segment_bytes=1 << 20, index_interval_bytes=1024)
TOPICS = ("codecs", "transactions", "append-time")


@dataclass(slots=True)
class Seen:
    """A partition as Kafka's own consumers see it."""

    messages: list[Message]
    committed: list[Message]
    end_offset: int
    offset_by_time: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class Copies:
    crashed: Path
    stopped: Path
    seen: dict[str, Seen]
    written: dict[str, Written]


@pytest.fixture(scope="module")
def copies(java: JavaRuntime, tmp_path_factory: pytest.TempPathFactory) -> Copies:
    directory = tmp_path_factory.mktemp("writer")
    node = KafkaNode(java, directory)
    with node.running() as kafka:
        node.create_topic("codecs", SMALL)
        node.create_topic("transactions", SMALL)
        node.create_topic("append-time", SMALL | {"message.timestamp.type": "LogAppendTime"})
        written = {
            "codecs": write_with_every_codec(node.bootstrap, "codecs", 3_000, 400),
            "transactions": write_transactions(
                node.bootstrap, "transactions", 40, TRANSACTION_RECORDS
            ),
            "append-time": write_with_every_codec(node.bootstrap, "append-time", 100, 400),
        }
        seen = {topic: look_at(node.bootstrap, topic) for topic in TOPICS}
        kafka.kill()
    written["transactions"].open_producer = None
    crashed = shutil.copytree(node.data, directory / "crashed")
    with node.running() as kafka:
        kafka.stop()
    return Copies(crashed, node.data, seen, written)


def look_at(bootstrap: str, topic: str) -> Seen:
    settings = {"bootstrap.servers": bootstrap, "group.id": "never joined"}
    consumer = Consumer({**settings, "isolation.level": "read_uncommitted"})
    partition = TopicPartition(topic, 0)
    _, end_offset = consumer.get_watermark_offsets(partition, timeout=30)
    seen = Seen(
        read_up_to_end(settings, topic, "read_uncommitted"),
        read_up_to_end(settings, topic, "read_committed"),
        end_offset,
    )
    for message in seen.messages[:: max(1, len(seen.messages) // 20)]:
        timestamp = message.timestamp()[1] - 1
        [found] = consumer.offsets_for_times([TopicPartition(topic, 0, timestamp)], timeout=30)
        seen.offset_by_time[timestamp] = found.offset
    consumer.close()
    return seen


def read_up_to_end(settings: dict[str, str], topic: str, isolation_level: str) -> list[Message]:
    own = {"isolation.level": isolation_level, "enable.partition.eof": True}
    consumer = Consumer({**settings, **own})
    consumer.assign([TopicPartition(topic, 0, 0)])
    messages: list[Message] = []
    while True:
        message = consumer.poll(30)
        assert message is not None, "Kafka sends neither records nor their end"
        if message.error() is not None:
            break  # the end of the partition
        messages.append(message)
    consumer.close()
    return messages


def as_tuple(message: Message) -> tuple[object, ...]:
    named = message.headers() or []
    assert isinstance(named, list)
    headers = tuple((key.encode(), value) for key, value in named)
    return message.offset(), message.timestamp()[1], message.key(), message.value(), headers


def record_tuple(record: Record) -> tuple[object, ...]:
    headers = tuple(
        (bytes(key), None if value is None else bytes(value)) for key, value in record.headers
    )
    key = None if record.key is None else bytes(record.key)
    value = None if record.value is None else bytes(record.value)
    return record.offset, record.timestamp, key, value, headers


@pytest.fixture(params=["crashed", "stopped"])
def data(request: pytest.FixtureRequest, copies: Copies, tmp_path: Path) -> Path:
    """A copy of the directory to open: opening a crashed one changes it."""
    source: Path = getattr(copies, request.param)
    return Path(shutil.copytree(source, tmp_path / request.param))


def opened(manager: LogManager, topic: str) -> PartitionLog:
    log = manager.get(topic, 0)
    assert log is not None, f"{topic} was not found"
    log.advance_high_watermark(log.log_end_offset)
    return log


@pytest.mark.parametrize("topic", TOPICS)
def test_the_records_are_those_that_kafkas_consumer_read(
    data: Path, copies: Copies, topic: str
) -> None:
    with open_logs(data, CONFIG, now_ms=NOW_MS) as manager:
        log = opened(manager, topic)
        headers, records = read_everything(log)

        seen = copies.seen[topic]
        controls = {header.base_offset for header in headers if header.is_control}
        ours = [record_tuple(record) for record in records if record.offset not in controls]
        assert log.log_end_offset == seen.end_offset
        assert ours == [as_tuple(message) for message in seen.messages]
        assert [record[3] for record in ours] == copies.written[topic].values


@pytest.mark.parametrize("topic", TOPICS)
def test_what_read_committed_may_see_is_what_kafka_showed(
    data: Path, copies: Copies, topic: str
) -> None:
    with open_logs(data, CONFIG, now_ms=NOW_MS) as manager:
        log = opened(manager, topic)
        headers, records = read_everything(log)
        aborted = log.aborted_transactions(0, log.log_end_offset)
        stable = log.last_stable_offset

    by_offset = {record.offset: record_tuple(record) for record in records}
    visible = [
        by_offset[offset]
        for header in headers
        for offset in range(header.base_offset, header.next_offset)
        if offset < stable and not header.is_control and not is_aborted(header, aborted)
    ]
    assert visible == [as_tuple(message) for message in copies.seen[topic].committed]


def is_aborted(header: BatchHeader, aborted: list[AbortedTransaction]) -> bool:
    return header.is_transactional and any(
        it.producer_id == header.producer_id
        and it.first_offset <= header.base_offset < it.last_offset
        for it in aborted
    )


@pytest.mark.parametrize("topic", TOPICS)
def test_offsets_by_timestamp_are_kafkas(data: Path, copies: Copies, topic: str) -> None:
    with open_logs(data, CONFIG, now_ms=NOW_MS) as manager:
        log = opened(manager, topic)

        for timestamp_ms, offset in copies.seen[topic].offset_by_time.items():
            found = log.offset_for_timestamp(timestamp_ms)
            assert (found.offset if found else -1) == offset


@pytest.mark.parametrize("topic", TOPICS)
def test_producers_are_where_kafka_left_them(
    java: JavaRuntime, data: Path, copies: Copies, topic: str
) -> None:
    expected = last_snapshot(java, copies.stopped / f"{topic}-0")

    with open_logs(data, CONFIG, now_ms=NOW_MS) as manager:
        entries = list(opened(manager, topic).producers.entries())

    assert len(expected) == len(entries) > 0
    for entry in entries:
        line = expected[entry.producer_id]
        assert batch_field(line, "producerEpoch") == str(entry.epoch)
        assert batch_field(line, "lastSequence") == str(entry.last_sequence)
        assert batch_field(line, "lastOffset") == str(entry.last_offset)
        assert batch_field(line, "coordinatorEpoch") == str(entry.coordinator_epoch)
        first = entry.transaction_first_offset
        assert batch_field(line, "currentTxnFirstOffset") == (
            "OptionalLong.empty" if first < 0 else f"OptionalLong[{first}]"
        )


def last_snapshot(java: JavaRuntime, directory: Path) -> dict[int, str]:
    """What the newest snapshot says, by producer id."""
    newest = max(directory.glob("*.snapshot"))
    lines = dump_files(java, [newest]).lines
    return {
        int(batch_field(line, "producerId")): line
        for line in lines
        if line.startswith("producerId: ")
    }


@pytest.mark.parametrize("topic", TOPICS)
def test_topic_id_and_leader_epochs_are_kafkas(data: Path, topic: str) -> None:
    directory = data / f"{topic}-0"
    [_, topic_id_line] = (directory / "partition.metadata").read_text().splitlines()
    _, _, *epochs = (directory / "leader-epoch-checkpoint").read_text().splitlines()

    with open_logs(data, CONFIG, now_ms=NOW_MS) as manager:
        log = opened(manager, topic)

        assert f"topic_id: {uuid_text(log.topic_id)}" == topic_id_line
        assert [f"{epoch} {start}" for epoch, start in log.epochs.entries] == epochs


def test_an_open_transaction_holds_the_last_stable_offset(data: Path, copies: Copies) -> None:
    with open_logs(data, CONFIG, now_ms=NOW_MS) as manager:
        log = opened(manager, "transactions")

        assert (
            log.last_stable_offset == copies.seen["transactions"].end_offset - TRANSACTION_RECORDS
        )


@pytest.mark.parametrize("topic", TOPICS)
def test_kafkas_tool_still_finds_the_directory_clean(
    java: JavaRuntime, data: Path, copies: Copies, topic: str
) -> None:
    with open_logs(data, CONFIG, now_ms=NOW_MS):
        pass

    dump = dump_directory(java, data / f"{topic}-0")

    assert dump.complaints == []
    assert dump.gaps == []
    assert dump.record_count == copies.seen[topic].end_offset


def test_there_is_more_than_one_segment_to_open(copies: Copies) -> None:
    assert len(list((copies.stopped / "codecs-0").glob("*.log"))) > 3
    assert len(list((copies.stopped / "transactions-0").glob("*.txnindex"))) > 1
