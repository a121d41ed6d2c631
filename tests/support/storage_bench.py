"""A broker's storage without a broker: log directories on a real disk, partitions led here."""

import asyncio
import io
from collections.abc import Awaitable, Callable
from pathlib import Path

from barnabas_broker.partitions.partition import Partition
from barnabas_broker.partitions.purgatory import Purgatory
from barnabas_broker.storage import Storage, StorageParts, open_logs
from barnabas_core.log.environment import LogEnvironment
from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.producers.producer_state import AppendOrigin
from barnabas_core.runtime.clock import SystemClock
from barnabas_core.runtime.disk import RealDisk
from barnabas_core.runtime.executor import SystemExecutor
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.runtime.rng import SeededRng
from barnabas_core.runtime.timers import Timers
from tests.support.broker_bench import batch

TOPIC_ID = b"t" * 16


class StorageBench:
    """Make it inside a running loop."""

    def __init__(self, *paths: Path, config: LogConfig | None = None, seed: int = 1) -> None:
        self.clock = SystemClock()
        self.timers = Timers(self.clock)
        self.executor = SystemExecutor()
        self.purgatory = Purgatory(self.timers)
        environment = LogEnvironment(RealDisk(), SeededRng(seed))
        logs = open_logs(
            environment,
            self.clock,
            [str(path) for path in paths],
            ("cluster", 1),
            lambda _: config or LogConfig(),
        )
        parts = StorageParts(self.clock, self.executor, EventLog(stream=io.StringIO()))
        self.storage = Storage(logs, self.purgatory, parts)

    async def keep(self, name: str, number: int = 0) -> Partition:
        partition = await self.storage.keep(name, number, TOPIC_ID)
        assert partition is not None
        return partition

    def append(self, partition: Partition, count: int = 1) -> None:
        """Written, and visible."""
        for _ in range(count):
            partition.log.stage(
                batch(), leader_epoch=0, origin=AppendOrigin.CLIENT, now_ms=self.clock.now_ms()
            )
        partition.log.write()
        partition.log.advance_high_watermark(partition.log.log_end_offset)
        self.storage.on_written(partition)


def play(
    scenario: Callable[[StorageBench], Awaitable[None]],
    *paths: Path,
    config: LogConfig | None = None,
    seed: int = 1,
) -> None:
    """Open the directories, play, close."""

    async def scene() -> None:
        bench = StorageBench(*paths, config=config, seed=seed)
        await bench.storage.open()
        try:
            await scenario(bench)
            await bench.storage.close()
        finally:
            bench.timers.close()
            bench.executor.close()

    asyncio.run(scene())
