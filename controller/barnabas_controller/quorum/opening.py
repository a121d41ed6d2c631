"""Opening a metadata directory: Kafka's layout, whatever crash came before.

`__cluster_metadata-0` in it holds segments, indexes and epochs like any partition, and besides the
snapshots (`.checkpoint`) and `quorum-state`. As in Kafka nothing tells how far the log was synced,
so all of it is read and cut before the first batch that is not whole. A snapshot that is newer than
the log replaces it: the crash came between the two steps of loading one from the leader.

What is found is synced before anybody counts on it: it may have been in the page cache only.
"""

from dataclasses import dataclass

from barnabas_controller.quorum.checkpoint_store import CheckpointStore, StoredSnapshot
from barnabas_controller.quorum.quorum_config import QuorumConfig
from barnabas_core.log.environment import LogEnvironment
from barnabas_core.log.error import CorruptLog
from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.opening.load import create_partition, list_partition, load_partition
from barnabas_core.log.opening.loaded_log import LoadedLog
from barnabas_core.log.opening.recovery import RecoverySettings, recover_partition
from barnabas_core.log.partition_log import PartitionLog
from barnabas_core.log.segments.file_name import LOG, partition_directory
from barnabas_core.ports import Disk, Rng
from barnabas_core.raft import HardState
from barnabas_core.raft.quorum_state import QUORUM_STATE_FILE, decode_quorum_state
from barnabas_core.raft.wire_request import PARTITION, TOPIC, TOPIC_ID


@dataclass(slots=True)
class OpenedLog:
    partition_log: PartitionLog
    store: CheckpointStore
    snapshots: list[StoredSnapshot]
    start_offset: int
    hard_state: HardState | None


def metadata_path(config: QuorumConfig) -> str:
    return f"{config.metadata_dir}/{partition_directory(TOPIC, PARTITION)}"


def open_metadata(disk: Disk, rng: Rng, config: QuorumConfig, now_ms: int) -> OpenedLog:
    """Blocks, for as long as it takes to read the log."""
    path = metadata_path(config)
    disk.make_dirs(path)
    store = CheckpointStore(disk, path)
    snapshots = store.load()
    log_config = LogConfig(
        segment_bytes=config.segment_bytes,
        segment_ms=config.segment_ms,
        file_delete_delay_ms=config.file_delete_delay_ms,
        cleanup_delete=False,
    )
    loaded = _load(disk, path, log_config, now_ms)
    log = PartitionLog(LogEnvironment(disk, rng), loaded, log_config, now_ms)
    if snapshots and _is_newer(snapshots[-1], log):
        log.truncate_fully_and_start_at(snapshots[-1].id.end_offset, now_ms)
    log.flush(now_ms)
    start_offset = _start_offset(log, snapshots)
    if start_offset > log.log_start_offset:
        log.advance_high_watermark(start_offset)
        log.advance_log_start(start_offset)
    stored = disk.read(f"{path}/{QUORUM_STATE_FILE}")
    hard_state = None if stored is None else decode_quorum_state(stored)
    kept = [one for one in snapshots if one.id.end_offset >= start_offset]
    return OpenedLog(log, store, kept, start_offset, hard_state)


def _load(disk: Disk, path: str, config: LogConfig, now_ms: int) -> LoadedLog:
    if not list_partition(disk, path).of(LOG):
        return create_partition(disk, path, TOPIC, PARTITION, TOPIC_ID, now_ms)
    recover_partition(disk, path, config, RecoverySettings(0, 0, now_ms, 0))
    loaded = load_partition(disk, path, TOPIC, PARTITION)
    loaded.recovery_point = 0
    loaded.has_new_names = loaded.is_new = True
    return loaded


def _is_newer(snapshot: StoredSnapshot, log: PartitionLog) -> bool:
    last_epoch = max(log.epochs.latest_epoch, 0)
    return (snapshot.id.epoch, snapshot.id.end_offset) > (last_epoch, log.log_end_offset)


def _start_offset(log: PartitionLog, snapshots: list[StoredSnapshot]) -> int:
    """0, or the end of a snapshot that stands for what the first segment no longer has."""
    base_offset = log.segments[0].base_offset
    if base_offset == 0:
        return 0
    for snapshot in snapshots:
        if snapshot.id.end_offset >= base_offset:
            return snapshot.id.end_offset
    raise CorruptLog(f"{log.dir_path} starts at {base_offset}, and no snapshot reaches that far")
