"""One node of the simulated cluster: the product's `RaftNode`, its driver, and a state machine.

The driver does what a real one does with each `Ready`, in the same order. The state machine is a
checksum over all committed records; its snapshots hold that checksum.
"""

import zlib
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

from barnabas_core.raft import (
    LinkLost,
    LocalReplica,
    Membership,
    Message,
    NodeId,
    NodeSetup,
    Persisted,
    RaftConfig,
    RaftNode,
    Ready,
    ReplicaKey,
    SnapshotId,
    SnapshotInfo,
    SnapshotTaken,
)
from barnabas_core.raft.identity import Endpoint
from tests.sim.disk import Disk, Write
from tests.sim.memory_log import MemoryLog, Snapshot, SnapshotStore

if TYPE_CHECKING:
    from tests.sim.cluster import Cluster

SNAPSHOT_BYTES = 100
MOVE_CHANCE = 0.2


@dataclass(slots=True)
class Applied:
    """The state machine: everything before `offset`, as one number."""

    offset: int = 0
    checksum: int = 0

    def encode(self) -> bytes:
        return f"{self.offset},{self.checksum},".encode().ljust(SNAPSHOT_BYTES, b".")

    @classmethod
    def decode(cls, data: bytes) -> "Applied":
        offset, checksum, _ = data.decode().split(",")
        return cls(int(offset), int(checksum))


@dataclass(slots=True)
class Pace:
    """A clock that is not quite right, and how often a snapshot is taken."""

    rate: float = 1.0
    offset_ms: int = 0
    snapshot_every: int = 40


class MachineRng(Random):
    """Chance as the product sees it. Where it is tight, nodes time out together: split votes."""

    tightness = 1

    def randrange(self, *arguments: int) -> int:  # type: ignore[override]
        drawn = super().randrange(*arguments)
        return drawn // self.tightness


@dataclass(slots=True)
class MachineSetup:
    config: RaftConfig
    membership: Membership
    can_vote: bool = True
    bootstrap: SnapshotInfo | None = None
    pace: Pace = field(default_factory=Pace)


class Machine:
    def __init__(self, cluster: "Cluster", key: ReplicaKey, setup: MachineSetup, seed: int) -> None:
        self.cluster = cluster
        self.key = key
        self.setup = setup
        self.pace = setup.pace
        self.rng = MachineRng(seed)
        self.disk = Disk(cluster.scheduler, self.rng, self._formatted(cluster.snapshots))
        self.former_disks: dict[ReplicaKey, Disk] = {}
        self.node: RaftNode | None = None
        self.log = self.disk.log
        self.applied = Applied()
        self._endpoints: tuple[Endpoint, ...] = ()
        self._local_ms = 0
        self._incarnation = 0
        self._timer_us = 0
        self._snapshot_under_way = False

    def _formatted(self, store: SnapshotStore) -> MemoryLog:
        log = MemoryLog(store)
        if self.setup.bootstrap is not None:
            log.add_snapshot(Snapshot(self.setup.bootstrap, Applied().encode()))
        return log

    @property
    def node_id(self) -> NodeId:
        return self.key.node_id

    # --- life and death

    def start(self) -> None:
        assert self.node is None, "one process at a time"
        self._incarnation += 1
        self.log = self.disk.log.copy()
        self._snapshot_under_way = False
        self._load_latest_snapshot()
        self._read_clock()
        if self._incarnation > 1 and self.cluster.rng.random() < MOVE_CHANCE:
            self._endpoints = (Endpoint("CONTROLLER", "localhost", self._incarnation),)
        local = LocalReplica(self.key, self._endpoints, can_vote=self.setup.can_vote)
        setup = NodeSetup(local, self.setup.membership, self.setup.config)
        self.node = self.cluster.new_node(
            setup, self.log, self.disk.hard_state, self.rng, self._local_ms
        )
        self.cluster.invariants.on_start(self, self.node)
        self._timer_us = 1 << 62
        self.pump()

    def crash(self, *, machine: bool) -> None:
        self.node = None
        self.disk.crash(machine=machine)

    def lose_disk(self, directory_id: bytes) -> None:
        """The machine comes back with an empty disk: another replica under the same node id."""
        assert self.node is None, "the process is gone first"
        self.former_disks[self.key] = self.disk
        self.key = ReplicaKey(self.node_id, directory_id)
        self.setup.bootstrap = None
        self.disk = Disk(self.cluster.scheduler, self.rng, self._formatted(self.cluster.snapshots))

    def _load_latest_snapshot(self) -> None:
        self.applied = Applied()
        info = self.log.snapshot()
        if info is not None:
            self._load(info.id)

    # --- input

    def _read_clock(self) -> int:
        now_ms = int(self.cluster.scheduler.now_us * self.pace.rate) // 1000 + self.pace.offset_ms
        self._local_ms = max(now_ms, self._local_ms)
        return self._local_ms

    def deliver(self, message: Message) -> None:
        if self.node is not None:
            self.node.tick(self._read_clock())
            self.node.step(message)
            self.pump()

    def on_link_lost(self, peer: NodeId) -> None:
        if self.node is not None:
            self.node.step(LinkLost(peer))
            self.pump()

    def _on_persisted(self, incarnation: int, sequence: int) -> None:
        if self.node is not None and incarnation == self._incarnation:
            self.node.tick(self._read_clock())
            self.node.step(Persisted(sequence))
            self.pump()

    def _on_timer(self, incarnation: int, at_us: int) -> None:
        if self.node is None or incarnation != self._incarnation or at_us != self._timer_us:
            return
        self._timer_us = 1 << 62
        self.node.tick(self._read_clock())
        self.pump()

    # --- output

    def pump(self) -> None:
        node = self.node
        while node is not None and node is self.node and node.has_ready:
            self._do(node, node.take_ready())
        if self.node is not None:
            self._arm(self.node)

    def _arm(self, node: RaftNode) -> None:
        wait_ms = node.deadline_ms() - self._local_ms
        scheduler = self.cluster.scheduler
        at_us = scheduler.now_us + max(1, int(wait_ms * 1000 / self.pace.rate) + 1000)
        if at_us < self._timer_us or self._timer_us <= scheduler.now_us:
            self._timer_us = at_us
            scheduler.after(at_us - scheduler.now_us, self._on_timer, self._incarnation, at_us)

    def _do(self, node: RaftNode, ready: Ready) -> None:
        self.cluster.invariants.on_ready(self, node, ready)
        if ready.must_persist:
            hard = () if ready.hard_state is None else (ready.hard_state,)
            writes: tuple[Write, ...] = (*hard, *ready.log_writes)
            incarnation, sequence = self._incarnation, ready.sequence
            self.disk.submit(writes, lambda: self._on_persisted(incarnation, sequence))
        for message in ready.messages:
            self.cluster.send(message)
        if ready.snapshot_id is not None:
            self._load(ready.snapshot_id)
        if ready.high_watermark is not None:
            self._apply(node, ready.high_watermark)

    # --- the state machine

    def _load(self, snapshot_id: SnapshotId) -> None:
        snapshot = self.log.find_snapshot(snapshot_id)
        assert snapshot is not None, f"{snapshot_id} is not there"
        self.applied = Applied.decode(snapshot.data)
        self.cluster.invariants.on_snapshot_loaded(self, snapshot.info, self.applied.checksum)

    def _apply(self, node: RaftNode, high_watermark: int) -> None:
        applied = self.applied
        for batch in self.log.read(applied.offset, 1 << 40):
            if batch.end_offset > high_watermark:
                break
            applied.checksum = zlib.crc32(batch.payload, applied.checksum)
            applied.offset = batch.end_offset
            self.cluster.invariants.on_applied(self, batch, applied.checksum)
        assert applied.offset == high_watermark, "the high watermark is at the end of a batch"
        self._maybe_snapshot(node)

    def _maybe_snapshot(self, node: RaftNode) -> None:
        grown = self.applied.offset - self.log.start_offset
        if self._snapshot_under_way or grown < self.pace.snapshot_every:
            return
        self._snapshot_under_way = True
        epoch = self.log.epoch_at(self.applied.offset - 1)
        assert epoch is not None, "what was applied last is in the log"
        level, voters = node.quorum.history.at(self.applied.offset)
        info = SnapshotInfo(SnapshotId(self.applied.offset, epoch), level, voters)
        snapshot = Snapshot(info, self.applied.encode())
        incarnation = self._incarnation
        self.disk.submit((snapshot,), lambda: self._on_snapshot(incarnation, snapshot))

    def _on_snapshot(self, incarnation: int, snapshot: Snapshot) -> None:
        if self.node is None or incarnation != self._incarnation:
            return
        self._snapshot_under_way = False
        if snapshot.info.id.end_offset > self.log.start_offset:
            self.log.add_snapshot(snapshot)
            self.cluster.invariants.on_snapshot_taken(self, snapshot)
            self.node.step(SnapshotTaken(snapshot.info.id))
            self.pump()
