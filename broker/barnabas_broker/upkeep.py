"""What a broker does for its logs while nobody asks: retention, flushing, checkpoints, expiry.

Each is a task of its own that goes over the partitions one after the other and lets the loop turn
in between: there may be ten thousand of them.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from barnabas_broker.broker_config import BrokerConfig
from barnabas_broker.partitions.partition import Partition
from barnabas_broker.storage import Storage
from barnabas_core.log.partition_log import PartitionLog
from barnabas_core.ports import Clock, DiskError, Executor
from barnabas_core.runtime.supervisor import Supervisor

# Partitions that are looked at before the loop gets its turn.
_STRIDE: Final = 64
_REAP_INTERVAL_MS: Final = 10_000


class Upkeep:
    def __init__(
        self, storage: Storage, clock: Clock, executor: Executor, config: BrokerConfig
    ) -> None:
        self._storage = storage
        self._clock = clock
        self._executor = executor
        self._config = config

    def start(self, supervisor: Supervisor) -> None:
        config = self._config
        supervisor.every("flush", config.flush_check_interval_ms, self.flush)
        supervisor.every("retention", config.retention_check_interval_ms, self.retain)
        supervisor.every("reap", _REAP_INTERVAL_MS, self.reap)
        supervisor.every("checkpoint", config.checkpoint_interval_ms, self.checkpoint)
        supervisor.every(
            "producer expiry", config.producer_expiration_check_interval_ms, self.expire_producers
        )

    async def flush(self) -> None:
        """Sync what `flush.messages` and `flush.ms` ask for, and every complete segment."""
        async for partition in self._each():
            if partition.log.needs_flush(self._clock.now_ms()):
                await self._flush(partition)

    async def _flush(self, partition: Partition) -> None:
        log = partition.log
        job = log.flush_job()
        if job is None:
            return
        try:
            await self._executor.in_thread(job.run)
        except DiskError as error:
            if not log.is_offline:  # else it was deleted or moved under the job
                self._storage.partitions.fail(partition, error)
        else:
            if not log.is_offline:
                log.finish_flush(job, self._clock.now_ms())

    async def retain(self) -> None:
        """Delete segments that are too old or too many; the cleaner does it for compacted logs."""
        async for partition in self._each():
            if not partition.log.config.cleanup_compact:
                await self._retain_when_idle(partition)

    async def retain_log(self, log: PartitionLog) -> None:
        """The same for one log, when the cleaner says so."""
        partition = self._storage.partitions.find(log.topic, log.partition)
        if partition is not None and partition.log is log:
            await self._retain_when_idle(partition)

    async def _retain_when_idle(self, partition: Partition) -> None:
        await self._storage.writer.when_idle(partition)
        log = partition.log
        if log.is_offline:
            return
        try:
            await self._retain(partition)
        except DiskError as error:
            if not log.is_offline:  # else it was deleted or moved under the job
                self._storage.partitions.fail(partition, error)

    async def _retain(self, partition: Partition) -> None:
        job = partition.log.retention_job(self._clock.now_ms())
        # A segment that was still being filled may have been closed: that writes.
        self._storage.on_written(partition)
        partition.on_log_start_moved()
        if job is not None:
            await self._executor.in_thread(job.run)

    async def reap(self) -> None:
        """Remove the files of what was deleted a while ago."""
        try:
            await self._executor.in_thread(self._storage.logs.reap_job(self._clock.now_ms()).run)
        except DiskError as error:
            self._storage.fail(error)

    async def checkpoint(self) -> None:
        """Note recovery points, log starts and high watermarks."""
        async with self._storage.changing:
            for job in self._storage.logs.checkpoint_jobs():
                try:
                    await self._executor.in_thread(job.run)
                except DiskError as error:
                    self._storage.fail(error)

    async def expire_producers(self) -> None:
        async for partition in self._each():
            partition.log.expire_producers(self._clock.now_ms())

    async def _each(self) -> AsyncIterator[Partition]:
        """The partitions that are online."""
        for number, partition in enumerate(list(self._storage.partitions)):
            if number % _STRIDE == 0:
                await asyncio.sleep(0)
            if not partition.log.is_offline:
                yield partition
