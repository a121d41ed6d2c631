"""What DescribeQuorum shows of a quorum, as its leader knows it (KIP-595, KIP-836)."""

from dataclasses import dataclass, replace

from barnabas_core.raft.identity import NodeId, ReplicaKey
from barnabas_core.raft.leader import Leader
from barnabas_core.raft.progress import NEVER_MS, Progress
from barnabas_core.raft.quorum import Quorum

UNKNOWN_OFFSET = -1


@dataclass(frozen=True, slots=True)
class ReplicaStatus:
    """Times are on the clock that the node is ticked with; -1 if there was no such moment."""

    replica: ReplicaKey
    end_offset: int
    last_fetch_at_ms: int
    last_caught_up_at_ms: int

    def shifted(self, ahead_ms: int) -> "ReplicaStatus":
        """The same moments, on a clock that is ahead by that much."""
        fetch_at_ms, caught_up_at_ms = self.last_fetch_at_ms, self.last_caught_up_at_ms
        return ReplicaStatus(
            self.replica,
            self.end_offset,
            fetch_at_ms if fetch_at_ms == NEVER_MS else fetch_at_ms + ahead_ms,
            caught_up_at_ms if caught_up_at_ms == NEVER_MS else caught_up_at_ms + ahead_ms,
        )


@dataclass(frozen=True, slots=True)
class QuorumDescription:
    leader_id: NodeId
    epoch: int
    high_watermark: int
    voters: tuple[ReplicaStatus, ...]
    observers: tuple[ReplicaStatus, ...]

    def shifted(self, ahead_ms: int) -> "QuorumDescription":
        return replace(
            self,
            voters=tuple([one.shifted(ahead_ms) for one in self.voters]),
            observers=tuple([one.shifted(ahead_ms) for one in self.observers]),
        )


def describe(quorum: Quorum) -> QuorumDescription | None:
    """None unless this node leads."""
    leader = quorum.leader
    if leader is None:
        return None
    voter_set = quorum.history.voters
    observers = [
        _status(progress.replica, progress)
        for progress in leader.progress
        if voter_set.find(progress.replica) is None
    ]
    return QuorumDescription(
        quorum.local.node_id,
        quorum.epoch,
        quorum.high_watermark if leader.has_committed(quorum) else UNKNOWN_OFFSET,
        _voter_statuses(quorum, leader),
        tuple(sorted(observers, key=lambda status: status.replica)),
    )


def _voter_statuses(quorum: Quorum, leader: Leader) -> tuple[ReplicaStatus, ...]:
    statuses = []
    for voter in quorum.history.voters:
        if quorum.is_local(voter):
            end_offset = quorum.log.end_offset
            statuses.append(ReplicaStatus(voter.key, end_offset, quorum.now_ms, quorum.now_ms))
        else:
            statuses.append(_status(voter.key, leader.progress.of(voter)))
    return tuple(statuses)


def _status(replica: ReplicaKey, progress: Progress | None) -> ReplicaStatus:
    if progress is None:
        return ReplicaStatus(replica, UNKNOWN_OFFSET, NEVER_MS, NEVER_MS)
    return ReplicaStatus(
        replica, progress.end_offset, progress.fetched_at_ms, progress.caught_up_at_ms
    )
