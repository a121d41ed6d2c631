"""What the log of a quorum holds: batches that the core does not read, and control records.

Control records take effect when they are appended, not when they are committed (KIP-853), and lose
it when they are truncated.
"""

from dataclasses import dataclass
from typing import TypeAlias

from barnabas_core.ports.disk import Buffer
from barnabas_core.raft.identity import NodeId, ReplicaKey
from barnabas_core.raft.voter import VoterSet


@dataclass(frozen=True, slots=True)
class LeaderChange:
    """The first record of each epoch: only once it is committed does a leader know what is."""

    leader_id: NodeId
    voters: tuple[ReplicaKey, ...]
    granting_voters: tuple[ReplicaKey, ...]


@dataclass(frozen=True, slots=True)
class KRaftVersionChange:
    level: int


@dataclass(frozen=True, slots=True)
class VotersChange:
    voters: VoterSet


Control: TypeAlias = LeaderChange | KRaftVersionChange | VotersChange


@dataclass(frozen=True, slots=True)
class Batch:
    """Records with consecutive offsets, written by one leader: never split."""

    base_offset: int
    epoch: int
    count: int
    payload: Buffer = b""
    controls: tuple[Control, ...] = ()

    @property
    def end_offset(self) -> int:
        return self.base_offset + self.count

    @property
    def size_bytes(self) -> int:
        return len(self.payload)
