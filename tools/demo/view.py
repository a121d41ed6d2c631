"""The newest window as bars in the terminal, read from the topic that the pipeline writes."""

import json
import sys
import threading
from typing import Any

from confluent_kafka import Consumer, TopicPartition

_BAR = 40


class View(threading.Thread):
    """Follows the topic; `lines` is what there is to show."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        super().__init__(daemon=True)
        self._consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "demo"})
        self._consumer.assign([TopicPartition(topic, 0, 0)])
        self._stopped = threading.Event()
        self._newest: dict[str, dict[str, Any]] = {}
        self.count = 0

    def run(self) -> None:
        while not self._stopped.is_set():
            message = self._consumer.poll(0.2)
            if message is None or message.error():
                continue
            row = json.loads(message.value() or b"{}")
            self._newest = {**self._newest, row["country"]: row}
            self.count += 1
        self._consumer.close()

    def stop(self) -> None:
        self._stopped.set()
        self.join(30)

    def lines(self) -> list[str]:
        newest = sorted(self._newest.values(), key=lambda row: str(row["country"]))
        most = max((row["revenue"] for row in newest), default=1) or 1
        return [
            f"  {row['country']}  {'█' * round(row['revenue'] / most * _BAR):{_BAR}} "
            f"{row['revenue']:>12,.2f}  {row['orders']:>6,} orders  {row['start'][11:19]}"
            for row in newest
        ]


class Screen:
    """Lines that are written over on a terminal; elsewhere the first line only, now and then."""

    def __init__(self) -> None:
        self._height = 0
        self._shown = ""

    def show(self, head: str, lines: list[str]) -> None:
        if not sys.stdout.isatty():
            if head != self._shown:
                print(head, flush=True)
                self._shown = head
            return
        up = f"\033[{self._height}A" if self._height else ""
        print(up + "\n".join(f"\033[K{line}" for line in (head, *lines)), flush=True)
        self._height = 1 + len(lines)
