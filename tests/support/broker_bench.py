"""A broker's inside without a server: partitions on a real disk, handlers called directly."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from barnabas_broker.fetching.reading import FetchParts
from barnabas_broker.handlers.fetch import FetchHandler
from barnabas_broker.handlers.list_offsets import ListOffsetsHandler
from barnabas_broker.handlers.produce import ProduceHandler
from barnabas_broker.partitions.cold_reader import ColdReader
from barnabas_broker.partitions.partition import Partition
from barnabas_broker.partitions.purgatory import Purgatory
from barnabas_broker.partitions.registry import Partitions
from barnabas_broker.partitions.turn_writer import TurnWriter
from barnabas_core.log.environment import LogEnvironment
from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.opening.load import create_partition
from barnabas_core.log.partition_log import PartitionLog
from barnabas_core.log.producers.producer_state import AppendOrigin
from barnabas_core.ports import Disk, DiskError
from barnabas_core.records.builder import build_batch
from barnabas_core.runtime.clock import SystemClock
from barnabas_core.runtime.disk import RealDisk
from barnabas_core.runtime.executor import SystemExecutor
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.runtime.rng import SeededRng
from barnabas_core.runtime.supervisor import TaskList
from barnabas_core.runtime.timers import Timers
from barnabas_core.server.deferred import Deferred
from barnabas_core.server.dispatch import Peer, RequestContext
from tests.support.cluster_image import broker, cluster_view, topic

T = TypeVar("T")

TOPIC = "topic"
TOPIC_ID = bytes(range(16))


class BrokerBench:
    """Make it inside a running loop."""

    def __init__(
        self,
        path: Path,
        *,
        partition_count: int = 1,
        config: LogConfig | None = None,
        disk: Disk | None = None,
        response_bytes_max: int = 55 * 1024 * 1024,
        session_slots: int = 1000,
        is_rack_aware: bool = False,
    ) -> None:
        self.clock = SystemClock()
        self.timers = Timers(self.clock)
        self.executor = SystemExecutor()
        replicas = [(1,)] * partition_count
        self.view = cluster_view([broker(), *topic(TOPIC, TOPIC_ID, replicas)])
        self.purgatory = Purgatory(self.timers)
        self.failures: list[tuple[Partition, DiskError]] = []
        self.partitions = Partitions(self._on_failed)
        self.writer = TurnWriter(self.executor, self._on_written, self._on_failed)
        self.environment = LogEnvironment(disk or RealDisk(), SeededRng(1))
        for index in range(partition_count):
            self._open(str(path / f"{TOPIC}-{index}"), index, config or LogConfig())
        log = EventLog()
        cold_reader = ColdReader(self.executor, TaskList(log))
        self.produce = ProduceHandler(
            self.partitions,
            self.view,
            self.writer,
            self.clock,
            self.executor,
            self.purgatory,
        )
        parts = FetchParts(
            self.partitions,
            self.view,
            self.purgatory,
            cold_reader,
            response_bytes_max,
            is_rack_aware,
        )
        self.fetch = FetchHandler(parts, session_slots, self.clock, SeededRng(2))
        self.list_offsets = ListOffsetsHandler(self.partitions, self.view, self.executor)

    def close(self) -> None:
        self.timers.close()
        self.executor.close()

    def partition(self, index: int = 0) -> Partition:
        found = self.partitions.find(TOPIC, index)
        assert found is not None
        return found

    def append(
        self, buffer: bytearray, index: int = 0, origin: AppendOrigin = AppendOrigin.CLIENT
    ) -> None:
        """Straight into the log, written and visible."""
        partition = self.partition(index)
        partition.log.stage(buffer, leader_epoch=0, origin=origin, now_ms=self.clock.now_ms())
        partition.log.write()
        self._on_written(partition)

    def _open(self, path: str, index: int, config: LogConfig) -> None:
        now_ms = self.clock.now_ms()
        loaded = create_partition(self.environment.disk, path, TOPIC, index, TOPIC_ID, now_ms)
        log = PartitionLog(self.environment, loaded, config, now_ms)
        partition = Partition(log, self.purgatory.wake)
        image = self.view.partition(TOPIC, index)
        assert image is not None
        partition.lead(self.view.node_id, image, now_ms)
        self.partitions.add(partition)

    def _on_written(self, partition: Partition) -> None:
        partition.on_written()

    def _on_failed(self, partition: Partition, error: DiskError) -> None:
        self.failures.append((partition, error))
        partition.log.go_offline(str(error))
        partition.go_offline()
        self.purgatory.wake_all(partition)


def context(version: int, client_id: str | None = "test") -> RequestContext:
    return RequestContext(version, 1, client_id, Peer("192.0.2.1", 4711, "PLAINTEXT"))


def batch(
    values: Sequence[bytes] = (b"value",),
    **fields: Any,  # noqa: ANN401 - of the builder
) -> bytearray:
    """One record batch, as a client would send it."""
    fields.setdefault("timestamp_ms", SystemClock().now_ms())
    return build_batch([(None, value) for value in values], **fields)


def collect(deferred: Deferred[T]) -> list[T]:
    """Filled when the answer comes."""
    answers: list[T] = []
    deferred.then(answers.append)
    return answers


async def value_of(deferred: Deferred[T]) -> T:
    """Wait for the answer."""
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    deferred.then(future.set_result)
    return await future


def run(
    path: Path,
    scenario: Callable[[BrokerBench], Awaitable[None]],
    **fields: Any,  # noqa: ANN401 - of the bench
) -> None:
    """Play a scenario with a bench of its own."""

    async def scene() -> None:
        bench = BrokerBench(path, **fields)
        try:
            await scenario(bench)
        finally:
            bench.close()

    asyncio.run(scene())
