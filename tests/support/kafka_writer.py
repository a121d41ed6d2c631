"""Records of every kind, written to a broker by librdkafka, and what to read back."""

import time
from dataclasses import dataclass, field
from random import Random

from confluent_kafka import Producer

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
# Recent, since Kafka forgets producers that wrote nothing for a day.
FIRST_TIMESTAMP_MS = int(time.time() * 1000) - 3_600_000


@dataclass(slots=True)
class Written:
    """What went to one partition, in order; `aborted` counts in `values` too."""

    values: list[bytes] = field(default_factory=list)
    aborted: list[bytes] = field(default_factory=list)
    open_producer: Producer | None = None
    """Of a transaction that nobody ends: a producer that is collected would abort it."""


def write_with_every_codec(bootstrap: str, topic: str, count: int, value_bytes: int) -> Written:
    """`count` records per codec, half compressible, with keys, headers, rising timestamps."""
    written = Written()
    random = Random(count)
    for codec in CODECS:
        producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "compression.type": codec,
                "enable.idempotence": codec != "none",
                "linger.ms": 5,
                "batch.size": 64 * 1024,
            }
        )
        for number in range(count):
            value = f"{codec} {number} {random.randbytes(value_bytes // 2).hex()}".encode()
            written.values.append(value)
            send(producer, topic, value, FIRST_TIMESTAMP_MS + len(written.values))
        flush(producer)
    return written


def write_transactions(bootstrap: str, topic: str, count: int, records_each: int) -> Written:
    """`count` transactions, every other one aborted; the last is left open."""
    written = Written()
    random = Random(count)
    settings = {"bootstrap.servers": bootstrap, "transactional.id": f"writer of {topic}"}
    producer = Producer(settings | {"compression.type": "lz4"})
    producer.init_transactions(30)
    for number in range(count):
        producer.begin_transaction()
        values = [
            f"transaction {number} record {n} {random.randbytes(200).hex()}".encode()
            for n in range(records_each)
        ]
        for value in values:
            send(producer, topic, value, FIRST_TIMESTAMP_MS + len(written.values))
            written.values.append(value)
        flush(producer)
        if number == count - 1:
            written.open_producer = producer
        elif number % 2:
            producer.abort_transaction(30)
            written.aborted += values
        else:
            producer.commit_transaction(30)
    return written


def send(producer: Producer, topic: str, value: bytes, timestamp_ms: int) -> None:
    headers: list[tuple[str, str | bytes | None]] = [("kind", value.split()[0]), ("nothing", None)]
    while True:
        try:
            producer.produce(topic, value, b"key", 0, timestamp=timestamp_ms, headers=headers)
        except BufferError:
            producer.poll(1)
        else:
            return


def flush(producer: Producer) -> None:
    assert producer.flush(60) == 0, "not everything was acknowledged"
