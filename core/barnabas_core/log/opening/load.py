"""Opening a partition's directory that was closed properly, or put in order by recovery.

As few system calls as possible: one listing gives names and sizes; partition.metadata is read for
the topic id, and of the active segment the last index entry and the batches after it, which tell
where the log ends. Everything else waits until somebody asks. What does not fit is a `CorruptLog`:
then recovery must go over it.
"""

from dataclasses import dataclass, field

from barnabas_core.log.directories.checkpoint import CorruptFile
from barnabas_core.log.directories.directory_meta import PARTITION_METADATA_FILE, PartitionMetadata
from barnabas_core.log.error import CorruptLog
from barnabas_core.log.index import offset_index, time_index
from barnabas_core.log.index.active_index import ActiveIndex
from barnabas_core.log.opening.loaded_log import LoadedLog
from barnabas_core.log.producers.producer_tracker import EMPTY_SNAPSHOT_BYTES
from barnabas_core.log.segments.file_name import (
    CLEANED,
    DELETED,
    LOG,
    OFFSET_INDEX,
    PRODUCER_SNAPSHOT,
    SWAP,
    TIME_INDEX,
    TRANSACTION_INDEX,
    parse_file_name,
)
from barnabas_core.log.segments.scan import scan_headers
from barnabas_core.log.segments.segment import Segment
from barnabas_core.ports import Disk
from barnabas_core.wire.primitive import ZERO_UUID

_LEFTOVERS = (CLEANED, SWAP, DELETED)


@dataclass(slots=True)
class PartitionFiles:
    """A partition's directory, sorted: base or snapshot offset to size, by kind of file."""

    sizes: dict[str, dict[int, int]] = field(default_factory=dict)
    has_metadata: bool = False
    has_leftovers: bool = False

    def of(self, suffix: str) -> dict[int, int]:
        return self.sizes.get(suffix, {})


def list_partition(disk: Disk, dir_path: str) -> PartitionFiles:
    found = PartitionFiles()
    for name, size in disk.list_dir(dir_path):
        parsed = parse_file_name(name)
        if parsed is not None:
            offset, suffix = parsed
            if suffix.endswith(_LEFTOVERS):
                found.has_leftovers = True
            else:
                found.sizes.setdefault(suffix, {})[offset] = size
        elif name == PARTITION_METADATA_FILE:
            found.has_metadata = True
    return found


def load_partition(disk: Disk, dir_path: str, topic: str, partition: int) -> LoadedLog:
    """Offsets other than the log's first and last are for the caller to put in."""
    found = list_partition(disk, dir_path)
    if found.has_leftovers:
        raise CorruptLog(f"{dir_path}: files of an unfinished replacement or deletion")
    segments = _segments(found, dir_path)
    end_offset = _end_offset(disk, segments[-1], found)
    snapshots = {at: size for at, size in found.of(PRODUCER_SNAPSHOT).items() if at <= end_offset}
    return LoadedLog(
        topic=topic,
        partition=partition,
        topic_id=read_topic_id(disk, dir_path) if found.has_metadata else ZERO_UUID,
        dir_path=dir_path,
        segments=segments,
        log_end_offset=end_offset,
        snapshot_offsets=sorted(snapshots),
        has_producers=_has_producers(snapshots, end_offset),
        log_start_offset=segments[0].base_offset,
        recovery_point=end_offset,
        high_watermark=segments[0].base_offset,
    )


def _segments(found: PartitionFiles, dir_path: str) -> list[Segment]:
    segments = []
    for base_offset, size in sorted(found.of(LOG).items()):
        _check_index_sizes(found, dir_path, base_offset)
        segment = Segment(dir_path, base_offset, size_bytes=size)
        segment.has_aborted = found.of(TRANSACTION_INDEX).get(base_offset, 0) > 0
        segments.append(segment)
    if not segments:
        raise CorruptLog(f"{dir_path}: no segment")
    return segments


def _check_index_sizes(found: PartitionFiles, dir_path: str, base_offset: int) -> None:
    index_bytes = found.of(OFFSET_INDEX).get(base_offset, -1)
    times_bytes = found.of(TIME_INDEX).get(base_offset, -1)
    if index_bytes < 0 or index_bytes % offset_index.ENTRY_BYTES:
        raise CorruptLog(f"{dir_path}: the offset index of {base_offset} is missing or cut")
    if times_bytes < 0 or times_bytes % time_index.ENTRY_BYTES:
        raise CorruptLog(f"{dir_path}: the time index of {base_offset} is missing or cut")


def _end_offset(disk: Disk, segment: Segment, found: PartitionFiles) -> int:
    """Where the last batch ends: the last index entry is near, the rest is read."""
    if not segment.size_bytes:
        return segment.base_offset
    index_bytes = found.of(OFFSET_INDEX)[segment.base_offset]
    position = _last_indexed_position(disk, segment, index_bytes)
    file = disk.open(segment.path(LOG), read_only=True)
    end_offset = -1
    for batch in scan_headers(file.read_at, position, segment.size_bytes):
        end_offset = batch.header.next_offset
        position = batch.end_position
    file.close()
    if position != segment.size_bytes or end_offset <= segment.base_offset:
        raise CorruptLog(f"{segment.path(LOG)}: no whole batch at byte {position}")
    return end_offset


def _last_indexed_position(disk: Disk, segment: Segment, index_bytes: int) -> int:
    if not index_bytes:
        return 0
    path = segment.path(OFFSET_INDEX)
    file = disk.open(path, read_only=True)
    entry = file.read_at(index_bytes - offset_index.ENTRY_BYTES, offset_index.ENTRY_BYTES)
    file.close()
    if not offset_index.is_sound(entry, segment.size_bytes):
        raise CorruptLog(f"{path}: the last entry points nowhere")
    return offset_index.lookup_position(entry, segment.base_offset, 2**63 - 1)


def _has_producers(snapshots: dict[int, int], end_offset: int) -> bool:
    """A log without any snapshot never had a producer, or Kafka would have written one."""
    if not snapshots:
        return False
    newest = max(snapshots)
    return newest != end_offset or snapshots[newest] != EMPTY_SNAPSHOT_BYTES


def read_topic_id(disk: Disk, dir_path: str) -> bytes:
    data = disk.read(f"{dir_path}/{PARTITION_METADATA_FILE}")
    if data is None:
        return ZERO_UUID
    try:
        return PartitionMetadata.decode(data).topic_id
    except CorruptFile:
        return ZERO_UUID


def create_partition(
    disk: Disk, dir_path: str, topic: str, partition: int, topic_id: bytes, now_ms: int
) -> LoadedLog:
    """A new, empty log; the directory must not exist."""
    disk.make_dirs(dir_path)
    segment = Segment(dir_path, 0, created_at_ms=now_ms)
    segment.active = ActiveIndex(0)
    disk.open(segment.path(LOG), create=True).close()
    if topic_id != ZERO_UUID:
        path = f"{dir_path}/{PARTITION_METADATA_FILE}"
        disk.replace(path, PartitionMetadata(topic_id).encode())
    return LoadedLog(
        topic, partition, topic_id, dir_path, [segment], 0, has_new_names=True, is_new=True
    )
