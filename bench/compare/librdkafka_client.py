"""librdkafka in a process of its own: one piece of work, its figures as JSON on standard output.

usage: python -m bench.compare.librdkafka_client WORK BOOTSTRAP TOPIC COUNT RECORD_BYTES [ACKS]

`write` and `read` go as fast as they can, over all partitions of the topic. `pace` writes at a
steady rate, each record with the moment it was made, and `follow` reads those and takes the time.
"""

import json
import sys
import time
from collections.abc import Callable, Sequence
from struct import Struct
from typing import Final

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

_TIMEOUT_S: Final = 60
_LINGER_MS: Final = 5
_BATCH_BYTES: Final = 1 << 20
_CHUNK: Final = 1000
_PACE_BYTES_PER_S: Final = 10e6
_PACE_TICK_S: Final = 0.001
_SENT_AT: Final = Struct(">q")
# Records at the start of `follow` that are not counted: the reader may have begun after them.
_SETTLE_SHARE: Final = 0.25


def write(bootstrap: str, topic: str, count: int, size: int, acks: str) -> dict[str, float]:
    producer = _producer(bootstrap, acks)
    producer.list_topics(topic, timeout=_TIMEOUT_S)
    chunk = [{"value": bytes(size)} for _ in range(_CHUNK)]
    begun = time.perf_counter()
    left = count
    while left:
        left -= producer.produce_batch(topic, [dict(each) for each in chunk[:left]])
        producer.poll(0.001 if len(producer) > 400_000 else 0)
    if producer.flush(_TIMEOUT_S):
        raise TimeoutError("not all records were acknowledged")
    return {"seconds": time.perf_counter() - begun}


def read(bootstrap: str, topic: str, count: int, size: int, acks: str) -> dict[str, float]:
    consumer = _consumer(bootstrap)
    partitions = consumer.list_topics(topic, timeout=_TIMEOUT_S).topics[topic].partitions
    begun = time.perf_counter()
    consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
    found = 0
    while found < count:
        found += len(_checked(consumer.consume(10_000, _TIMEOUT_S)))
    seconds = time.perf_counter() - begun
    consumer.close()
    return {"seconds": seconds}


def pace(bootstrap: str, topic: str, count: int, size: int, acks: str) -> dict[str, float]:
    producer = _producer(bootstrap, acks)
    padding = bytes(size - _SENT_AT.size)
    begun = time.perf_counter()
    sent = 0
    while sent < count:
        due = min(int((time.perf_counter() - begun) * _PACE_BYTES_PER_S / size) + 1, count)
        while sent < due:
            producer.produce(topic, _SENT_AT.pack(time.perf_counter_ns()) + padding)
            sent += 1
        producer.poll(0)
        time.sleep(_PACE_TICK_S)
    seconds = time.perf_counter() - begun
    if producer.flush(_TIMEOUT_S):
        raise TimeoutError("not all records were acknowledged")
    return {"seconds": seconds}


def follow(bootstrap: str, topic: str, count: int, size: int, acks: str) -> dict[str, float]:
    consumer = _consumer(bootstrap)
    consumer.assign([TopicPartition(topic, 0, 0)])
    latencies_ms: list[float] = []
    while len(latencies_ms) < count:
        messages = _checked(consumer.consume(1000, 0.001))
        now = time.perf_counter_ns()
        for message in messages:
            value = message.value()
            assert value is not None
            latencies_ms.append((now - _SENT_AT.unpack_from(value)[0]) / 1e6)
    consumer.close()
    ordered = sorted(latencies_ms[int(count * _SETTLE_SHARE) :])
    return {
        f"p{percent:g} ms": ordered[int(len(ordered) * percent / 100)] for percent in (50, 99, 99.9)
    }


def _producer(bootstrap: str, acks: str) -> Producer:
    return Producer(
        {
            "bootstrap.servers": bootstrap,
            "acks": acks,
            "linger.ms": _LINGER_MS,
            "batch.size": _BATCH_BYTES,
            "batch.num.messages": 100_000,
            "queue.buffering.max.kbytes": 1 << 19,
            "queue.buffering.max.messages": 500_000,
        }
    )


def _consumer(bootstrap: str) -> Consumer:
    return Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": "false"}
    )


def _checked(messages: list[Message]) -> list[Message]:
    for message in messages:
        error = message.error()
        if error is not None:
            raise KafkaException(error)
    return messages


WORK: Final[dict[str, Callable[[str, str, int, int, str], dict[str, float]]]] = {
    "write": write,
    "read": read,
    "pace": pace,
    "follow": follow,
}


def main(arguments: Sequence[str]) -> None:
    work, bootstrap, topic, count, size, *acks = arguments
    figures = WORK[work](bootstrap, topic, int(count), int(size), acks[0] if acks else "1")
    print(json.dumps(figures))


if __name__ == "__main__":
    main(sys.argv[1:])
