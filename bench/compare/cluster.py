"""A side's running processes, as the measurements see them."""

import socket
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from bench.compare.usage import cpu_seconds, resident_mb
from tests.support.process import Child

KAFKA: Final = "Kafka"
BARNABAS: Final = "Barnabas"

# ApiVersions v0 without a client id.
_API_VERSIONS: Final = struct.pack(">ihhih", 10, 18, 0, 1, -1)
_ADMIN_TIMEOUT_S: Final = 60
_POLL_S: Final = 0.002


class Failed(Exception):
    """A step could not be done; the message goes to where its figure would stand."""


@dataclass(frozen=True, slots=True)
class Cluster:
    side: str
    children: Sequence[Child]
    ports: Sequence[int]

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self.ports)

    def cpu_seconds(self) -> float:
        self._check()
        return sum(cpu_seconds(child.process.pid) for child in self.children)

    def resident_mb(self) -> float:
        self._check()
        return sum(resident_mb(child.process.pid) for child in self.children)

    def _check(self) -> None:
        for child in self.children:
            if child.process.poll() is not None:
                raise Failed(f"{self.side} ended: {child.output()[-500:]}")

    def wait_ready(self) -> None:
        """Until clients are told of every broker: one that has just begun to answer is fenced yet.

        A new client for each try: librdkafka asks no more once it was told of no controller.
        """
        give_up_at = time.monotonic() + _ADMIN_TIMEOUT_S
        while self._known_broker_count() < len(self.ports):
            if time.monotonic() > give_up_at:
                raise Failed(f"{self.side} answers, and does not get ready")
            time.sleep(0.05)

    def _known_broker_count(self) -> int:
        admin = self._admin()
        try:
            return len(admin.list_topics(timeout=2).brokers)
        except KafkaException:
            return 0

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        replicas: int = 1,
        config: Mapping[str, str] | None = None,
    ) -> None:
        admin = self._admin()  # kept: a client that is collected answers nobody
        topic = NewTopic(name, partitions, replicas, config=dict(config or {}))
        admin.create_topics([topic], request_timeout=_ADMIN_TIMEOUT_S)[name].result(
            _ADMIN_TIMEOUT_S
        )

    def wait_partitions(self, topic: str, count: int) -> None:
        """Until clients are told of all of them."""
        admin = self._admin()
        give_up_at = time.monotonic() + _ADMIN_TIMEOUT_S
        while (
            len(admin.list_topics(topic, timeout=_ADMIN_TIMEOUT_S).topics[topic].partitions) < count
        ):
            if time.monotonic() > give_up_at:
                raise Failed(f"{topic} did not get its {count} partitions")
            time.sleep(0.1)

    def delete_topic(self, name: str) -> None:
        admin = self._admin()
        admin.delete_topics([name], request_timeout=_ADMIN_TIMEOUT_S)[name].result(_ADMIN_TIMEOUT_S)

    def _admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})


@dataclass(frozen=True, slots=True)
class Side:
    """How to start it, with so many nodes, on data in a directory: new or from an earlier start."""

    name: str
    running: Callable[[Path, int], AbstractContextManager[Cluster]]


def wait_answered(child: Child, port: int, timeout_s: float) -> None:
    """Until ApiVersions is answered on the port."""
    give_up_at = time.monotonic() + timeout_s
    while not _answers(port):
        if child.process.poll() is not None:
            raise Failed(f"ended early: {child.output()[-500:]}")
        if time.monotonic() > give_up_at:
            raise Failed(f"no answer within {timeout_s:.0f} s")
        time.sleep(_POLL_S)


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(_API_VERSIONS)
            return len(connection.recv(4)) > 0
    except OSError:
        return False
