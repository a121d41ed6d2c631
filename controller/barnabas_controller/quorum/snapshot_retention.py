"""Which snapshots may go, and with them the records before the next one: decisions only.

As Kafka does it: the oldest goes while log and snapshots take more than `metadata.max.retention.
bytes`, or when the newest record in it is older than `metadata.max.retention.ms`; the last stays.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from barnabas_controller.quorum.checkpoint_store import StoredSnapshot
from barnabas_core.raft import SnapshotId


@dataclass(frozen=True, slots=True)
class RetentionLimits:
    retention_bytes: int
    retention_ms: int


@dataclass(frozen=True, slots=True)
class SegmentSize:
    end_offset: int
    """0 for the active one, which stays."""
    size_bytes: int


def plan_log_start(
    snapshots: Sequence[StoredSnapshot],
    segments: Sequence[SegmentSize],
    limits: RetentionLimits,
    now_ms: int,
) -> SnapshotId | None:
    """The snapshot that the log should start at; None if it may stay as it is."""
    start: SnapshotId | None = None
    for index, snapshot in enumerate(snapshots[:-1]):
        offset = snapshot.id.end_offset
        log_bytes = sum([one.size_bytes for one in segments if not 0 < one.end_offset <= offset])
        total_bytes = log_bytes + sum([one.size_bytes for one in snapshots[index:]])
        is_too_large = 0 <= limits.retention_bytes < total_bytes
        age_ms = now_ms - snapshot.last_appended_at_ms
        if not is_too_large and not 0 <= limits.retention_ms < age_ms:
            break
        start = snapshots[index + 1].id
    return start
