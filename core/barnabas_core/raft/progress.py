"""How far each replica is, as its leader knows from the fetches: high watermark, check-quorum.

A fetch at an offset says that everything before it is on the replica's disk (KIP-595).
"""

from collections.abc import Iterator

from barnabas_core.raft.identity import NodeId, ReplicaKey
from barnabas_core.raft.voter import Voter, VoterSet

NEVER_MS = -1


class Progress:
    __slots__ = (
        "caught_up_at_ms",
        "end_offset",
        "fetched_at_ms",
        "leader_end_at_fetch",
        "replica",
    )

    def __init__(self, replica: ReplicaKey) -> None:
        self.replica = replica
        self.end_offset = 0
        self.fetched_at_ms = NEVER_MS
        self.caught_up_at_ms = NEVER_MS
        self.leader_end_at_fetch = 0

    def on_fetch(self, offset: int, leader_end: int, now_ms: int) -> None:
        if offset >= leader_end:
            self.caught_up_at_ms = now_ms
        elif self.fetched_at_ms != NEVER_MS and offset >= self.leader_end_at_fetch:
            # It has all that there was when it last asked: it keeps up, if always a little behind.
            self.caught_up_at_ms = max(self.caught_up_at_ms, self.fetched_at_ms)
        self.end_offset = offset
        self.fetched_at_ms = now_ms
        self.leader_end_at_fetch = leader_end


class ProgressTable:
    __slots__ = ("_heard", "_quorum_seen_at_ms", "_replicas", "fetch_count")

    def __init__(self, now_ms: int) -> None:
        self._replicas: dict[ReplicaKey, Progress] = {}
        self._heard: dict[NodeId, None] = {}
        self._quorum_seen_at_ms = now_ms
        self.fetch_count = 0

    def __iter__(self) -> Iterator[Progress]:
        return iter(self._replicas.values())

    def of(self, voter: Voter) -> Progress | None:
        """What is known of a voter; by node id alone if that is how it is known."""
        if voter.key.has_directory:
            return self._replicas.get(voter.key)
        of_node = [one for one in self if one.replica.node_id == voter.node_id]
        return max(of_node, key=lambda one: one.fetched_at_ms, default=None)

    def get(self, replica: ReplicaKey) -> Progress | None:
        return self._replicas.get(replica)

    def on_fetch(self, replica: ReplicaKey, offset: int, leader_end: int, now_ms: int) -> None:
        progress = self._replicas.get(replica)
        if progress is None:
            progress = self._replicas[replica] = Progress(replica)
        progress.on_fetch(offset, leader_end, now_ms)
        self.fetch_count += 1

    def forget_silent(self, since_ms: int, voters: VoterSet) -> None:
        silent = [one.replica for one in self if one.fetched_at_ms < since_ms]
        for replica in silent:
            if voters.find(replica) is None:
                del self._replicas[replica]

    def majority_end(self, voters: VoterSet, local: ReplicaKey, local_end: int) -> int:
        """The offset that a majority of the voters has on disk."""
        ends = []
        for voter in voters:
            if voter.is_replica(local):
                ends.append(local_end)
                continue
            progress = self.of(voter)
            ends.append(0 if progress is None else progress.end_offset)
        ends.sort(reverse=True)
        return ends[voters.majority - 1]

    def on_heard(self, voter: Voter, voters: VoterSet, local: ReplicaKey, now_ms: int) -> None:
        """Check-quorum: start the clock again once a majority, with ourselves, has fetched."""
        self._heard[voter.node_id] = None
        # A voter that was removed since it fetched no longer counts.
        heard = sum(voters.get(node_id) is not None for node_id in self._heard)
        if heard >= others_needed(voters, local):
            self.on_majority(now_ms)

    def on_majority(self, now_ms: int) -> None:
        self._heard.clear()
        self._quorum_seen_at_ms = now_ms

    @property
    def quorum_seen_at_ms(self) -> int:
        return self._quorum_seen_at_ms


def others_needed(voters: VoterSet, local: ReplicaKey) -> int:
    """How many voters besides ourselves make a majority."""
    return voters.majority - (voters.find(local) is not None)
