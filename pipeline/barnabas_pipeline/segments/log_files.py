"""What lies in log directories: partitions, their segments, and how far they may be read.

Nothing here needs the broker that owns a directory, nor stops it. The checkpoints that a broker
writes now and then say what is committed (`replication-offset-checkpoint`) and what was deleted
(`log-start-offset-checkpoint`); they may lag behind, never ahead.

A segment is closed if another one follows, or if its broker was stopped properly. The others are
active: their indexes are not to be trusted, and they are read only if asked for.
"""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from barnabas_core.log.directories.checkpoint import (
    CLEANER_FILE,
    HIGH_WATERMARK_FILE,
    LOG_START_FILE,
    CorruptFile,
    PartitionOffsets,
    decode_offsets,
)
from barnabas_core.log.directories.directory import METADATA_TOPIC
from barnabas_core.log.directories.directory_meta import CLEAN_SHUTDOWN_FILE
from barnabas_core.log.segments.file_name import (
    LOG,
    PRODUCER_SNAPSHOT,
    DirectoryState,
    PartitionDirectory,
    file_name,
    parse_file_name,
    parse_partition_directory,
)
from barnabas_core.ports import Disk
from barnabas_pipeline.pipeline_error import PipelineError

NO_END: Final = 2**63 - 1


class UnreadableDirectory(PipelineError):
    """The path holds no partitions, or nothing that says how far they may be read."""


@dataclass(frozen=True, slots=True)
class SegmentFile:
    base_offset: int
    next_base_offset: int
    """Of the segment that follows; `NO_END` for the last one."""
    size_bytes: int
    is_closed: bool


@dataclass(frozen=True, slots=True)
class PartitionFiles:
    topic: str
    partition: int
    path: str
    segments: tuple[SegmentFile, ...]
    snapshot_offsets: tuple[int, ...]
    log_start_offset: int
    high_watermark: int
    cleaned_up_to: int
    """Compaction may have taken records before this offset."""

    def file(self, base_offset: int, suffix: str) -> str:
        return f"{self.path}/{file_name(base_offset, suffix)}"


def find_partitions(
    disk: Disk, paths: Sequence[str], topics: AbstractSet[str] | None = None
) -> list[PartitionFiles]:
    """The partitions in log directories, or single partition directories, sorted.

    Of several replicas, in directories of several brokers, the one that reaches furthest is taken.
    A topic of `topics` that is not there is an error, as it is for the Kafka source.
    """
    best: dict[tuple[str, int], PartitionFiles] = {}
    for path in paths:
        for found in _find_in(disk, path.rstrip("/")):
            key = found.topic, found.partition
            if key not in best or found.high_watermark > best[key].high_watermark:
                best[key] = found
    if not best:
        raise UnreadableDirectory(f"{', '.join(paths)}: no partition's directory is in there")
    missing = sorted((topics or set()) - {topic for topic, _ in best})
    if missing:
        raise UnreadableDirectory(f"{', '.join(paths)}: no partition of topic {missing[0]!r}")
    return [best[key] for key in sorted(best) if topics is None or key[0] in topics]


def _find_in(disk: Disk, path: str) -> Iterable[PartitionFiles]:
    parent, _, name = path.rpartition("/")
    itself = parse_partition_directory(name)
    if itself is not None and any(parse_file_name(it) for it, _ in disk.list_dir(path)):
        yield _LogDirectory(disk, parent).partition(path, itself)
        return
    directory = _LogDirectory(disk, path)
    for name, size in disk.list_dir(path):
        parsed = parse_partition_directory(name) if size < 0 else None
        if parsed is None or parsed.state is not DirectoryState.CURRENT:
            continue
        # The quorum's log has no high watermark in the checkpoint.
        if parsed.topic != METADATA_TOPIC:
            yield directory.partition(f"{path}/{name}", parsed)


class _LogDirectory:
    """The files that speak of all partitions in one log directory."""

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self._path = path
        high_watermarks = self._offsets(HIGH_WATERMARK_FILE)
        if high_watermarks is None:
            raise UnreadableDirectory(
                f"{path}: there is no {HIGH_WATERMARK_FILE}, which says what is committed; copy it "
                "along with the partitions"
            )
        self._high_watermarks = high_watermarks
        self._log_starts = self._offsets(LOG_START_FILE) or {}
        self._cleaned = self._offsets(CLEANER_FILE) or {}
        self._is_stopped = disk.size_of(f"{path}/{CLEAN_SHUTDOWN_FILE}") is not None

    def _offsets(self, name: str) -> PartitionOffsets | None:
        data = self._disk.read(f"{self._path}/{name}")
        try:
            return None if data is None else decode_offsets(data)
        except CorruptFile as error:
            raise UnreadableDirectory(f"{self._path}/{name}: {error}") from error

    def partition(self, path: str, parsed: PartitionDirectory) -> PartitionFiles:
        key = parsed.topic, parsed.partition
        sizes, snapshots = _list_files(self._disk, path)
        first = min(sizes, default=0)
        return PartitionFiles(
            *key,
            path,
            _segments(sizes, is_stopped=self._is_stopped),
            tuple(sorted(snapshots)),
            log_start_offset=max(self._log_starts.get(key, 0), first),
            high_watermark=self._high_watermarks.get(key, 0),
            cleaned_up_to=self._cleaned.get(key, 0),
        )


def _list_files(disk: Disk, path: str) -> tuple[dict[int, int], list[int]]:
    """The sizes of segments, and the offsets of producer snapshots."""
    sizes: dict[int, int] = {}
    snapshots: list[int] = []
    for name, size in disk.list_dir(path):
        parsed = parse_file_name(name)
        if parsed is not None and parsed[1] == LOG:
            sizes[parsed[0]] = size
        elif parsed is not None and parsed[1] == PRODUCER_SNAPSHOT:
            snapshots.append(parsed[0])
    return sizes, snapshots


def _segments(sizes: dict[int, int], *, is_stopped: bool) -> tuple[SegmentFile, ...]:
    bases = sorted(sizes)
    ends = [*bases[1:], NO_END]
    return tuple(
        SegmentFile(base, end, sizes[base], is_stopped or end != NO_END)
        for base, end in zip(bases, ends, strict=False)
    )
