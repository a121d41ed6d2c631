"""A running broker compacts a topic under the eyes of librdkafka, and nobody misses a key."""

import asyncio
import time
from pathlib import Path

from barnabas_broker.broker_config import BrokerConfig
from barnabas_broker.service import BrokerPorts, BrokerService
from barnabas_core.log.cleaner.settings import CleanerSettings
from barnabas_core.log.log_config import LogConfig
from barnabas_core.runtime.clock import SystemClock
from barnabas_core.runtime.disk import RealDisk
from barnabas_core.runtime.executor import SystemExecutor
from barnabas_core.runtime.listener import SystemListener
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.runtime.rng import SystemRng
from confluent_kafka import Consumer, Producer, TopicPartition

TOPIC = "accounts"
KEY_COUNT = 300
ROUND_COUNT = 20
DEADLINE_S = 60

COMPACTED = LogConfig(
    cleanup_compact=True, cleanup_delete=False, segment_bytes=64 * 1024, max_message_bytes=32 * 1024
)


async def start(path: Path) -> tuple[BrokerService, SystemExecutor]:
    executor = SystemExecutor()
    config = BrokerConfig(
        log_dirs=(str(path),),
        port=0,
        topic_defaults=COMPACTED,
        cleaner=CleanerSettings(backoff_ms=50),
        flush_check_interval_ms=50,
    )
    ports = BrokerPorts(
        SystemClock(),
        SystemRng(),
        RealDisk(),
        executor,
        SystemListener(),
        EventLog(level="warning"),
    )
    broker = BrokerService(config, ports)
    await broker.start()
    return broker, executor


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
    return sum(it.stat().st_size for it in path.glob(f"{TOPIC}-0/*.log"))


def test_a_compacted_topic_shrinks_and_keeps_every_key(tmp_path: Path) -> None:
    async def work() -> None:
        broker, executor = await start(tmp_path)
        bootstrap = "{}:{}".format(*broker.address)
        try:
            await asyncio.to_thread(produce_rounds, bootstrap)
            whole_count, expected = await asyncio.to_thread(read_table, bootstrap)
            deadline = time.monotonic() + DEADLINE_S
            while log_bytes(tmp_path) > 5 * COMPACTED.segment_bytes:
                assert time.monotonic() < deadline, f"{log_bytes(tmp_path)} bytes are left"
                await asyncio.sleep(0.05)
            count, table = await asyncio.to_thread(read_table, bootstrap)
        finally:
            await broker.stop()
            executor.close()

        assert table == expected
        assert len(table) == KEY_COUNT - KEY_COUNT // 10
        assert count < whole_count <= KEY_COUNT * ROUND_COUNT

    asyncio.run(work())
