"""The node's view of its quorum: hard state, current state, and the only ways from one to another.

Everything a state or a handler may touch is here: the log with its voters, the outbox, the
requests under way, and the time of the last tick.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from barnabas_core.ports.rng import Rng
from barnabas_core.raft.candidate import Candidate
from barnabas_core.raft.election import Election
from barnabas_core.raft.follower import Follower
from barnabas_core.raft.identity import KRAFT_VERSIONS, Endpoint, NodeId, ReplicaKey, VersionRange
from barnabas_core.raft.leader import Leader
from barnabas_core.raft.message import Body, LeaderNews, Message
from barnabas_core.raft.prospective import Prospective
from barnabas_core.raft.raft_log import RaftLog, SnapshotId
from barnabas_core.raft.ready import Append, HardState, InstallSnapshot, Outbox, Truncate
from barnabas_core.raft.record import (
    Batch,
    Control,
    KRaftVersionChange,
    LeaderChange,
    VotersChange,
)
from barnabas_core.raft.request_tracker import Kind, RequestTracker
from barnabas_core.raft.resigned import Resigned
from barnabas_core.raft.state import State
from barnabas_core.raft.timing import RaftConfig
from barnabas_core.raft.unattached import Unattached
from barnabas_core.raft.voter import Voter, VoterSet
from barnabas_core.raft.voter_history import VoterHistory
from barnabas_core.raft.voter_upkeep import VoterUpkeep


@dataclass(frozen=True, slots=True)
class LocalReplica:
    """This node, as it would be recorded among the voters. A broker observes: it cannot vote."""

    key: ReplicaKey
    endpoints: tuple[Endpoint, ...] = ()
    kraft_versions: VersionRange = KRAFT_VERSIONS
    can_vote: bool = True

    @property
    def node_id(self) -> NodeId:
        return self.key.node_id

    @property
    def voter(self) -> Voter:
        return Voter(self.key, self.endpoints, self.kraft_versions)


@dataclass(frozen=True, slots=True)
class Membership:
    """How a node finds its quorum before its log tells it: either may be empty."""

    static_voters: VoterSet | None = None
    """`controller.quorum.voters`."""
    bootstrap_servers: tuple[NodeId, ...] = ()
    """`controller.quorum.bootstrap.servers`, under ids that the driver knows (Kafka: negative)."""


class Quorum:
    def __init__(
        self,
        local: LocalReplica,
        config: RaftConfig,
        log: RaftLog,
        membership: Membership,
        rng: Rng,
        now_ms: int,
    ) -> None:
        self.local = local
        self.config = config
        self.log = log
        self.rng = rng
        self.now_ms = now_ms
        self.bootstrap_servers = membership.bootstrap_servers
        self.history = VoterHistory(membership.static_voters)
        self.history.load(log)
        self.outbox = Outbox(log.end_offset)
        self.requests = RequestTracker(
            config.request_timeout_ms, config.retry_backoff_ms, rng.randrange(1 << 30)
        )
        snapshot = log.snapshot()
        self.high_watermark = 0 if snapshot is None else snapshot.id.end_offset
        self.snapshot_to_load: SnapshotId | None = None
        self.leader_endpoints: tuple[Endpoint, ...] = ()
        self.is_voter = self._find_is_voter()
        self.hard = HardState()
        self.state: State = Unattached(now_ms)

    def start(self, stored: HardState | None) -> None:
        """Go on where the last process of this node stopped."""
        hard = stored or HardState()
        self.hard = hard
        if self.log.last_epoch > hard.epoch:
            # The log was flushed before the quorum-state: its epoch was seen, a vote never given.
            self._set_hard(HardState(self.log.last_epoch))
        leader_id = self.hard.leader_id
        if leader_id == self.local.node_id:
            self._enter(self._new_resigned(()))
        elif leader_id is not None:
            self._enter(self._new_follower(leader_id))
        else:
            self._enter(Unattached(self._first_election_at_ms()))

    # --- what states and handlers ask

    @property
    def epoch(self) -> int:
        return self.hard.epoch

    @property
    def leader(self) -> Leader | None:
        return self.state if isinstance(self.state, Leader) else None

    def is_local(self, voter: Voter) -> bool:
        return voter.is_replica(self.local.key)

    def _find_is_voter(self) -> bool:
        return self.local.can_vote and self.history.voters.find(self.local.key) is not None

    @property
    def may_stand(self) -> bool:
        """A voter; or one whose removal is in its log but perhaps in no other.

        Of two voters, one that has just appended its own removal has the longer log: the other
        cannot win without it, and nobody could if it did not stand (Raft thesis, 4.2.2).
        """
        if self.is_voter:
            return True
        if not self.local.can_vote:
            return False
        return self.history.is_removed_since(self.local.key, self.high_watermark)

    def news(self) -> LeaderNews:
        """What this node tells others of the leader. One that resigned still names itself."""
        leader_id = self.hard.leader_id
        if leader_id == self.local.node_id:
            return LeaderNews(self.epoch, leader_id, self.local.endpoints)
        return LeaderNews(self.epoch, leader_id, self.leader_endpoints)

    def can_ask(self, target: NodeId, kind: Kind) -> bool:
        return target != self.local.node_id and self.requests.is_idle(target, kind, self.now_ms)

    def send(self, target: NodeId, body: Body) -> None:
        self.outbox.send(Message(self.local.node_id, target, body))

    # --- the log

    def append_as_leader(
        self, payloads: Sequence[tuple[bytes, int]], controls: tuple[Control, ...] = ()
    ) -> int:
        """Append batches of the leader's epoch; the offset after the last of them."""
        offset = self.log.end_offset
        batches = []
        for payload, count in payloads:
            batches.append(Batch(offset, self.epoch, count, payload))
            offset += count
        if controls:
            batches.append(Batch(offset, self.epoch, len(controls), b"", controls))
        self.append(tuple(batches))
        return self.log.end_offset

    def append(self, batches: tuple[Batch, ...]) -> None:
        self.log.append(batches)
        self.outbox.put_write(Append(batches), self.log.end_offset)
        if any(batch.controls for batch in batches):
            for batch in batches:
                self.history.replay(batch)
            self.is_voter = self._find_is_voter()

    def truncate(self, end_offset: int) -> None:
        assert not isinstance(self.state, Leader), "a leader never truncates its log"
        assert end_offset >= self.high_watermark, (
            f"truncating to {end_offset} would lose what is committed up to {self.high_watermark}"
        )
        self.log.truncate(end_offset)
        self.outbox.put_write(Truncate(end_offset), end_offset)
        self.history.truncate(end_offset)
        self.is_voter = self._find_is_voter()

    def install_snapshot(self, snapshot_id: SnapshotId) -> None:
        assert not isinstance(self.state, Leader), "a leader never loads a snapshot"
        snapshot = self.log.install_snapshot(snapshot_id)
        self.outbox.put_write(InstallSnapshot(snapshot_id), self.log.end_offset)
        self.history.reset(snapshot)
        self.is_voter = self._find_is_voter()
        self.snapshot_to_load = snapshot_id
        self.advance_high_watermark(snapshot_id.end_offset)

    def advance_high_watermark(self, offset: int) -> None:
        if offset > self.high_watermark:
            assert offset <= self.log.end_offset, "committed beyond the end of the log"
            self.high_watermark = offset

    # --- transitions

    def absorb(self, news: LeaderNews) -> bool:
        """Follow what a peer knows of the leader; True if that changed the state."""
        leader_id = None if news.leader_id == self.local.node_id else news.leader_id
        if news.epoch > self.epoch:
            if leader_id is None:
                self.become_unattached(news.epoch)
            else:
                self.become_follower(news.epoch, leader_id, news.endpoints)
            return True
        if news.epoch < self.epoch or leader_id is None:
            return False
        if self.hard.leader_id is None:
            self.become_follower(news.epoch, leader_id, news.endpoints)
            return True
        assert self.hard.leader_id == leader_id, (
            f"epoch {news.epoch} has two leaders: {self.hard.leader_id} and {leader_id}"
        )
        return False

    def become_unattached(self, epoch: int, *, fresh_deadline: bool = False) -> None:
        deadline_ms = self.state.election_deadline_ms()
        if deadline_ms is None or fresh_deadline:
            deadline_ms = self._first_election_at_ms()
        if epoch > self.epoch:
            self._set_hard(HardState(epoch))
        self._enter(Unattached(deadline_ms))

    def become_prospective(self) -> None:
        assert self.may_stand, "only a voter stands for election"
        election = Election(self.history.voters, self.local.node_id)
        self._enter(Prospective(election, self.election_timeout_at_ms()))

    def become_candidate(self) -> None:
        assert self.may_stand, "only a voter stands for election"
        self._set_hard(HardState(self.epoch + 1, None, self.local.key))
        election = Election(self.history.voters, self.local.node_id)
        self._enter(Candidate(election, self.election_timeout_at_ms()))

    def become_follower(
        self, epoch: int, leader_id: NodeId, endpoints: tuple[Endpoint, ...]
    ) -> None:
        assert leader_id != self.local.node_id, "a node does not follow itself"
        voted = self.hard.voted if epoch == self.epoch else None
        self._set_hard(HardState(epoch, leader_id, voted))
        self.leader_endpoints = endpoints
        self._enter(self._new_follower(leader_id))

    def become_leader(self, granting: tuple[ReplicaKey, ...]) -> None:
        assert self.hard.voted == self.local.key, "a leader has its own vote"
        self._set_hard(HardState(self.epoch, self.local.node_id, self.hard.voted))
        self._enter(Leader(self.log.end_offset, self.now_ms))
        voters = self.history.voters
        keys = tuple(voter.key for voter in voters)
        controls: list[Control] = [LeaderChange(self.local.node_id, keys, granting)]
        if self.history.kraft_version > 0 and self.history.is_bootstrap:
            # Only the formatted nodes know these voters: give them to everyone who fetches.
            controls.append(KRaftVersionChange(self.history.kraft_version))
            controls.append(VotersChange(voters.replacing(self.local.voter)))
        self.append_as_leader((), tuple(controls))

    def become_resigned(self, successors: tuple[ReplicaKey, ...]) -> None:
        assert isinstance(self.state, Leader), "only a leader resigns"
        self._enter(self._new_resigned(successors))

    def _new_resigned(self, successors: tuple[ReplicaKey, ...]) -> Resigned:
        others = tuple(node for node in self.history.voters.ids if node != self.local.node_id)
        return Resigned(successors, others, self._first_election_at_ms())

    def _new_follower(self, leader_id: NodeId) -> Follower:
        upkeep = VoterUpkeep(self.now_ms + self.config.voter_upkeep_interval_ms)
        return Follower(leader_id, self.fetch_timeout_at_ms(), upkeep)

    def fetch_timeout_at_ms(self) -> int:
        # Spread over [T, 5T/4): all followers hear the leader's last word at the same moment, and
        # those who miss it together stand together and split the vote. Drawn anew with every
        # answer, a microsecond beside a sync. Check-quorum (3T/2) stays the later of the two.
        chance_ms = self.rng.randrange(self.config.fetch_spread_ms)
        return self.now_ms + self.config.fetch_timeout_ms + chance_ms

    def _first_election_at_ms(self) -> int:
        """Nobody else could win where only this node votes, so why wait."""
        if self.is_voter and len(self.history.voters) == 1:
            return self.now_ms
        return self.election_timeout_at_ms()

    def election_timeout_at_ms(self) -> int:
        # Spread over [T, 2T): two nodes that time out together would split the vote again.
        timeout_ms = self.config.election_timeout_ms
        return self.now_ms + timeout_ms + self.rng.randrange(timeout_ms)

    def record_vote(self, candidate: ReplicaKey) -> None:
        assert self.hard.voted in (None, candidate), "one vote per epoch"
        assert self.hard.leader_id is None, "the epoch has its leader"
        self._set_hard(HardState(self.epoch, None, candidate))

    def _set_hard(self, hard: HardState) -> None:
        assert hard.epoch >= self.hard.epoch, "an epoch never goes back"
        if hard != self.hard:
            if hard.leader_id != self.hard.leader_id:
                self.leader_endpoints = ()
            self.hard = hard
            self.outbox.put_hard_state(hard)

    def _enter(self, state: State) -> None:
        left = self.state
        self.state = state
        self.requests.forget()
        left.leave(self)
