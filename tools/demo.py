"""`make demo`: a cluster, a producer and a consumer, and what they say to each other."""

import subprocess
import sys
from pathlib import Path

from confluent_kafka import Consumer, Message, Producer, TopicPartition

TOPIC = "greetings"
GREETINGS = ("hello", "good morning", "good night")


def say(line: str) -> None:
    print(f">> demo: {line}", flush=True)


def start_cluster() -> tuple[subprocess.Popen[str], str]:
    command = [str(Path(sys.executable).parent / "barnabas"), "up", "--port", "0", "--ephemeral"]
    say("starting " + " ".join(["barnabas", *command[1:]]))
    cluster = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert cluster.stdout is not None
    for line in cluster.stdout:
        if line.startswith("bootstrap: "):
            return cluster, line.removeprefix("bootstrap: ").strip()
    raise SystemExit(f"the cluster ended with {cluster.wait()}")


def write(bootstrap: str) -> None:
    def on_delivery(error: object, message: Message) -> None:
        assert error is None, error
        say(f"written {message.value()!r} to partition {message.partition()} at {message.offset()}")

    producer = Producer({"bootstrap.servers": bootstrap})
    for greeting in GREETINGS:
        producer.produce(TOPIC, greeting, on_delivery=on_delivery)
    assert producer.flush(30) == 0


def read(bootstrap: str) -> list[bytes | None]:
    # There are no groups yet: the partition is assigned by hand, and nothing is committed.
    settings = {"bootstrap.servers": bootstrap, "group.id": "demo"}
    consumer = Consumer({**settings, "enable.auto.commit": False})
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    values = []
    for message in consumer.consume(len(GREETINGS), timeout=30):
        assert message.error() is None, message.error()
        say(f"read {message.value()!r} from partition {message.partition()} at {message.offset()}")
        values.append(message.value())
    consumer.close()
    return values


def main() -> int:
    cluster, bootstrap = start_cluster()
    try:
        say(f"ready on {bootstrap}")
        write(bootstrap)
        whole = read(bootstrap) == [greeting.encode() for greeting in GREETINGS]
    finally:
        cluster.terminate()
        say(f"cluster stopped with status {cluster.wait(30)}")
    say("all is well" if whole else "what was read is not what was written")
    return int(not whole)


if __name__ == "__main__":
    sys.exit(main())
