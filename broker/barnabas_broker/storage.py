"""The broker's logs: opened, created, written, lost.

What lies between the request handlers and the log manager: it knows which topics there are, because
for now the directories on the disk are all there is to know them from, and it sees to it that
whoever waits for a log is told when its directory fails.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from barnabas_core.log.directories.directory import LogDirectory, new_directory_id
from barnabas_core.log.environment import LogEnvironment
from barnabas_core.log.error import LogError
from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.manager import LastDirectoryLost, LogManager
from barnabas_core.log.partition_log import PartitionLog
from barnabas_core.log.segments.file_name import PartitionDirectory
from barnabas_core.ports import Clock, DiskError, Executor, Rng, TooManyOpenFiles
from barnabas_core.runtime.log_setup import EventLog, FloodLimit
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.primitive import ZERO_UUID

from barnabas_broker.metadata_memory import MemoryMetadata
from barnabas_broker.partitions.partition import Partition
from barnabas_broker.partitions.purgatory import Purgatory
from barnabas_broker.partitions.registry import Partitions
from barnabas_broker.partitions.turn_writer import TurnWriter
from barnabas_broker.topic_name import is_valid


class TopicInPieces(LogError):
    """Partition directories of one topic name that belong to different topics."""


class WatchedLogs(LogManager):
    """A log manager whose failures are heard of, whoever reports them."""

    __slots__ = ("_on_lost", "open_failures")

    def watch(self, on_lost: Callable[[DiskError], None]) -> None:
        self._on_lost = on_lost
        self.open_failures: list[str] = []

    def _begin_directory(self, directory: LogDirectory) -> list[tuple[str, PartitionDirectory]]:
        try:
            return super()._begin_directory(directory)
        except DiskError as error:
            self.open_failures.append(str(error))
            raise

    def on_disk_error(self, error: DiskError) -> list[PartitionLog]:
        try:
            return super().on_disk_error(error)
        finally:
            self._on_lost(error)


@dataclass(frozen=True, slots=True)
class StorageParts:
    """What storage stands on beside the log manager."""

    clock: Clock
    executor: Executor
    log: EventLog


class Storage:
    def __init__(
        self,
        logs: WatchedLogs,
        metadata: MemoryMetadata,
        purgatory: Purgatory,
        on: StorageParts,
    ) -> None:
        self.logs = logs
        self.partitions = Partitions(self._on_failed)
        self.writer = TurnWriter(on.executor, self.on_written, self._on_failed)
        self.changing = asyncio.Lock()
        """Held while partitions come or go: no checkpoint is written meanwhile."""
        self.all_lost = asyncio.Event()
        """The last log directory has failed: there is nothing left to serve."""
        self._metadata = metadata
        self._purgatory = purgatory
        self._executor = on.executor
        self._log = on.log
        self._shortages = FloodLimit(on.log, on.clock)
        logs.watch(self._on_directory_lost)

    # -- opening and closing

    async def open(self) -> None:
        """Open every log and find out from them which topics there are."""
        try:
            await self.logs.open_in_background(self._executor)
        except LastDirectoryLost as lost:
            raise LastDirectoryLost("; ".join(self.logs.open_failures)) from lost
        for reason in self.logs.open_failures:
            self._log.error("log directory cannot be opened", reason=reason)
        found = sorted(self.logs.logs(), key=lambda log: (log.topic, log.partition))
        for topic, logs in groupby(found, lambda log: log.topic):
            self._add_found(topic, list(logs))

    async def close(self) -> None:
        """Write what is staged, then leave the directories as after a clean shutdown."""
        await self.writer.drain()
        self.logs.close()

    def _add_found(self, topic: str, logs: Sequence[PartitionLog]) -> None:
        topic_id = self._topic_id(topic, logs)
        partition_count = logs[-1].partition + 1
        self._metadata.add_topic(topic, topic_id, partition_count)
        # Where a crash cut a creation short, this completes it.
        for index in range(partition_count):
            self._add(self.logs.create(topic, index, topic_id=topic_id))

    def _topic_id(self, topic: str, logs: Sequence[PartitionLog]) -> bytes:
        known = sorted({log.topic_id for log in logs} - {ZERO_UUID})
        if len(known) > 1:
            directories = ", ".join(log.dir_path for log in logs)
            raise TopicInPieces(f"topic {topic} has several topic ids: {directories}")
        return known[0] if known else new_topic_id(self.logs.environment.rng)

    def _add(self, log: PartitionLog) -> None:
        # The only replica: what it holds is what is committed.
        log.advance_high_watermark(log.log_end_offset)
        partition = Partition(log)
        self.partitions.add(partition)
        if log.is_offline:
            self._lose(partition)

    # -- topics

    async def create_topic(self, name: str, partition_count: int) -> ErrorCode:
        async with self.changing:
            if self._metadata.topic(name) is not None:
                return ErrorCode.NONE  # somebody else was faster
            if not is_valid(name) or self._metadata.colliding(name) is not None:
                return ErrorCode.INVALID_TOPIC_EXCEPTION
            # A creation that failed half way is taken up where it stopped.
            begun = self.logs.get(name, 0)
            topic_id = new_topic_id(self.logs.environment.rng) if begun is None else begun.topic_id
            try:
                logs = [
                    await self._create_log(name, index, topic_id)
                    for index in range(partition_count)
                ]
            except DiskError as error:
                self.fail(error)
                return ErrorCode.KAFKA_STORAGE_ERROR
            except LastDirectoryLost:
                return ErrorCode.KAFKA_STORAGE_ERROR
            self._metadata.add_topic(name, topic_id, partition_count)
            for log in logs:
                self._add(log)
            self._log.info("topic created", topic=name, partitions=partition_count)
            return ErrorCode.NONE

    async def _create_log(self, topic: str, index: int, topic_id: bytes) -> PartitionLog:
        return await self._executor.in_thread(
            lambda: self.logs.create(topic, index, topic_id=topic_id)
        )

    # -- what happens to a log

    def on_written(self, partition: Partition) -> None:
        """Its end has moved: tell producers, then readers."""
        partition.on_written()
        self._purgatory.wake(partition)

    def _on_failed(self, partition: Partition, error: DiskError) -> None:
        self.fail(error)
        is_known = partition.log.is_offline or isinstance(error, TooManyOpenFiles)
        assert is_known, f"{error} is in no log directory"

    def fail(self, error: DiskError) -> None:
        """Take the directory offline in which it happened."""
        if isinstance(error, TooManyOpenFiles):
            self._shortages.warning("no file can be opened", path=error.path, reason=str(error))
            return
        with contextlib.suppress(LastDirectoryLost):  # `all_lost` tells
            self.logs.on_disk_error(error)

    def _on_directory_lost(self, error: DiskError) -> None:
        self._log.error("log directory is offline", path=error.path, reason=str(error))
        for partition in self.partitions:
            if partition.log.is_offline and not partition.is_offline:
                self._lose(partition)
        if not any(directory.is_online for directory in self.logs.directories):
            self.all_lost.set()

    def _lose(self, partition: Partition) -> None:
        self._metadata.take_offline(partition.log.topic, partition.log.partition)
        partition.go_offline()
        self._purgatory.wake_all(partition)


def new_topic_id(rng: Rng) -> bytes:
    """Random, as directory ids are, and none of the two that Kafka reserves."""
    return new_directory_id(rng)


def open_logs(
    environment: LogEnvironment,
    clock: Clock,
    paths: Sequence[str],
    owner: tuple[str, int],
    defaults: LogConfig,
) -> WatchedLogs:
    """A manager for the logs of (cluster id, node id); nothing is opened yet."""
    cluster_id, node_id = owner
    return WatchedLogs(
        environment,
        clock,
        paths,
        cluster_id=cluster_id,
        node_id=node_id,
        config_of=lambda _topic: defaults,
    )
