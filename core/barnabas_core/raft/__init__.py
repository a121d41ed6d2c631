"""Kafka's pull-based Raft (KRaft) as a pure state machine."""

from barnabas_core.raft.event import LinkLost, Persisted, Resign, SnapshotTaken
from barnabas_core.raft.identity import CLIENT, NO_DIRECTORY, NodeId, ReplicaKey
from barnabas_core.raft.message import Message
from barnabas_core.raft.node import NodeSetup, NotLeader, RaftNode
from barnabas_core.raft.quorum import LocalReplica, Membership
from barnabas_core.raft.raft_log import RaftLog, SnapshotId, SnapshotInfo
from barnabas_core.raft.ready import HardState, Ready
from barnabas_core.raft.timing import RaftConfig
from barnabas_core.raft.voter import Voter, VoterSet

__all__ = [
    "CLIENT",
    "NO_DIRECTORY",
    "HardState",
    "LinkLost",
    "LocalReplica",
    "Membership",
    "Message",
    "NodeId",
    "NodeSetup",
    "NotLeader",
    "Persisted",
    "RaftConfig",
    "RaftLog",
    "RaftNode",
    "Ready",
    "ReplicaKey",
    "Resign",
    "SnapshotId",
    "SnapshotInfo",
    "SnapshotTaken",
    "Voter",
    "VoterSet",
]
