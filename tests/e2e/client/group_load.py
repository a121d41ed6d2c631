"""A consumer group that reads and commits without end, and tells how its commits fared.

    python3 group_load.py --bootstrap HOST:PORT --topic NAME --group GROUP

Every second a line of JSON; on SIGTERM a last one, `verdict`: how many commits succeeded, the
longest time without one, whether a committed offset ever went back, how many partitions were lost.
"""

import argparse
import json
import signal
import sys
import time
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition

REPORT_EVERY_S = 1.0
COMMITTED_TIMEOUT_S = 60.0


class GroupLoad:
    def __init__(self, options: argparse.Namespace) -> None:
        self._topic = options.topic
        self._consumer = Consumer(
            {
                "bootstrap.servers": options.bootstrap,
                "group.id": options.group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        self._is_over = False
        self._read = self._commits = self._refused = self._lost_count = self._went_back = 0
        self._last_at = 0.0
        self._longest_gap_s = 0.0
        self._committed: dict[int, int] = {}
        self._lost_commits = 0

    def stop(self, *_: object) -> None:
        self._is_over = True

    def run(self) -> None:
        self._consumer.subscribe([self._topic], on_lost=self._on_lost)
        report_at = time.monotonic()
        while not self._is_over:
            for message in self._consumer.consume(500, 0.2):
                self._read += message.error() is None
            self._commit()
            if time.monotonic() >= report_at:
                report_at = time.monotonic() + REPORT_EVERY_S
                say("progress", **self.figures())
        self._lost_commits = self._count_lost_commits()
        self._consumer.close()

    def _on_lost(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self._lost_count += len(partitions)

    def _commit(self) -> None:
        try:
            committed = self._consumer.commit(asynchronous=False) or []
        except KafkaException as error:
            # There is nothing to commit before something was read.
            self._refused += "NO_OFFSET" not in str(error)
            return
        now = time.monotonic()
        if self._last_at:
            self._longest_gap_s = max(self._longest_gap_s, now - self._last_at)
        self._last_at = now
        self._commits += 1
        for one in committed:
            if one.offset >= 0:  # below: nothing was read there yet
                self._went_back += one.offset < self._committed.get(one.partition, 0)
                self._committed[one.partition] = one.offset

    def _count_lost_commits(self) -> int:
        """Partitions whose committed offset, asked for anew, is below what was acknowledged."""
        asked = [TopicPartition(self._topic, partition) for partition in self._committed]
        found = self._consumer.committed(asked, timeout=COMMITTED_TIMEOUT_S)
        return sum(one.offset < self._committed[one.partition] for one in found)

    def figures(self) -> dict[str, Any]:
        return {
            "read": self._read,
            "commits": self._commits,
            "refused": self._refused,
            "lost_partitions": self._lost_count,
            "went_back": self._went_back,
            "lost_commits": self._lost_commits,
            "longest_gap_ms": round(1000 * self._longest_gap_s),
        }


def say(kind: str, **figures: object) -> None:
    print(json.dumps({"kind": kind, **figures}), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--group", required=True)
    load = GroupLoad(parser.parse_args())
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, load.stop)
    load.run()
    say("verdict", **load.figures())
    return 0


if __name__ == "__main__":
    sys.exit(main())
