"""A million records, written by librdkafka and read back by partition assignment."""

from pathlib import Path

from confluent_kafka import Producer, TopicPartition

from tests.support.barnabas_process import running_barnabas
from tests.support.librdkafka import consumer

COUNT = 1_000_000


def test_a_million_records_come_back_complete_and_in_order(tmp_path: Path) -> None:
    with running_barnabas(tmp_path, "--ephemeral") as (_, bootstrap):
        write(bootstrap)
        reader = consumer(bootstrap)
        reader.assign([TopicPartition("million", 0, 0)])

        expected = 0
        while expected < COUNT:
            messages = reader.consume(100_000, 30)
            assert messages, f"{expected} of {COUNT} records came"
            for message in messages:
                assert message.error() is None
                assert (message.offset(), message.value()) == (expected, b"%d" % expected)
                expected += 1
        assert reader.consume(1, 0.5) == []
        reader.close()


def write(bootstrap: str) -> None:
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": "true",
            "queue.buffering.max.messages": 500_000,
        }
    )
    for number in range(COUNT):
        while True:
            try:
                producer.produce("million", b"%d" % number)
                break
            except BufferError:
                producer.poll(0.1)
    assert producer.flush(60) == 0
