"""One node of a quorum: ticks, messages and disk reports in, `Ready` out, no I/O.

    node.tick(now_ms)            # time passes, or: node.step(message)
    ready = node.take_ready()    # persist, send, apply
    node.step(Persisted(ready.sequence))

Nothing here waits, and every call leaves the node whole: an event that makes no sense raises or is
dropped, and changes nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from barnabas_core.ports.rng import Rng
from barnabas_core.raft import fetch, quorum_epoch, replication, voter_change, voting
from barnabas_core.raft import message as m
from barnabas_core.raft.description import QuorumDescription, describe
from barnabas_core.raft.event import Event, LinkLost, Persisted, Resign, SnapshotTaken
from barnabas_core.raft.identity import Endpoint, NodeId
from barnabas_core.raft.message import LeaderNews, Message
from barnabas_core.raft.quorum import LocalReplica, Membership, Quorum
from barnabas_core.raft.raft_log import RaftLog
from barnabas_core.raft.ready import DeleteBefore, HardState, Ready
from barnabas_core.raft.timing import RaftConfig

_HANDLERS: dict[type[Any], Callable[[Quorum, NodeId, Any], None]] = {
    m.VoteRequest: voting.on_vote_request,
    m.VoteResponse: voting.on_vote_response,
    m.BeginQuorumEpochRequest: quorum_epoch.on_begin_request,
    m.BeginQuorumEpochResponse: quorum_epoch.on_begin_response,
    m.EndQuorumEpochRequest: quorum_epoch.on_end_request,
    m.EndQuorumEpochResponse: quorum_epoch.on_end_response,
    m.FetchRequest: fetch.on_fetch_request,
    m.FetchResponse: replication.on_fetch_response,
    m.FetchSnapshotRequest: fetch.on_fetch_snapshot_request,
    m.FetchSnapshotResponse: replication.on_fetch_snapshot_response,
    m.AddVoterRequest: voter_change.on_voter_request,
    m.RemoveVoterRequest: voter_change.on_voter_request,
    m.UpdateVoterRequest: voter_change.on_voter_request,
    m.UpgradeVersionRequest: voter_change.on_voter_request,
    m.VoterChangeResponse: voter_change.on_voter_change_response,
    m.VersionsRequest: voter_change.on_versions_request,
    m.VersionsResponse: voter_change.on_versions_response,
}


class NotLeader(Exception):
    """This node does not lead the epoch that the records were made for."""

    def __init__(self, news: LeaderNews) -> None:
        super().__init__(f"epoch {news.epoch} is led by {news.leader_id}")
        self.news = news


@dataclass(frozen=True, slots=True)
class NodeSetup:
    """What a node is made from, besides what it finds on its disk."""

    local: LocalReplica
    membership: Membership
    config: RaftConfig


class RaftNode:
    def __init__(
        self,
        setup: NodeSetup,
        log: RaftLog,
        stored: HardState | None,
        rng: Rng,
        now_ms: int,
    ) -> None:
        self.quorum = Quorum(setup.local, setup.config, log, setup.membership, rng, now_ms)
        self._reported_high_watermark = 0
        self._reported_leader = LeaderNews(-1, None)
        self._due_at_ms = now_ms
        self.quorum.start(stored)
        self._poll()

    # --- in

    def tick(self, now_ms: int) -> None:
        if now_ms < self.quorum.now_ms:
            raise ValueError(f"time went back from {self.quorum.now_ms} to {now_ms}")
        self.quorum.now_ms = now_ms
        if now_ms >= self._due_at_ms:
            self.quorum.requests.expire(now_ms)
            self._poll()

    def step(self, event: Event) -> None:
        if isinstance(event, Message):
            self._on_message(event)
        elif isinstance(event, Persisted):
            self.quorum.outbox.on_persisted(event.sequence)
        elif isinstance(event, LinkLost):
            self.quorum.requests.lose(event.node_id, self.quorum.now_ms)
        elif isinstance(event, SnapshotTaken):
            self._on_snapshot_taken(event)
        elif isinstance(event, Resign):
            self._on_resign(event)
        else:
            assert_never(event)
        self._poll()

    def append(self, epoch: int, payloads: Sequence[tuple[bytes, int]]) -> int:
        """Records for the log, as (batch, record count); the offset after the last.

        They are committed when the high watermark reaches that offset in the same epoch. `epoch` is
        the one in which the caller made them: a leader that lost and regained leadership in between
        has forgotten what they were made from.
        """
        quorum = self.quorum
        if quorum.leader is None or epoch != quorum.epoch:
            raise NotLeader(quorum.news())
        if not payloads or any(count < 1 for _, count in payloads):
            raise ValueError("an append has batches, and a batch has records")
        end_offset = quorum.append_as_leader(payloads)
        self._poll()
        return end_offset

    # --- out

    @property
    def has_ready(self) -> bool:
        quorum = self.quorum
        return (
            not quorum.outbox.is_empty
            or quorum.snapshot_to_load is not None
            or quorum.high_watermark != self._reported_high_watermark
            or quorum.hard.epoch != self._reported_leader.epoch
            or quorum.hard.leader_id != self._reported_leader.leader_id
        )

    def take_ready(self) -> Ready:
        quorum = self.quorum
        moved = quorum.high_watermark != self._reported_high_watermark
        news = quorum.news()
        changed = news != self._reported_leader
        ready = quorum.outbox.take(
            quorum.snapshot_to_load,
            quorum.high_watermark if moved else None,
            news if changed else None,
        )
        quorum.snapshot_to_load = None
        self._reported_high_watermark = quorum.high_watermark
        self._reported_leader = news
        return ready

    def deadline_ms(self) -> int:
        """When to tick at the latest: before that, nothing happens by itself."""
        return self._due_at_ms

    def describe(self) -> QuorumDescription | None:
        """For DescribeQuorum; None unless this node leads."""
        return describe(self.quorum)

    def endpoints_of(self, node_id: NodeId) -> tuple[Endpoint, ...]:
        """Where a message to this node goes; empty if only the driver's configuration can tell."""
        quorum = self.quorum
        voter = quorum.history.voters.get(node_id)
        if voter is not None:
            return voter.endpoints
        if node_id == quorum.hard.leader_id:
            return quorum.leader_endpoints
        change = None if quorum.leader is None else quorum.leader.change
        if change is not None and isinstance(change.request, m.AddVoterRequest):
            return change.request.endpoints if change.request.voter.node_id == node_id else ()
        return ()

    # --- events

    def _on_message(self, message: Message) -> None:
        if message.target != self.quorum.local.node_id:
            raise ValueError(f"a message for node {message.target}")
        _HANDLERS[type(message.body)](self.quorum, message.source, message.body)

    def _on_snapshot_taken(self, event: SnapshotTaken) -> None:
        quorum = self.quorum
        snapshot_id = event.snapshot_id
        if snapshot_id.end_offset > quorum.high_watermark:
            raise ValueError(f"{snapshot_id} is beyond what is committed")
        if snapshot_id.end_offset <= quorum.log.start_offset:
            return
        quorum.log.delete_before(snapshot_id)
        quorum.outbox.put_write(DeleteBefore(snapshot_id), quorum.log.end_offset)
        quorum.history.delete_before(snapshot_id.end_offset)

    def _on_resign(self, event: Resign) -> None:
        quorum = self.quorum
        if quorum.leader is not None and quorum.epoch == event.epoch:
            quorum.become_resigned(quorum.leader.successors(quorum))

    def _poll(self) -> None:
        """Until nothing changes the state any more."""
        quorum = self.quorum
        while True:
            state = quorum.state
            state.poll(quorum)
            if state is quorum.state:
                break
        self._due_at_ms = min(state.deadline_ms(quorum), quorum.requests.deadline_ms())
