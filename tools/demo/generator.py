"""Orders at a steady pace, one in a thousand of them broken."""

import json
import random
import threading
import time
from datetime import UTC, datetime

from confluent_kafka import Producer

COUNTRIES = ("DE", "FR", "IT", "PL", "SE")
_TICK_S = 0.05


class Generator(threading.Thread):
    def __init__(self, bootstrap: str, topic: str, per_second: int) -> None:
        super().__init__(daemon=True)
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20})
        self._topic = topic
        self._per_second = per_second
        self._stopped = threading.Event()
        self._rng = random.Random(1)  # noqa: S311 - orders need no secrecy
        self.count = 0

    def run(self) -> None:
        begun_at = time.monotonic()
        while not self._stopped.wait(_TICK_S):
            due = int((time.monotonic() - begun_at) * self._per_second)
            while self.count < due:
                self._produce()
            self._producer.poll(0)
        self._producer.flush(30)

    def stop(self) -> None:
        self._stopped.set()
        self.join(60)

    def _produce(self) -> None:
        country = self._rng.choice(COUNTRIES)
        order = {
            "id": self.count,
            "country": country,
            "amount": round(self._rng.lognormvariate(3, 1) * (1 + COUNTRIES.index(country)), 2),
            "at": datetime.now(UTC).isoformat(),
        }
        value = json.dumps(order) if self._rng.random() > 0.001 else "not an order"
        self._producer.produce(self._topic, value, key=country)
        self.count += 1
