"""What a quorum driver is told at start: who this node is, where its peers are, how long to wait.

Names in brackets are Kafka's properties.
"""

from dataclasses import dataclass, field

from barnabas_core.ports.link import Address
from barnabas_core.raft import RaftConfig, VoterSet
from barnabas_core.raft.identity import Endpoint
from barnabas_core.raft.internal_address import INTERNAL_PORT_OFFSET

_DAY_MS = 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumConfig:
    node_id: int
    cluster_id: str
    metadata_dir: str
    """`metadata.log.dir`: the metadata log is `__cluster_metadata-0` in it."""
    directory_id: bytes
    endpoints: tuple[Endpoint, ...]
    """Of this node, as its voters record should say: CONTROLLER first, INTERNAL too if it has one
    of its own."""
    static_voters: VoterSet | None = None
    """`controller.quorum.voters`."""
    bootstrap_servers: tuple[Address, ...] = ()
    """`controller.quorum.bootstrap.servers`: addresses of CONTROLLER listeners."""
    raft: RaftConfig = field(default_factory=RaftConfig)
    internal_port_offset: int = INTERNAL_PORT_OFFSET
    """Where a voter names no INTERNAL endpoint: that much above the port of its first."""
    segment_bytes: int = 1 << 30
    """`metadata.log.segment.bytes`."""
    segment_ms: int = 7 * _DAY_MS
    """`metadata.log.segment.ms`."""
    snapshot_bytes: int = 20 << 20
    """`metadata.log.max.record.bytes.between.snapshots`."""
    snapshot_interval_ms: int = 60 * 60 * 1000
    """`metadata.log.max.snapshot.interval.ms`; 0: by size alone."""
    retention_bytes: int = 100 << 20
    """`metadata.max.retention.bytes`; -1: without bound."""
    retention_ms: int = 7 * _DAY_MS
    """`metadata.max.retention.ms`; -1: without bound."""
    batch_bytes_max: int = 8 << 20
    """No batch of the metadata log is larger, as in Kafka."""
    file_delete_delay_ms: int = 60_000
