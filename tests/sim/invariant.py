"""What must hold at every step of every run.

1. An epoch has one leader, a voter one vote in it.
2. A node's epoch never falls below what it has told others, crash or not.
3. A high watermark never falls while its process lives, and a leader moves it only to what a
   majority of its voters has on disk.
4. Logs match: records with the same offset and epoch are equal, and so is all before them.
5. What was committed once is committed everywhere, for ever: equal records at equal offsets, in
   the log of every later leader, never truncated. What was acknowledged is among it.
6. A snapshot is what the committed records before it add up to, with the voters of that point.
7. One change of the voters is under way at a time, and it adds or removes one of them.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from barnabas_core.raft import (
    NodeId,
    RaftNode,
    Ready,
    ReplicaKey,
    SnapshotId,
    SnapshotInfo,
    VoterSet,
)
from barnabas_core.raft.message import Body, VoteRequest, VoteResponse
from barnabas_core.raft.ready import Append, Truncate
from barnabas_core.raft.record import Batch, VotersChange
from tests.sim.memory_log import MemoryLog, Snapshot

if TYPE_CHECKING:
    from tests.sim.cluster import Cluster
    from tests.sim.machine import Machine


class InvariantBroken(AssertionError):
    """The run went wrong; the message says how."""


def check(holds: bool, *why: object) -> None:
    if not holds:
        raise InvariantBroken(" ".join(str(part) for part in why))


@dataclass(slots=True)
class Coverage:
    """What a run has been through: a simulator that meets no trouble proves nothing."""

    elections: int = 0
    truncations: int = 0
    snapshots_taken: int = 0
    snapshots_loaded: int = 0
    voter_changes: int = 0
    crashes: int = 0
    disks_lost: int = 0
    acknowledged: int = 0

    def add(self, other: "Coverage") -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(slots=True)
class Committed:
    """The one history: batches by their first offset, with the checksum after each."""

    by_offset: dict[int, tuple[Batch, int]] = field(default_factory=dict)
    epoch_before: dict[int, int] = field(default_factory=dict)
    checksum_before: dict[int, int] = field(default_factory=lambda: {0: 0})
    voters_before: dict[int, VoterSet] = field(default_factory=dict)
    end_in_epoch: dict[int, int] = field(default_factory=dict)
    """By the epoch of the leader that committed it."""
    end_offset: int = 0


class Invariants:
    def __init__(self, cluster: "Cluster") -> None:
        self._cluster = cluster
        self.coverage = Coverage()
        self.committed = Committed()
        self._leaders: dict[int, ReplicaKey] = {}
        self._told_epoch: dict[ReplicaKey, int] = {}
        self._votes: dict[tuple[ReplicaKey, int], ReplicaKey] = {}
        self._asked: dict[tuple[NodeId, int], VoteRequest] = {}
        self._high_watermarks: dict[ReplicaKey, int] = {}
        self._batches: dict[tuple[int, int], tuple[Batch, int | None]] = {}

    # --- 1, 2: epochs, votes, leaders

    def on_start(self, machine: "Machine", node: RaftNode) -> None:
        told = self._told_epoch.get(machine.key, 0)
        epoch = 0 if machine.disk.hard_state is None else machine.disk.hard_state.epoch
        check(epoch >= told, machine.key, "is back in epoch", epoch, "but has told of", told)
        self._high_watermarks[machine.key] = node.quorum.high_watermark

    def on_send(self, key: ReplicaKey, target: NodeId, body: Body) -> None:
        epoch = getattr(body, "epoch", None)
        if epoch is None:
            news = getattr(body, "news", None)
            if news is None:
                return
            epoch = news.epoch
        if epoch > self._told_epoch.get(key, 0):
            self._told_epoch[key] = epoch
        if isinstance(body, VoteRequest):
            self._asked[key.node_id, body.correlation] = body
        elif isinstance(body, VoteResponse) and body.granted:
            self._on_vote(key, self._asked[target, body.correlation])

    def _on_vote(self, key: ReplicaKey, request: VoteRequest) -> None:
        if not request.pre_vote:
            voted = self._votes.setdefault((key, request.epoch), request.candidate)
            check(voted == request.candidate, key, "votes twice in epoch", request.epoch)

    def on_ready(self, machine: "Machine", node: RaftNode, ready: Ready) -> None:
        if ready.leader is not None and node.quorum.leader is not None:
            self._on_leader(machine, node)
        for write in ready.log_writes:
            if isinstance(write, Append):
                self._on_append(machine, node, write.batches)
            elif isinstance(write, Truncate):
                self._on_truncate(machine, write.end_offset)
        if ready.high_watermark is not None:
            self._on_high_watermark(machine, node, ready.high_watermark)

    def _on_leader(self, machine: "Machine", node: RaftNode) -> None:
        epoch = node.quorum.epoch
        if epoch not in self._leaders:
            self.coverage.elections += 1
        leader = self._leaders.setdefault(epoch, machine.key)
        check(leader == machine.key, "epoch", epoch, "has two leaders:", leader, machine.key)
        # A candidate that wins an old epoch late leads nobody, and need not know what came after.
        older = self.committed.end_in_epoch.items()
        end = max((end for committed_in, end in older if committed_in < epoch), default=0)
        check(self._holds(machine.log, end), machine.key, "leads without what is committed to", end)

    def _holds(self, log: MemoryLog, end_offset: int) -> bool:
        """Is the committed record before `end_offset` in this log, or behind its snapshot?"""
        if end_offset == 0 or log.start_offset > end_offset:
            return True
        return log.epoch_at(end_offset - 1) == self.committed.epoch_before[end_offset]

    # --- 3, 4: high watermark, matching logs

    def _on_high_watermark(self, machine: "Machine", node: RaftNode, offset: int) -> None:
        before = self._high_watermarks.get(machine.key, 0)
        check(offset >= before, machine.key, "high watermark from", before, "back to", offset)
        self._high_watermarks[machine.key] = offset
        if node.quorum.leader is not None and offset > machine.log.start_offset:
            epoch = machine.log.epoch_at(offset - 1)
            voters = node.quorum.history.voters
            having = [voter for voter in voters if self._is_durable(voter.key, offset, epoch)]
            check(len(having) >= len(voters) // 2 + 1, offset, "is not on a majority of", voters)

    def _is_durable(self, key: ReplicaKey, offset: int, epoch: int | None) -> bool:
        machine = self._cluster.machines[key.node_id]
        # A disk that was lost since has kept its promise until then: one loss is survivable.
        log = machine.former_disks.get(key, machine.disk).log
        return log.start_offset >= offset or log.epoch_at(offset - 1) == epoch

    def _on_append(self, machine: "Machine", node: RaftNode, batches: tuple[Batch, ...]) -> None:
        for batch in batches:
            before = machine.log.epoch_at(batch.base_offset - 1)
            entry = self._batches.setdefault((batch.base_offset, batch.epoch), (batch, before))
            check(entry[0] == batch, machine.key, "differs at", batch.base_offset, batch.epoch)
            # A log that starts here can no longer tell what came before.
            if before is not None and entry[1] is not None:
                check(entry[1] == before, machine.key, "differs before", batch.base_offset)
            if node.quorum.leader is not None and batch.controls:
                self._on_controls(machine, node, batch)

    def _on_truncate(self, machine: "Machine", end_offset: int) -> None:
        self.coverage.truncations += 1
        known = self._high_watermarks.get(machine.key, 0)
        check(end_offset >= known, machine.key, "truncates what it knew was committed")

    # --- 5: one history

    def on_applied(self, machine: "Machine", batch: Batch, checksum: int) -> None:
        committed = self.committed
        entry = committed.by_offset.get(batch.base_offset)
        if entry is not None:
            same = entry[0] == batch and entry[1] == checksum
            check(same, machine.key, "has committed something else at", batch.base_offset)
            return
        check(batch.base_offset == committed.end_offset, "a gap before", batch.base_offset)
        committed.by_offset[batch.base_offset] = (batch, checksum)
        committed.end_offset = batch.end_offset
        committed.end_in_epoch[self._epoch_of(machine)] = batch.end_offset
        committed.epoch_before[batch.end_offset] = batch.epoch
        committed.checksum_before[batch.end_offset] = checksum
        for control in batch.controls:
            if isinstance(control, VotersChange):
                self.coverage.voter_changes += 1

    def _epoch_of(self, machine: "Machine") -> int:
        assert machine.node is not None, "a node that is down applies nothing"
        # A leader knows first (it may have resigned by now): all others have it from there.
        hard = machine.node.quorum.hard
        check(hard.leader_id == machine.node_id, machine.key, "commits and does not lead")
        return hard.epoch

    def on_acknowledged(self, base_offset: int, payload: bytes) -> None:
        self.coverage.acknowledged += 1
        entry = self.committed.by_offset.get(base_offset)
        check(entry is not None, "acknowledged but not committed:", base_offset)
        check(entry is not None and entry[0].payload == payload, "lost:", base_offset, payload)

    # --- 6: snapshots

    def _check_snapshot(self, machine: "Machine", info: SnapshotInfo, checksum: int) -> None:
        snapshot_id = info.id
        if snapshot_id == SnapshotId(0, 0):
            return
        check(snapshot_id.end_offset <= self.committed.end_offset, snapshot_id, "is uncommitted")
        epoch = self.committed.epoch_before[snapshot_id.end_offset]
        check(epoch == snapshot_id.epoch, snapshot_id, "has another epoch than", epoch)
        known = self.committed.checksum_before[snapshot_id.end_offset]
        check(known == checksum, machine.key, "holds another state in", snapshot_id)

    def on_snapshot_taken(self, machine: "Machine", snapshot: Snapshot) -> None:
        self.coverage.snapshots_taken += 1
        self._check_snapshot(machine, snapshot.info, _checksum_of(snapshot.data))
        voters = snapshot.info.voters
        if voters is not None:
            known = self.committed.voters_before.setdefault(snapshot.info.id.end_offset, voters)
            check(known == voters, "other voters in", snapshot.info.id)

    def on_snapshot_loaded(self, machine: "Machine", info: SnapshotInfo, checksum: int) -> None:
        if machine.node is not None:
            self.coverage.snapshots_loaded += 1
            check(machine.node.quorum.leader is None, machine.key, "leads and loads a snapshot")
        self._check_snapshot(machine, info, checksum)

    # --- 7: voters

    def _on_controls(self, machine: "Machine", node: RaftNode, batch: Batch) -> None:
        if not any(isinstance(control, VotersChange) for control in batch.controls):
            return
        quorum = node.quorum
        level_and_voters = quorum.history.at(batch.base_offset)
        previous = level_and_voters[1]
        under_way = [
            other.base_offset
            for other in machine.log.read(quorum.high_watermark, 1 << 40)
            if any(isinstance(control, VotersChange) for control in other.controls)
        ]
        check(len(under_way) == 1, machine.key, "has voter changes under way:", under_way)
        if previous is not None:
            changed = set(previous.ids) ^ set(quorum.history.voters.ids)
            check(len(changed) <= 1, machine.key, "changes several voters:", changed)


def _checksum_of(data: bytes) -> int:
    return int(data.decode().split(",")[1])
