"""What the driver tells its node besides messages and ticks."""

from dataclasses import dataclass
from typing import TypeAlias

from barnabas_core.raft.identity import NodeId
from barnabas_core.raft.message import Message
from barnabas_core.raft.raft_log import SnapshotId


@dataclass(frozen=True, slots=True)
class Persisted:
    """The writes of this `Ready`, and of all before it, survive a crash."""

    sequence: int


@dataclass(frozen=True, slots=True)
class LinkLost:
    """A stream to this node broke: what was asked over it gets no answer."""

    node_id: NodeId


@dataclass(frozen=True, slots=True)
class SnapshotTaken:
    """The state machine's snapshot is whole and durable: the log before it may go."""

    snapshot_id: SnapshotId


@dataclass(frozen=True, slots=True)
class Resign:
    """Hand leadership over if this node has it (shutdown, a failed state machine)."""

    epoch: int


Event: TypeAlias = Message | Persisted | LinkLost | SnapshotTaken | Resign
