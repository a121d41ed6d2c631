"""Writes records and reads them back in a consumer group.

    python3 round_trip.py HOST:PORT TOPIC COUNT

With `--create PARTITIONS,REPLICAS` the topic is made first. The exit status is 0 if all came back.
"""

import argparse
import json
import sys
import time
import uuid

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

TIMEOUT_S = 120.0


def create(bootstrap: str, topic: str, shape: str) -> None:
    """Asked again until it is there: a cluster that has just come up has too few brokers."""
    partitions, replicas = map(int, shape.split(","))
    admin = AdminClient({"bootstrap.servers": bootstrap})
    give_up_at = time.monotonic() + TIMEOUT_S
    while True:
        asked = admin.create_topics(
            [
                NewTopic(
                    topic,
                    partitions,
                    replicas,
                    config={"min.insync.replicas": str(min(2, replicas))},
                )
            ]
        )
        try:
            asked[topic].result(TIMEOUT_S)
        except KafkaException as error:
            if error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
                return
            if time.monotonic() > give_up_at:
                raise
            time.sleep(1)
        else:
            return


def write(bootstrap: str, topic: str, count: int) -> None:
    failures: list[str] = []
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all"})
    for number in range(count):
        producer.produce(
            topic,
            str(number).encode(),
            on_delivery=lambda error, _: failures.append(str(error)) if error else None,
        )
        producer.poll(0)
    left = producer.flush(TIMEOUT_S)
    if left or failures:
        sys.exit(f"{left} records are under way, {len(failures)} failed: {failures[:3]}")


def read(bootstrap: str, topic: str, count: int) -> set[int]:
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": f"round-trip-{uuid.uuid4()}",
        "auto.offset.reset": "earliest",
    }
    consumer = Consumer(settings)
    consumer.subscribe([topic])
    found: set[int] = set()
    give_up_at = time.monotonic() + TIMEOUT_S
    while len(found) < count and time.monotonic() < give_up_at:
        for message in consumer.consume(1_000, 1.0):
            if message.error() is None:
                found.add(int(message.value() or b"-1"))
    consumer.close()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bootstrap")
    parser.add_argument("topic")
    parser.add_argument("count", type=int)
    parser.add_argument("--create", default="")
    options = parser.parse_args()
    if options.create:
        create(options.bootstrap, options.topic, options.create)
    write(options.bootstrap, options.topic, options.count)
    found = read(options.bootstrap, options.topic, options.count)
    print(json.dumps({"kind": "verdict", "written": options.count, "read": len(found)}))
    return int(len(found) != options.count)


if __name__ == "__main__":
    sys.exit(main())
