"""`helm test`: a hundred records are written and read again by a real client.

usage: produce_consume.py BOOTSTRAP_SERVERS
"""

import sys
import time

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

COUNT = 100
PATIENCE_SECONDS = 300.0
SOCKETS: dict[str, str | int | float | bool] = {
    "bootstrap.servers": sys.argv[1],
    "socket.connection.setup.timeout.ms": 5000,
}


def create_topic(admin: AdminClient, name: str) -> None:
    """As soon as there is a cluster."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            admin.create_topics([NewTopic(name, 1, 1)], request_timeout=10)[name].result()
        except KafkaException as error:
            if time.monotonic() > deadline:
                raise
            print(f"waiting for {sys.argv[1]}: {error}", flush=True)
            time.sleep(2)
        else:
            return


def main() -> int:
    topic = f"helm-test-{time.time_ns()}"
    admin = AdminClient(SOCKETS)  # kept: its answers end with it
    create_topic(admin, topic)
    producer = Producer(SOCKETS | {"acks": "all"})
    for number in range(COUNT):
        producer.produce(topic, str(number))
    if producer.flush(60) != 0:
        print("records were not written within a minute", file=sys.stderr)
        return 1
    consumer = Consumer(SOCKETS | {"group.id": topic, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    deadline = time.monotonic() + 60
    read: list[str] = []
    while len(read) < COUNT and time.monotonic() < deadline:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            read.append((message.value() or b"").decode())
    consumer.close()
    admin.delete_topics([topic], request_timeout=10)[topic].result()
    print(f"{COUNT} records written, {len(read)} read")
    return int(read != [str(number) for number in range(COUNT)])


if __name__ == "__main__":
    sys.exit(main())
