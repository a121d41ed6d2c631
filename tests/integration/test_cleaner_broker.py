"""A running broker compacts a topic under the eyes of librdkafka, and nobody misses a key."""

import time
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from barnabas import EmbeddedCluster

TOPIC = "accounts"
KEY_COUNT = 300
ROUND_COUNT = 20
DEADLINE_S = 60

CLUSTER = {
    "log.cleanup.policy": "compact",
    "log.cleaner.backoff.ms": "50",
    "log.flush.scheduler.interval.ms": "50",
}
SEGMENT_BYTES = 64 * 1024


def create_topic(bootstrap: str) -> None:
    small = {"internal.segment.bytes": str(SEGMENT_BYTES), "max.message.bytes": str(32 * 1024)}
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for done in admin.create_topics([NewTopic(TOPIC, 1, 1, config=small)]).values():
        done.result(DEADLINE_S)


def produce_rounds(bootstrap: str) -> None:
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "batch.size": 16 * 1024,
            "compression.type": "none",
        }
    )
    for round_number in range(ROUND_COUNT):
        for key in range(KEY_COUNT):
            value = None if key % 10 == 9 and round_number == ROUND_COUNT - 1 else b"%0100d"
            producer.produce(
                TOPIC,
                key=b"%d" % key,
                value=None if value is None else value % round_number,
            )
        assert producer.flush(DEADLINE_S) == 0


def read_table(bootstrap: str) -> tuple[int, dict[bytes, bytes]]:
    """(number of records read, what an application makes of them)."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "check.crcs": True,
            "isolation.level": "read_committed",
        }
    )
    low, high = consumer.get_watermark_offsets(TopicPartition(TOPIC, 0), timeout=DEADLINE_S)
    consumer.assign([TopicPartition(TOPIC, 0, low)])
    table: dict[bytes, bytes] = {}
    count, position = 0, low
    deadline = time.monotonic() + DEADLINE_S
    while position < high:
        assert time.monotonic() < deadline, f"stuck at offset {position} of {high}"
        message = consumer.poll(1.0)
        if message is None:
            [at] = consumer.position([TopicPartition(TOPIC, 0)])
            position = max(position, at.offset)
            continue
        assert message.error() is None
        key, value, offset = message.key(), message.value(), message.offset()
        assert key is not None
        assert offset is not None
        count += 1
        position = offset + 1
        if value is None:
            table.pop(key, None)
        else:
            table[key] = value
    consumer.close()
    return count, table


def log_bytes(path: Path) -> int:
    return sum(it.stat().st_size for it in path.glob(f"node-1/{TOPIC}-0/*.log"))


def test_a_compacted_topic_shrinks_and_keeps_every_key(tmp_path: Path) -> None:
    with EmbeddedCluster(data=str(tmp_path), config=CLUSTER) as cluster:
        bootstrap = cluster.bootstrap_servers
        create_topic(bootstrap)
        produce_rounds(bootstrap)
        whole_count, expected = read_table(bootstrap)
        deadline = time.monotonic() + DEADLINE_S
        while log_bytes(tmp_path) > 5 * SEGMENT_BYTES:
            assert time.monotonic() < deadline, f"{log_bytes(tmp_path)} bytes are left"
            time.sleep(0.05)
        count, table = read_table(bootstrap)

    assert table == expected
    assert len(table) == KEY_COUNT - KEY_COUNT // 10
    # The first reading may have come late, after some cleaning.
    assert count <= whole_count <= KEY_COUNT * ROUND_COUNT
    assert count < KEY_COUNT * ROUND_COUNT
