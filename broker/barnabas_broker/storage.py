"""The broker's logs: opened, created, written, lost.

What lies between the partitions of this broker and the log manager: it sees to it that whoever
waits for a log is told when its directory fails.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from barnabas_broker.directory_assignment import (
    DirectoryIdOf,
    assigned_directory,
    may_be_offline,
)
from barnabas_broker.partitions.partition import Partition
from barnabas_broker.partitions.purgatory import Purgatory
from barnabas_broker.partitions.registry import Partitions
from barnabas_broker.partitions.turn_writer import TurnWriter
from barnabas_core.log.directories.closing import close_directories
from barnabas_core.log.directories.directory import LogDirectory
from barnabas_core.log.directories.directory_meta import NO_BROKER_EPOCH
from barnabas_core.log.environment import LogEnvironment
from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.manager import LastDirectoryLost, LogManager
from barnabas_core.log.partition_log import PartitionLog
from barnabas_core.log.segments.file_name import PartitionDirectory
from barnabas_core.metadata.partition_image import UNASSIGNED_DIRECTORY
from barnabas_core.ports import Clock, DiskError, Executor, TooManyOpenFiles
from barnabas_core.runtime.log_setup import EventLog, FloodLimit
from barnabas_core.wire.primitive import ZERO_UUID

if TYPE_CHECKING:
    from barnabas_core.runtime.cleaner_task import CleanerTask

T = TypeVar("T")


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
        self.preferred_directories: dict[tuple[str, int], LogDirectory] = {}
        """Where partitions are to be made that are not kept yet; the metadata know better."""
        self.cleaner: CleanerTask | None = None
        """Once it runs."""
        self.on_directory_lost: Callable[[], None] = lambda: None
        self._purgatory = purgatory
        self._under_way: dict[asyncio.Future[Any], None] = {}
        self._clock = on.clock
        self._executor = on.executor
        self._log = on.log.named("barnabas.storage")
        self._shortages = FloodLimit(self._log, on.clock)
        logs.watch(self._on_directory_lost)

    # -- opening and closing

    async def open(self, directory_id_of: DirectoryIdOf | None = None) -> None:
        """Open every log there is; which of them are kept, the image will say."""
        if directory_id_of is not None:
            self.logs.directory_id_of = directory_id_of
        try:
            await self.logs.open_in_background(self._executor)
        except LastDirectoryLost as lost:
            raise LastDirectoryLost("; ".join(self.logs.open_failures) or str(lost)) from lost
        for reason in self.logs.open_failures:
            self._log.error("log directory cannot be opened", reason=reason)

    async def close(self, broker_epoch: int = NO_BROKER_EPOCH) -> None:
        """Write what is staged, then leave the directories as after a clean shutdown."""
        await self.writer.drain()
        while self._under_way:
            # Whoever asked for it is gone, but a log may be made or deleted in a thread just now.
            await asyncio.gather(*self._under_way, return_exceptions=True)
        directories = self.logs.directories
        await close_directories(directories, self._executor, self._clock, broker_epoch)

    async def _to_its_end(self, call: Callable[[], T]) -> T:
        """In a thread; `close` waits for it, whatever becomes of the caller."""
        running = asyncio.ensure_future(self._executor.in_thread(call))
        self._under_way[running] = None
        running.add_done_callback(self._on_ended)
        return await asyncio.shield(running)

    def _on_ended(self, running: "asyncio.Future[Any]") -> None:
        self._under_way.pop(running, None)
        if not running.cancelled():
            running.exception()  # whoever waits for it is told; nobody may be left to

    # -- partitions

    async def keep(
        self, topic: str, index: int, topic_id: bytes, directory_id: bytes = UNASSIGNED_DIRECTORY
    ) -> Partition | None:
        """The partition, its log made if need be; None if its directory failed.

        `directory_id`: where the metadata have it.
        """
        found = self.partitions.find(topic, index)
        if found is not None and found.log.topic_id == topic_id:
            return found
        if found is not None:
            await self.delete(topic, index)
        log = self.logs.get(topic, index)
        if log is not None and log.topic_id not in (topic_id, ZERO_UUID):
            # Of a topic of the same name that was deleted while this broker was away.
            await self._delete_log(topic, index)
        directories = self.logs.directories
        if self.logs.get(topic, index) is None and may_be_offline(directories, directory_id):
            return None  # another log of it, empty, would not be the replica that others count on
        directory = assigned_directory(directories, directory_id)
        if directory is None:
            preferred = self.preferred_directories.pop((topic, index), None)
            directory = preferred if preferred is not None and preferred.is_online else None
        try:
            log = await self._to_its_end(
                lambda: self.logs.create(topic, index, topic_id=topic_id, directory=directory)
            )
        except DiskError as error:
            self.fail(error)
            return None
        except LastDirectoryLost:
            return None
        partition = Partition(log, self._purgatory.wake)
        self.partitions.add(partition)
        if log.is_offline:
            self._lose(partition)
        return partition

    async def delete(self, topic: str, index: int) -> None:
        """This broker does not keep it any more."""
        partition = self.partitions.remove(topic, index)
        if partition is not None:
            await self.writer.when_idle(partition)
            partition.resign()
            self._purgatory.wake_all(partition)
        if self.logs.get(topic, index) is not None:
            await self._delete_log(topic, index)

    async def set_aside(self, topic: str, index: int) -> None:
        """A log of which the metadata know nothing, before any partition is kept."""
        try:
            await self._to_its_end(lambda: self.logs.set_aside(topic, index))
        except DiskError as error:
            self.fail(error)

    async def _delete_log(self, topic: str, index: int) -> None:
        log = self.logs.get(topic, index)
        cleaner = self.cleaner if log is not None and log.config.cleanup_compact else None
        if cleaner is not None:
            await cleaner.pause(topic, index)
        try:
            await self._to_its_end(lambda: self.logs.delete(topic, index))
        except DiskError as error:
            self.fail(error)
        if cleaner is not None:
            try:
                await cleaner.forget(topic, index)
            except DiskError as error:
                self.fail(error)

    async def truncate(
        self, partition: Partition, offset: int, *, keeps_start: bool = False
    ) -> None:
        """Forget what a follower has from `offset` on; below the log's start: forget everything.

        `keeps_start`: the log is empty, and the batch in which it begins is to come whole.
        """
        log = partition.log
        async with self.changing, self.uncleaned(log):
            await self.writer.when_idle(partition)
            jobs = self.logs.lowering_jobs({(log.topic, log.partition): offset})
            try:
                for job in jobs:
                    await self._executor.in_thread(job.run)
                if not log.is_offline:
                    self._truncate_now(log, offset, log.log_start_offset if keeps_start else None)
            except DiskError as error:
                self._on_failed(partition, error)

    def _truncate_now(self, log: PartitionLog, offset: int, log_start: int | None = None) -> None:
        # On the loop, where nobody reads or stages meanwhile: a few renames, no sync.
        if log_start is None and log.log_start_offset <= offset <= log.log_end_offset:
            log.truncate_to(offset, self._clock.now_ms())
        else:
            log.truncate_fully_and_start_at(offset, self._clock.now_ms(), log_start)

    @contextlib.asynccontextmanager
    async def uncleaned(self, log: PartitionLog) -> AsyncIterator[None]:
        """The cleaner keeps its hands off it."""
        cleaner = self.cleaner
        if cleaner is None:
            yield
            return
        await cleaner.pause(log.topic, log.partition)
        try:
            yield
        finally:
            cleaner.resume(log.topic, log.partition)

    # -- what happens to a log

    def on_written(self, partition: Partition) -> None:
        """Its end has moved: tell producers, then readers."""
        partition.on_written()

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
        self.on_directory_lost()
        if not any(directory.is_online for directory in self.logs.directories):
            self.all_lost.set()

    def on_role_changed(self, partition: Partition) -> None:
        """Whoever waits for it here is to look again."""
        self._purgatory.wake_all(partition)

    def _lose(self, partition: Partition) -> None:
        partition.go_offline()
        self._purgatory.wake_all(partition)


def open_logs(
    environment: LogEnvironment,
    clock: Clock,
    paths: Sequence[str],
    owner: tuple[str, int],
    config_of: Callable[[str], LogConfig],
) -> WatchedLogs:
    """A manager for the logs of (cluster id, node id); nothing is opened yet."""
    cluster_id, node_id = owner
    return WatchedLogs(
        environment,
        clock,
        paths,
        cluster_id=cluster_id,
        node_id=node_id,
        config_of=config_of,
    )
