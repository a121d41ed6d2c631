"""What a broker does for its logs while nobody asks."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from barnabas_broker.broker_config import BrokerConfig
from barnabas_broker.partitions.partition import Partition
from barnabas_broker.partitions.purgatory import Purgatory
from barnabas_broker.storage import Storage, StorageParts, open_logs
from barnabas_broker.upkeep import Upkeep
from barnabas_core.log.environment import LogEnvironment
from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.producers.producer_state import AppendOrigin
from barnabas_core.ports.link import Address
from barnabas_core.runtime.disk import RealDisk
from barnabas_core.runtime.executor import SystemExecutor
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.runtime.rng import SeededRng
from barnabas_core.runtime.timers import Timers
from tests.support.broker_bench import batch
from tests.support.cluster_image import cluster_view, topic
from tests.support.manual_clock import ManualClock


class UpkeepBench:
    def __init__(self, path: Path, topic_defaults: LogConfig) -> None:
        self.path = path
        self.clock = ManualClock()
        self.timers = Timers(self.clock)
        self.executor = SystemExecutor()
        config = BrokerConfig(
            node_id=1,
            cluster_id="cluster",
            log_dirs=(str(path),),
            listeners=(),
            internal=Address("broker", 1),
            controllers=(),
        )
        environment = LogEnvironment(RealDisk(), SeededRng(1))
        logs = open_logs(
            environment, self.clock, config.log_dirs, ("cluster", 1), lambda _: topic_defaults
        )
        purgatory = Purgatory(self.timers)
        parts = StorageParts(self.clock, self.executor, EventLog(level="error"))
        self.storage = Storage(logs, purgatory, parts)
        self.upkeep = Upkeep(self.storage, self.clock, self.executor, config)

    @property
    def partition(self) -> Partition:
        found = self.storage.partitions.find("t", 0)
        assert found is not None
        return found

    def append(self, value: bytes = b"x" * 100, producer_id: int = -1) -> None:
        fields = {}
        if producer_id >= 0:
            fields = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": 0}
        buffer = batch([value], timestamp_ms=self.clock.now_ms(), **fields)
        log = self.partition.log
        log.stage(buffer, leader_epoch=0, origin=AppendOrigin.CLIENT, now_ms=self.clock.now_ms())
        log.write()
        self.storage.on_written(self.partition)


def play(
    path: Path,
    scenario: Callable[[UpkeepBench], Awaitable[None]],
    topic_defaults: LogConfig | None = None,
) -> None:
    async def scene() -> None:
        bench = UpkeepBench(path, topic_defaults or LogConfig())
        await bench.storage.open()
        try:
            partition = await bench.storage.keep("t", 0, b"t" * 16)
            assert partition is not None
            image = cluster_view(topic("t", b"t" * 16)).partition("t", 0)
            assert image is not None
            partition.lead(1, image, 0)
            await scenario(bench)
            await bench.storage.close()
        finally:
            bench.timers.close()
            bench.executor.close()

    asyncio.run(scene())


def test_retention_deletes_old_segments_and_reaping_their_files(tmp_path: Path) -> None:
    async def scenario(bench: UpkeepBench) -> None:
        for _ in range(20):
            bench.append()
            bench.clock.advance(100)
        await bench.upkeep.flush()
        bench.clock.advance(60_000)
        await bench.upkeep.retain()
        await bench.upkeep.flush()
        await bench.upkeep.retain()
        assert bench.partition.log.log_start_offset == 20
        assert bench.partition.high_watermark == 20
        segments = list((bench.path / "t-0").glob("*.log"))
        assert len(segments) == 1

        assert list((bench.path / "t-0").glob("*.deleted"))
        bench.clock.advance(bench.partition.config.file_delete_delay_ms)
        await bench.upkeep.reap()
        assert not list((bench.path / "t-0").glob("*.deleted"))

    play(tmp_path, scenario, LogConfig(retention_ms=10_000, segment_bytes=1000))


def test_flushing_moves_the_recovery_point_where_the_topic_asks_for_it(tmp_path: Path) -> None:
    async def scenario(bench: UpkeepBench) -> None:
        bench.append()
        await bench.upkeep.flush()
        assert bench.partition.log.recovery_point == 0
        bench.append()
        await bench.upkeep.flush()
        assert bench.partition.log.recovery_point == 2

    play(tmp_path, scenario, LogConfig(flush_messages=2))


def test_checkpoints_are_written(tmp_path: Path) -> None:
    async def scenario(bench: UpkeepBench) -> None:
        bench.append()
        await bench.upkeep.checkpoint()
        text = (bench.path / "replication-offset-checkpoint").read_text()
        assert "t 0 1" in text

    play(tmp_path, scenario)


def test_idle_producers_are_forgotten(tmp_path: Path) -> None:
    async def scenario(bench: UpkeepBench) -> None:
        bench.append(producer_id=7)
        assert len(bench.partition.log.producers) == 1
        bench.clock.advance(86_400_000 + 1)
        await bench.upkeep.expire_producers()
        assert len(bench.partition.log.producers) == 0

    play(tmp_path, scenario)
