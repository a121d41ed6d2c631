"""One log directory: whose it is, how it was left, and the offsets it remembers of its partitions.

The lock file keeps a second process out. The clean-shutdown file is there only while nobody has the
directory open: if it is missing at the start, every partition must be recovered. Checkpoints are
files with one offset per partition; they lag behind, and everything is built so that it may:

- recovery point: everything before it is durable. It may be too low, never too high; so it is
  written before a truncation, and before a deleted partition's name is used again.
- log start: the largest that was noted; what was deleted is gone anyway.
- high watermark: where a leader starts from until its followers tell.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from barnabas_core.log.directories.checkpoint import (
    HIGH_WATERMARK_FILE,
    LOG_START_FILE,
    RECOVERY_POINT_FILE,
    CorruptFile,
    PartitionOffsets,
    decode_offsets,
    encode_offsets,
)
from barnabas_core.log.directories.directory_meta import (
    CLEAN_SHUTDOWN_FILE,
    META_PROPERTIES_FILE,
    NO_BROKER_EPOCH,
    MetaProperties,
    decode_clean_shutdown,
    encode_clean_shutdown,
)
from barnabas_core.log.error import LogError
from barnabas_core.log.flush import FlushJob
from barnabas_core.log.partition_log import PartitionLog
from barnabas_core.log.segments.file_name import (
    LOCK_FILE,
    PartitionDirectory,
    parse_partition_directory,
)
from barnabas_core.ports.disk import DirLock, Disk
from barnabas_core.ports.rng import Rng
from barnabas_core.wire.primitive import uuid_text

METADATA_TOPIC = "__cluster_metadata"


class ForeignDirectory(LogError):
    """The directory belongs to another cluster or node."""


@dataclass(slots=True)
class CheckpointJob:
    """Files to put in place; `run` blocks and is thread-safe."""

    disk: Disk
    files: list[tuple[str, bytes]]

    def run(self) -> None:
        for path, data in self.files:
            self.disk.replace(path, data)


class LogDirectory:
    __slots__ = (
        "_disk",
        "_lock",
        "_stored",
        "broker_epoch",
        "future_logs",
        "high_watermarks",
        "is_online",
        "log_starts",
        "logs",
        "meta",
        "path",
        "recovery_points",
        "unfinished_moves",
        "was_clean",
    )

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self._lock: DirLock | None = None
        # What the recovery point and log start checkpoints on the disk speak of.
        self._stored: set[tuple[str, int]] = set()
        self.path = path
        self.is_online = True
        self.was_clean = False
        self.broker_epoch = NO_BROKER_EPOCH
        self.meta: MetaProperties | None = None
        self.logs: dict[tuple[str, int], PartitionLog] = {}
        self.future_logs: dict[tuple[str, int], PartitionLog] = {}
        """Copies that catch up with a log in another directory, to take its place."""
        self.unfinished_moves: list[tuple[str, int]] = []
        """Of such copies: those that were found when the directory was opened."""
        self.recovery_points: PartitionOffsets = {}
        self.log_starts: PartitionOffsets = {}
        self.high_watermarks: PartitionOffsets = {}

    @property
    def id(self) -> bytes:
        assert self.meta is not None
        assert self.meta.directory_id is not None
        return self.meta.directory_id

    # Beginning

    def open(self, cluster_id: str, node_id: int, rng: Rng, now_ms: int) -> None:
        self._disk.make_dirs(self.path)
        self._lock = self._disk.lock(f"{self.path}/{LOCK_FILE}")
        self.meta = self._check_owner(cluster_id, node_id, rng, now_ms)
        self.recovery_points = self._read_offsets(RECOVERY_POINT_FILE)
        self.log_starts = self._read_offsets(LOG_START_FILE)
        self.high_watermarks = self._read_offsets(HIGH_WATERMARK_FILE)
        self._stored = {*self.recovery_points, *self.log_starts}
        self._take_clean_shutdown()

    def _check_owner(self, cluster_id: str, node_id: int, rng: Rng, now_ms: int) -> MetaProperties:
        path = f"{self.path}/{META_PROPERTIES_FILE}"
        data = self._disk.read(path)
        found = None if data is None else MetaProperties.decode(data)
        if found is not None and (found.cluster_id, found.node_id) != (cluster_id, node_id):
            raise ForeignDirectory(
                f"{self.path} belongs to node {found.node_id} of cluster {found.cluster_id}, "
                f"not to node {node_id} of cluster {cluster_id}"
            )
        if found is not None and found.directory_id is not None:
            return found
        meta = MetaProperties(cluster_id, node_id, new_directory_id(rng))
        self._disk.replace(path, meta.encode(now_ms))
        return meta

    def _read_offsets(self, name: str) -> PartitionOffsets:
        data = self._disk.read(f"{self.path}/{name}")
        if data is None:
            return {}
        try:
            return decode_offsets(data)
        except CorruptFile:
            return {}  # as if nothing had been noted: more is recovered, nothing is lost

    def _take_clean_shutdown(self) -> None:
        path = f"{self.path}/{CLEAN_SHUTDOWN_FILE}"
        data = self._disk.read(path)
        if data is None:
            return
        self.was_clean = True
        self.broker_epoch = decode_clean_shutdown(data)
        self._disk.remove(path)
        # Were it to come back after a crash, nothing would be recovered.
        self._disk.sync_dir(self.path)

    def partitions(self) -> list[tuple[str, PartitionDirectory]]:
        """(path, what it is) of each partition's directory, those on their way out included."""
        found = []
        for name, size in self._disk.list_dir(self.path):
            parsed = parse_partition_directory(name) if size < 0 else None
            # The quorum's log may lie in the same directory: it has an owner of its own.
            if parsed is not None and parsed.topic != METADATA_TOPIC:
                found.append((f"{self.path}/{name}", parsed))
        return found

    # Remembering

    def forget_name(self, topic: str, partition: int) -> None:
        """A new partition of that name must not inherit an old one's offsets."""
        if (topic, partition) in self._stored:
            self.checkpoint_job().run()

    def checkpoint_job(self, lowered: Mapping[tuple[str, int], int] | None = None) -> CheckpointJob:
        """All checkpoints as they should be now; `lowered` are recovery points about to go back."""
        lowered = lowered or {}
        logs = self.logs.values()
        recovery_points = {
            key: min(log.recovery_point, lowered.get(key, log.recovery_point))
            for key, log in self.logs.items()
        }
        log_starts = {
            (log.topic, log.partition): log.log_start_offset
            for log in logs
            if log.log_start_offset > log.segments[0].base_offset
        }
        self._stored = {*recovery_points, *log_starts}
        return CheckpointJob(
            self._disk,
            [
                self._file(RECOVERY_POINT_FILE, recovery_points),
                self._file(LOG_START_FILE, log_starts),
                self._file(HIGH_WATERMARK_FILE, self._offsets(lambda log: log.high_watermark)),
            ],
        )

    def _offsets(self, offset_of: Callable[[PartitionLog], int]) -> PartitionOffsets:
        return {key: offset_of(log) for key, log in self.logs.items()}

    def _file(self, name: str, offsets: PartitionOffsets) -> tuple[str, bytes]:
        return f"{self.path}/{name}", encode_offsets(offsets)

    # Ending

    def close(self, broker_epoch: int, now_ms: int) -> None:
        """Close the logs, and say that all is well only if all is."""
        for log, job in self.begin_close(list(self.logs.values())):
            if job is not None:
                job.run()
            log.finish_close(job, now_ms)
        self.finish_close(broker_epoch)

    def begin_close(
        self, logs: Sequence[PartitionLog]
    ) -> list[tuple[PartitionLog, FlushJob | None]]:
        """Write what they still have to write.

        The jobs, each of which may run in a thread of its own, make it durable, all but the names
        of new partitions: `finish_close` does that for all of them at once.
        """
        closing = [(log, log.begin_close()) for log in logs]
        for _, job in closing:
            if job is not None and self.path in job.directories:
                job.directories.remove(self.path)
        return closing

    def finish_close(self, broker_epoch: int) -> None:
        """Every log is closed: say that all is well."""
        for log in self.future_logs.values():
            log.go_offline("closed")
        self._disk.sync_dir(self.path)
        self.checkpoint_job().run()
        path = f"{self.path}/{CLEAN_SHUTDOWN_FILE}"
        self._disk.replace(path, encode_clean_shutdown(broker_epoch))
        self.release()

    def fail(self, reason: str) -> list[PartitionLog]:
        """Take the directory offline; the logs that went with it."""
        if not self.is_online:
            return []
        self.is_online = False
        for log in (*self.logs.values(), *self.future_logs.values()):
            log.go_offline(reason)
        self.release()
        return list(self.logs.values())

    def release(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None


def new_directory_id(rng: Rng) -> bytes:
    """Random (UUID version 4), and nothing that would look like an option on a command line."""
    while True:
        drawn = bytearray(rng.randbytes(16))
        drawn[6] = drawn[6] & 0x0F | 0x40
        drawn[8] = drawn[8] & 0x3F | 0x80
        directory_id = bytes(drawn)
        if not uuid_text(directory_id).startswith("-"):
            return directory_id
