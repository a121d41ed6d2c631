"""All logs of one broker, in one or several directories.

A new partition goes to the directory with the fewest. A `DiskError` anywhere takes its directory
offline, with the partitions in it; the others go on, until the last one is lost. The owner calls
`checkpoint_jobs` and `reap_job` now and then, and asks the logs which of them need a flush.

Everything here blocks for as long as the disk takes; what takes longer than a few file operations
comes as a job for a thread. `open` recovers partitions of a directory that was not closed properly
right here; `open_in_background` has a worker process do it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from barnabas_core.log.directories.directory import CheckpointJob, LogDirectory
from barnabas_core.log.directories.directory_meta import (
    NO_BROKER_EPOCH,
    PARTITION_METADATA_FILE,
    PartitionMetadata,
)
from barnabas_core.log.environment import LogEnvironment
from barnabas_core.log.error import CorruptLog, LogError
from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.opening.load import create_partition, load_partition
from barnabas_core.log.opening.loaded_log import LoadedLog
from barnabas_core.log.opening.recovery import RecoverySettings, recover_partition
from barnabas_core.log.opening.recovery_job import (
    JOB_FILE,
    WORKER_MODULE,
    RecoveryTask,
    decode_report,
    write_tasks,
)
from barnabas_core.log.partition_log import PartitionLog
from barnabas_core.log.reap import ReapJob
from barnabas_core.log.segments.file_name import (
    DirectoryState,
    PartitionDirectory,
    partition_directory,
)
from barnabas_core.ports import Clock, DiskError, Executor
from barnabas_core.wire.primitive import ZERO_UUID, uuid_text

# As many as open in a few milliseconds.
_PARTITIONS_PER_TURN = 50

Key = tuple[str, int]
Partitions = list[tuple[str, PartitionDirectory]]
ConfigOf = Callable[[str], LogConfig]


class LastDirectoryLost(LogError):
    """No log directory is left: the process cannot go on."""


class TopicIdMismatch(LogError):
    """A partition of that name belongs to another topic, which had the name before."""


class LogManager:
    __slots__ = (
        "_clock",
        "_doomed",
        "_owner",
        "config_of",
        "directories",
        "directory_id_of",
        "environment",
    )

    def __init__(
        self,
        environment: LogEnvironment,
        clock: Clock,
        paths: Sequence[str],
        *,
        cluster_id: str,
        node_id: int,
        config_of: ConfigOf | None = None,
    ) -> None:
        self.environment = environment
        self._clock = clock
        self._owner = (cluster_id, node_id)
        self.config_of: ConfigOf = config_of or (lambda _topic: LogConfig())
        self.directories = [LogDirectory(environment.disk, path) for path in paths]
        self.directory_id_of: Callable[[str, int], bytes | None] = lambda _topic, _partition: None
        """Where a partition should lie, if that is known: of two equal logs that one is taken."""
        # (when, path) of deleted partitions' directories.
        self._doomed: list[tuple[int, str]] = []

    # Opening and closing

    def open(self) -> None:
        """Open every directory and every partition in it; one that fails stays offline."""
        for directory in self.directories:
            try:
                self._open_directory(directory)
            except DiskError as error:
                directory.fail(str(error))
        self._refuse_if_none_left()

    def _open_directory(self, directory: LogDirectory) -> None:
        partitions = self._begin_directory(directory)
        if not directory.was_clean:
            for path, partition in partitions:
                self._recover(directory, path, partition)
        self._open_partitions(directory, partitions)

    async def open_in_background(self, executor: Executor) -> None:
        """Like `open`, but nothing blocks: recovery runs in a worker process, the rest in threads.

        Nobody else may use the manager meanwhile.
        """
        for directory in self.directories:
            try:
                await self._open_directory_in_background(directory, executor)
            except DiskError as error:
                directory.fail(str(error))
        self._refuse_if_none_left()

    async def _open_directory_in_background(
        self, directory: LogDirectory, executor: Executor
    ) -> None:
        partitions = await executor.in_thread(lambda: self._begin_directory(directory))
        if not directory.was_clean and partitions:
            await self._recover_in_background(directory, partitions, executor)
        for start in range(0, len(partitions), _PARTITIONS_PER_TURN):
            some = partitions[start : start + _PARTITIONS_PER_TURN]
            await executor.in_thread(partial(self._open_partitions, directory, some))

    async def _recover_in_background(
        self, directory: LogDirectory, partitions: Partitions, executor: Executor
    ) -> None:
        path = f"{directory.path}/{JOB_FILE}"
        disk = self.environment.disk
        tasks = [
            RecoveryTask.of(
                it, self.config_of(partition.topic), self._settings(directory, partition)
            )
            for it, partition in partitions
        ]
        await executor.in_thread(lambda: write_tasks(disk, path, tasks))
        output = await executor.in_worker(WORKER_MODULE, ["recover", path])
        decode_report(output)
        await executor.in_thread(lambda: disk.remove(path))

    def _begin_directory(self, directory: LogDirectory) -> Partitions:
        """Take the directory; the partitions to open in it."""
        try:
            directory.open(*self._owner, self.environment.rng, self._clock.now_ms())
        except LogError:
            directory.release()
            raise
        partitions = []
        for path, partition in directory.partitions():
            if partition.state is DirectoryState.CURRENT:
                partitions.append((path, partition))
            elif partition.state is DirectoryState.DELETE:
                self._doomed.append((0, path))
            elif partition.state is DirectoryState.FUTURE:
                # Who goes on with the move begins it again.
                self._doomed.append((0, path))
                directory.unfinished_moves.append((partition.topic, partition.partition))
        return partitions

    def _open_partitions(self, directory: LogDirectory, partitions: Partitions) -> None:
        for path, partition in partitions:
            self._open_partition(directory, path, partition)

    def _open_partition(
        self, directory: LogDirectory, path: str, partition: PartitionDirectory
    ) -> None:
        is_clean = directory.was_clean
        try:
            loaded = self._load(directory, path, partition, is_clean=is_clean)
        except CorruptLog:
            # Only an index, or files of a deletion that a clean stop cut short.
            self._recover(directory, path, partition)
            loaded = self._load(directory, path, partition, is_clean=False)
        config, now_ms = self.config_of(partition.topic), self._clock.now_ms()
        log = PartitionLog(self.environment, loaded, config, now_ms)
        if self._is_newest(directory, log):
            directory.logs[partition.topic, partition.partition] = log
        else:
            self.retire(directory, log)

    def _is_newest(self, directory: LogDirectory, log: PartitionLog) -> bool:
        """Of two logs of a partition, which a crash in the middle of a move leaves behind."""
        other = self.directory_of(log.topic, log.partition)
        if other is None:
            return True
        twin = other.logs[log.topic, log.partition]
        if twin.log_end_offset > log.log_end_offset:
            return False
        if twin.log_end_offset == log.log_end_offset:
            wanted = self.directory_id_of(log.topic, log.partition)
            if wanted != directory.id:
                return False
        self.retire(other, other.logs.pop((log.topic, log.partition)))
        return True

    def _recover(self, directory: LogDirectory, path: str, partition: PartitionDirectory) -> None:
        config, settings = self.config_of(partition.topic), self._settings(directory, partition)
        recover_partition(self.environment.disk, path, config, settings)

    def _settings(self, directory: LogDirectory, partition: PartitionDirectory) -> RecoverySettings:
        key = partition.topic, partition.partition
        return RecoverySettings(
            recovery_point=directory.recovery_points.get(key, 0),
            log_start_offset=directory.log_starts.get(key, 0),
            now_ms=self._clock.now_ms(),
            producer_expiration_ms=self.environment.producer_expiration_ms,
        )

    def _load(
        self, directory: LogDirectory, path: str, partition: PartitionDirectory, *, is_clean: bool
    ) -> LoadedLog:
        topic, number = partition.topic, partition.partition
        loaded = load_partition(self.environment.disk, path, topic, number)
        key = topic, number
        start = max(directory.log_starts.get(key, 0), loaded.log_start_offset)
        loaded.log_start_offset = min(start, loaded.log_end_offset)
        high_watermark = max(directory.high_watermarks.get(key, 0), loaded.log_start_offset)
        loaded.high_watermark = min(high_watermark, loaded.log_end_offset)
        if not is_clean:
            recovery_point = directory.recovery_points.get(key, 0)
            loaded.recovery_point = min(recovery_point, loaded.log_end_offset)
            # The crash may have come before the first flush, of the directory's name too.
            loaded.has_new_names = loaded.is_new = True
        return loaded

    def close(self, broker_epoch: int = NO_BROKER_EPOCH) -> None:
        """Close all logs; a directory that fails on the way is left to be recovered."""
        for directory in self._online():
            try:
                directory.close(broker_epoch, self._clock.now_ms())
            except DiskError as error:
                directory.fail(str(error))

    # The logs

    def logs(self) -> Iterable[PartitionLog]:
        for directory in self._online():
            yield from directory.logs.values()

    def get(self, topic: str, partition: int) -> PartitionLog | None:
        """The log, which may be offline."""
        for directory in self.directories:
            log = directory.logs.get((topic, partition))
            if log is not None:
                return log
        return None

    def create(
        self,
        topic: str,
        partition: int,
        *,
        topic_id: bytes = ZERO_UUID,
        directory: LogDirectory | None = None,
    ) -> PartitionLog:
        """The partition's log, made if need be; `TopicIdMismatch` if it is another topic's."""
        existing = self.get(topic, partition)
        if existing is not None:
            self._check_topic_id(existing, topic_id)
            return existing
        directory = directory or self._emptiest()
        directory.forget_name(topic, partition)
        path = f"{directory.path}/{partition_directory(topic, partition)}"
        now_ms = self._clock.now_ms()
        disk = self.environment.disk
        loaded = create_partition(disk, path, topic, partition, topic_id, now_ms)
        log = PartitionLog(self.environment, loaded, self.config_of(topic), now_ms)
        directory.logs[topic, partition] = log
        return log

    def _check_topic_id(self, log: PartitionLog, topic_id: bytes) -> None:
        if topic_id in (ZERO_UUID, log.topic_id):
            return
        if log.topic_id != ZERO_UUID:
            raise TopicIdMismatch(
                f"{log.dir_path} belongs to topic id {uuid_text(log.topic_id)}, "
                f"not to {uuid_text(topic_id)}"
            )
        path = f"{log.dir_path}/{PARTITION_METADATA_FILE}"
        self.environment.disk.replace(path, PartitionMetadata(topic_id).encode())
        log.topic_id = topic_id

    def delete(self, topic: str, partition: int) -> None:
        """Take a partition away at once; its files go `file.delete.delay.ms` later (`reap_job`)."""
        directory = self.directory_of(topic, partition)
        if directory is None:
            return
        log = directory.logs.pop((topic, partition))
        if not directory.is_online:
            return
        self.retire(directory, log)

    def set_aside(self, topic: str, partition: int) -> None:
        """Take away a partition that nobody knows; its files stay, under a name that says so."""
        directory = self.directory_of(topic, partition)
        if directory is None:
            return
        log = directory.logs.pop((topic, partition))
        if directory.is_online:
            log.rename_for_delete(self.environment.rng.randbytes(16), DirectoryState.STRAY)
            self.environment.disk.sync_dir(directory.path)

    def retire(self, directory: LogDirectory, log: PartitionLog) -> None:
        """A log that is in no table any more: its files go later."""
        path = log.rename_for_delete(self.environment.rng.randbytes(16))
        # A topic that was deleted must not come back.
        self.environment.disk.sync_dir(directory.path)
        self._doomed.append((self._clock.now_ms() + log.config.file_delete_delay_ms, path))

    def truncate(self, offsets: Mapping[Key, int]) -> None:
        """Truncate several logs; their recovery points are lowered on the disk first."""
        for job in self.lowering_jobs(offsets):
            job.run()
        for log in self._of(offsets):
            log.truncate_to(offsets[log.topic, log.partition], self._clock.now_ms())

    def truncate_fully(self, offsets: Mapping[Key, int]) -> None:
        """Empty several logs, to go on at these offsets; as `truncate` does."""
        for job in self.lowering_jobs(offsets):
            job.run()
        for log in self._of(offsets):
            offset = offsets[log.topic, log.partition]
            log.truncate_fully_and_start_at(offset, self._clock.now_ms())

    def lowering_jobs(self, offsets: Mapping[Key, int]) -> list[CheckpointJob]:
        """What must have run before these logs may be truncated to these offsets."""
        jobs = []
        for directory in self._online():
            logs = directory.logs
            lowered = {
                key: offset
                for key, offset in offsets.items()
                if key in logs and offset < logs[key].recovery_point
            }
            if lowered:
                jobs.append(directory.checkpoint_job(lowered))
        return jobs

    def _of(self, keys: Iterable[Key]) -> list[PartitionLog]:
        logs = [self.get(*key) for key in keys]
        return [log for log in logs if log is not None and not log.is_offline]

    # Upkeep

    def checkpoint_jobs(self) -> list[CheckpointJob]:
        """One for each directory. None may be running when `truncate` or `create` is called."""
        return [directory.checkpoint_job() for directory in self._online()]

    def checkpoint(self) -> None:
        for directory in list(self._online()):
            try:
                directory.checkpoint_job().run()
            except DiskError as error:
                self.on_disk_error(error)

    def reap_job(self, now_ms: int) -> ReapJob:
        """To remove files of segments and partitions that were deleted long enough ago."""
        due = [path for at_ms, path in self._doomed if at_ms <= now_ms]
        self._doomed = [it for it in self._doomed if it[0] > now_ms]
        files = [path for log in self.logs() for path in log.reap_job(now_ms).files]
        return ReapJob(self.environment.disk, files, due)

    # Failing

    def on_disk_error(self, error: DiskError) -> list[PartitionLog]:
        """Take the directory offline in which it happened; the logs that went with it."""
        gone: list[PartitionLog] = []
        for directory in self.directories:
            if error.path == directory.path or error.path.startswith(f"{directory.path}/"):
                gone += directory.fail(str(error))
        self._refuse_if_none_left()
        return gone

    def _refuse_if_none_left(self) -> None:
        if not self._online():
            raise LastDirectoryLost("no log directory is left")

    def _online(self) -> list[LogDirectory]:
        return [directory for directory in self.directories if directory.is_online]

    def directory_of(self, topic: str, partition: int) -> LogDirectory | None:
        for directory in self.directories:
            if (topic, partition) in directory.logs:
                return directory
        return None

    def _emptiest(self) -> LogDirectory:
        self._refuse_if_none_left()
        return min(self._online(), key=lambda it: len(it.logs))
