"""What nodes say to each other: Kafka's quorum requests and answers, free of wire and transport.

Field names are Kafka's where there are any. `epoch` is always the sender's own. An answer repeats
the correlation of its request; one that nobody waits for any more is dropped.
"""

from dataclasses import dataclass
from typing import TypeAlias

from barnabas_core.raft.identity import Endpoint, NodeId, ReplicaKey, VersionRange
from barnabas_core.raft.raft_log import EpochEnd, SnapshotId
from barnabas_core.raft.record import Batch
from barnabas_core.wire.error_code import ErrorCode


@dataclass(frozen=True, slots=True)
class LeaderNews:
    """The newest epoch that the sender knows, and its leader if it knows one."""

    epoch: int
    leader_id: NodeId | None
    endpoints: tuple[Endpoint, ...] = ()


@dataclass(frozen=True, slots=True)
class VoteRequest:
    """KIP-595; `pre_vote` asks what the answer would be, and binds nobody (KIP-996)."""

    correlation: int
    epoch: int
    candidate: ReplicaKey
    voter: ReplicaKey
    last_epoch: int
    end_offset: int
    pre_vote: bool


@dataclass(frozen=True, slots=True)
class VoteResponse:
    correlation: int
    error: ErrorCode
    news: LeaderNews
    granted: bool = False


@dataclass(frozen=True, slots=True)
class BeginQuorumEpochRequest:
    correlation: int
    epoch: int
    leader_id: NodeId
    endpoints: tuple[Endpoint, ...]
    voter: ReplicaKey


@dataclass(frozen=True, slots=True)
class BeginQuorumEpochResponse:
    correlation: int
    error: ErrorCode
    news: LeaderNews


@dataclass(frozen=True, slots=True)
class EndQuorumEpochRequest:
    """The leader lets go; `successors` in the order in which they should stand."""

    correlation: int
    epoch: int
    leader_id: NodeId
    endpoints: tuple[Endpoint, ...]
    successors: tuple[ReplicaKey, ...]


@dataclass(frozen=True, slots=True)
class EndQuorumEpochResponse:
    correlation: int
    error: ErrorCode
    news: LeaderNews


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """`fetch_offset` is also the promise that everything before it is on the sender's disk."""

    correlation: int
    epoch: int
    replica: ReplicaKey
    fetch_offset: int
    last_fetched_epoch: int
    high_watermark: int
    max_wait_ms: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class FetchResponse:
    correlation: int
    error: ErrorCode
    news: LeaderNews
    high_watermark: int = -1
    batches: tuple[Batch, ...] = ()
    diverging: EpochEnd | None = None
    snapshot_id: SnapshotId | None = None


@dataclass(frozen=True, slots=True)
class FetchSnapshotRequest:
    correlation: int
    epoch: int
    replica: ReplicaKey
    snapshot_id: SnapshotId
    position: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class FetchSnapshotResponse:
    correlation: int
    error: ErrorCode
    news: LeaderNews
    snapshot_id: SnapshotId
    position: int = 0
    size_bytes: int = 0
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class AddVoterRequest:
    """`ack_when_committed` false: the answer says that the change is in the log, no more."""

    correlation: int
    voter: ReplicaKey
    endpoints: tuple[Endpoint, ...]
    timeout_ms: int
    ack_when_committed: bool = True


@dataclass(frozen=True, slots=True)
class RemoveVoterRequest:
    correlation: int
    voter: ReplicaKey
    timeout_ms: int


@dataclass(frozen=True, slots=True)
class UpdateVoterRequest:
    correlation: int
    epoch: int
    voter: ReplicaKey
    endpoints: tuple[Endpoint, ...]
    kraft_versions: VersionRange
    timeout_ms: int


@dataclass(frozen=True, slots=True)
class UpgradeVersionRequest:
    """Move the kraft.version feature up: from voters by configuration to voters in the log."""

    correlation: int
    level: int
    timeout_ms: int


@dataclass(frozen=True, slots=True)
class VoterChangeResponse:
    """Answers each of the four requests above."""

    correlation: int
    error: ErrorCode
    news: LeaderNews
    reason: str = ""


@dataclass(frozen=True, slots=True)
class VersionsRequest:
    """What Kafka's leader asks with ApiVersions before it lets a node vote."""

    correlation: int


@dataclass(frozen=True, slots=True)
class VersionsResponse:
    correlation: int
    replica: ReplicaKey
    kraft_versions: VersionRange


VoterRequest: TypeAlias = (
    AddVoterRequest | RemoveVoterRequest | UpdateVoterRequest | UpgradeVersionRequest
)
Request: TypeAlias = (
    VoteRequest
    | BeginQuorumEpochRequest
    | EndQuorumEpochRequest
    | FetchRequest
    | FetchSnapshotRequest
    | VoterRequest
    | VersionsRequest
)
Response: TypeAlias = (
    VoteResponse
    | BeginQuorumEpochResponse
    | EndQuorumEpochResponse
    | FetchResponse
    | FetchSnapshotResponse
    | VoterChangeResponse
    | VersionsResponse
)
Body: TypeAlias = Request | Response


@dataclass(frozen=True, slots=True)
class Message:
    source: NodeId
    target: NodeId
    body: Body
