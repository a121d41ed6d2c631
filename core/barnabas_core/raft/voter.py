"""The voters of a quorum: an immutable set, in the order of their node ids."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from barnabas_core.raft.identity import KRAFT_VERSIONS, Endpoint, NodeId, ReplicaKey, VersionRange


@dataclass(frozen=True, slots=True)
class Voter:
    key: ReplicaKey
    endpoints: tuple[Endpoint, ...] = ()
    kraft_versions: VersionRange = KRAFT_VERSIONS

    @property
    def node_id(self) -> NodeId:
        return self.key.node_id

    def is_replica(self, key: ReplicaKey) -> bool:
        """A voter without a directory id is known by its node id alone."""
        if self.key.has_directory:
            return self.key == key
        return self.key.node_id == key.node_id


@dataclass(frozen=True, slots=True)
class VoterSet:
    voters: tuple[Voter, ...] = ()

    @classmethod
    def of(cls, voters: Iterable[Voter]) -> "VoterSet":
        ordered = tuple(sorted(voters, key=lambda voter: voter.node_id))
        ids = [voter.node_id for voter in ordered]
        assert len(set(ids)) == len(ids), f"a node votes once: {ids}"
        return cls(ordered)

    def __iter__(self) -> Iterator[Voter]:
        return iter(self.voters)

    def __len__(self) -> int:
        return len(self.voters)

    @property
    def ids(self) -> tuple[NodeId, ...]:
        return tuple(voter.key.node_id for voter in self.voters)

    @property
    def majority(self) -> int:
        return len(self.voters) // 2 + 1

    def get(self, node_id: NodeId) -> Voter | None:
        for voter in self.voters:
            if voter.key.node_id == node_id:
                return voter
        return None

    def find(self, key: ReplicaKey) -> Voter | None:
        """The voter that this replica is, if it is one."""
        voter = self.get(key.node_id)
        return voter if voter is not None and voter.is_replica(key) else None

    def with_voter(self, voter: Voter) -> "VoterSet":
        assert self.get(voter.node_id) is None, f"node {voter.node_id} votes already"
        return VoterSet.of((*self.voters, voter))

    def without(self, voter: Voter) -> "VoterSet":
        assert voter in self.voters, f"node {voter.node_id} does not vote"
        return VoterSet(tuple(other for other in self.voters if other != voter))

    def replacing(self, voter: Voter) -> "VoterSet":
        """The same voters, with what is known of one of them brought up to date."""
        kept = tuple(other for other in self.voters if other.node_id != voter.node_id)
        assert len(kept) == len(self.voters) - 1, f"node {voter.node_id} does not vote"
        return VoterSet.of((*kept, voter))
