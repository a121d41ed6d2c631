"""An application that writes while its cluster is tormented: numbered records, acks=all.

    python3 numbered_load.py --bootstrap HOST:PORT --topic NAME --partitions 6 --per-second 300

Every second it prints a line of JSON with what it was told so far. On SIGTERM it stops writing,
waits for every answer, reads the topic from its beginning and prints a last line, `verdict`: what
was acknowledged and is lost, what is there twice, and the longest time that a partition went
without an acknowledgement. Its exit status is 0 if nothing was lost, doubled or given up.
"""

import argparse
import contextlib
import json
import signal
import sys
import time
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

READ_TIMEOUT_S = 120.0
FLUSH_TIMEOUT_S = 120.0
REPORT_EVERY_S = 1.0


@dataclass(slots=True)
class Partition:
    sent: int = 0
    offsets: dict[int, int | None] = field(default_factory=dict)
    """Of what was acknowledged: the offset by number.

    None where librdkafka concludes it: a record of which no answer came, and after it one that the
    broker took with the next sequence number.
    """
    last_at: float = 0.0
    longest_gap_s: float = 0.0


class Load:
    def __init__(self, options: argparse.Namespace) -> None:
        self._topic = options.topic
        self._bootstrap = options.bootstrap
        self._pause_s = options.partitions / options.per_second
        self._size = options.record_bytes
        self._partitions = [Partition() for _ in range(options.partitions)]
        self._failures: list[str] = []
        self._is_over = False

    def stop(self, *_: object) -> None:
        self._is_over = True

    # --- writing

    def write(self) -> None:
        producer = Producer(
            {
                "bootstrap.servers": self._bootstrap,
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 5,
                "message.timeout.ms": 300_000,
            }
        )
        report_at = time.monotonic()
        while not self._is_over:
            next_at = time.monotonic() + self._pause_s
            for index in range(len(self._partitions)):
                self._send(producer, index)
            while (left_s := next_at - time.monotonic()) > 0:
                producer.poll(left_s)
            if time.monotonic() >= report_at:
                report_at = time.monotonic() + REPORT_EVERY_S
                say("progress", **self.figures())
        left = producer.flush(FLUSH_TIMEOUT_S)
        if left:
            self._failures.append(f"{left} records were never told of")

    def _send(self, producer: Producer, index: int) -> None:
        partition = self._partitions[index]
        number = partition.sent

        def on_delivery(error: KafkaError | None, message: Message) -> None:
            now = time.monotonic()
            if error is not None:
                self._failures.append(f"{number} of {index}: {error}")
                return
            offset = message.offset()
            partition.offsets[number] = offset if offset is not None and offset >= 0 else None
            if partition.last_at:
                partition.longest_gap_s = max(partition.longest_gap_s, now - partition.last_at)
            partition.last_at = now

        value = str(number).encode().ljust(self._size, b".")
        # A full queue: the cluster is away, and the next turn tries again.
        with contextlib.suppress(BufferError):
            producer.produce(self._topic, value, partition=index, on_delivery=on_delivery)
            partition.sent += 1

    # --- what became of it

    def figures(self) -> dict[str, Any]:
        return {
            "acknowledged": sum(len(one.offsets) for one in self._partitions),
            "acknowledged_by_partition": [len(one.offsets) for one in self._partitions],
            "longest_gap_ms": round(1000 * max(one.longest_gap_s for one in self._partitions)),
            "failures": len(self._failures),
        }

    def verdict(self) -> dict[str, Any]:
        lost: list[str] = []
        doubled = disordered = 0
        for index, partition in enumerate(self._partitions):
            log = self._read(index)
            numbers = list(log.values())
            doubled += len(numbers) - len(set(numbers))
            disordered += sum(later < earlier for earlier, later in pairwise(numbers))
            there = set(numbers)
            for number, at in partition.offsets.items():
                if number not in there if at is None else log.get(at) != number:
                    where = "there" if number in there else "not there"
                    lost.append(f"{number} of {index}, acknowledged at {at}, is {where}")
        found = {"lost": len(lost), "doubled": doubled, "disordered": disordered}
        firsts = {"first_failures": self._failures[:5], "first_lost": lost[:5]}
        return self.figures() | found | firsts

    def _read(self, index: int) -> dict[int, int]:
        """The number at each offset."""
        settings = {
            "bootstrap.servers": self._bootstrap,
            "group.id": "reader",
            "enable.auto.commit": False,
        }
        reader = Consumer(settings)
        try:
            where = TopicPartition(self._topic, index, 0)
            _, end = reader.get_watermark_offsets(where, timeout=READ_TIMEOUT_S)
            reader.assign([where])
            found: dict[int, int] = {}
            give_up_at = time.monotonic() + READ_TIMEOUT_S
            while len(found) < end and time.monotonic() < give_up_at:
                for message in reader.consume(1_000, 1.0):
                    if message.error() is None:
                        value = message.value() or b""
                        found[message.offset() or 0] = int(value.rstrip(b"."))
            return found
        finally:
            reader.close()


def say(kind: str, **figures: object) -> None:
    print(json.dumps({"kind": kind, **figures}), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--partitions", type=int, default=6)
    parser.add_argument("--per-second", type=int, default=300)
    parser.add_argument("--record-bytes", type=int, default=200)
    load = Load(parser.parse_args())
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, load.stop)
    load.write()
    verdict = load.verdict()
    say("verdict", **verdict)
    bad = ("lost", "doubled", "disordered", "failures")
    return int(any(verdict[name] for name in bad))


if __name__ == "__main__":
    sys.exit(main())
