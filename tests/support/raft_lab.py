"""A quorum on the bench: the product's nodes, every message in a list, disks that sync when told.

Nothing happens by itself. A test ticks a node, delivers or drops messages, holds a disk back, and
reads what was said. The same lab plays the scripted conversations.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from barnabas_core.raft import (
    CLIENT,
    HardState,
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
    Voter,
    VoterSet,
)
from barnabas_core.raft.identity import Endpoint
from barnabas_core.raft.message import Body
from tests.sim.memory_log import MemoryLog, Snapshot, SnapshotStore

START_MS = 1_000


class PatientRng:
    """The same small numbers for each node: node 1 times out first, then 2, and so on."""

    def __init__(self, node_id: int) -> None:
        self._node_id = node_id

    def randrange(self, stop: int) -> int:
        return min(10 * self._node_id, stop - 1)

    def randbytes(self, size: int) -> bytes:
        return bytes(size)


def directory(node_id: int, disk: int = 1) -> bytes:
    return bytes([disk] * 8 + [node_id] * 8)


def key(node_id: int, disk: int = 1) -> ReplicaKey:
    return ReplicaKey(NodeId(node_id), directory(node_id, disk))


@dataclass(slots=True)
class Bench:
    """One node with its disk."""

    setup: NodeSetup
    disk: MemoryLog
    hard_state: HardState | None = None
    node: RaftNode | None = None
    log: MemoryLog | None = None
    unsynced: list[Ready] = field(default_factory=list)
    is_held: bool = False
    committed: list[bytes] = field(default_factory=list)

    @property
    def up(self) -> RaftNode:
        assert self.node is not None, "the node is down"
        return self.node


class Lab:
    def __init__(
        self,
        voters: Iterable[int] = (1, 2, 3),
        *,
        spares: Iterable[int] = (),
        observers: Iterable[int] = (),
        dynamic: bool = False,
        config: RaftConfig | None = None,
    ) -> None:
        self.now_ms = START_MS
        self.config = config or RaftConfig()
        self.benches: dict[NodeId, Bench] = {}
        self.in_flight: list[Message] = []
        self.cut_off: list[NodeId] = []
        self.answers: list[Message] = []
        self.snapshots = SnapshotStore()
        self.tell: Callable[[str], None] = lambda _: None
        ids = [*voters, *spares, *observers]
        self._voters = tuple(voters)
        self._dynamic = dynamic
        for node_id in ids:
            can_vote = node_id not in tuple(observers)
            local = LocalReplica(key(node_id), can_vote=can_vote)
            self._add(local, tuple(NodeId(other) for other in ids if other != node_id))
        for node_id in ids:
            self.start(node_id)

    def _add(self, local: LocalReplica, everyone: tuple[NodeId, ...]) -> None:
        static = VoterSet.of(Voter(ReplicaKey(NodeId(one))) for one in self._voters)
        membership = Membership(None if self._dynamic else static, everyone)
        disk = MemoryLog(self.snapshots)
        if self._dynamic and local.node_id in self._voters:
            first = VoterSet.of(Voter(key(one)) for one in self._voters)
            disk.add_snapshot(Snapshot(SnapshotInfo(SnapshotId(0, 0), 1, first), b"bootstrap"))
        self.benches[local.node_id] = Bench(NodeSetup(local, membership, self.config), disk)

    def __getitem__(self, node_id: int) -> RaftNode:
        return self.benches[NodeId(node_id)].up

    def log(self, node_id: int) -> MemoryLog:
        log = self.benches[NodeId(node_id)].log
        assert log is not None
        return log

    def state(self, node_id: int) -> str:
        return self[node_id].quorum.state.name

    # --- life

    def start(self, node_id: int) -> None:
        bench = self.benches[NodeId(node_id)]
        bench.log = bench.disk.copy()
        bench.unsynced.clear()
        bench.committed.clear()
        bench.node = RaftNode(
            bench.setup, bench.log, bench.hard_state, PatientRng(node_id), self.now_ms
        )
        self.pump(node_id)

    def crash(self, node_id: int) -> None:
        """The machine dies: what was not synced is gone, and what was on its links too."""
        bench = self.benches[NodeId(node_id)]
        bench.node = None
        self.in_flight = [
            message for message in self.in_flight if node_id not in (message.source, message.target)
        ]

    def replace_disk(self, node_id: int, disk: int) -> None:
        bench = self.benches[NodeId(node_id)]
        local = LocalReplica(key(node_id, disk), can_vote=True)
        bench.setup = NodeSetup(local, bench.setup.membership, bench.setup.config)
        bench.disk = MemoryLog(self.snapshots)
        bench.hard_state = None

    # --- time and disks

    def pass_ms(self, duration_ms: int) -> None:
        """Time passes for everyone, in the order of their deadlines."""
        until_ms = self.now_ms + duration_ms
        while True:
            due = [
                (bench.node.deadline_ms(), node_id)
                for node_id, bench in self.benches.items()
                if bench.node is not None
            ]
            at_ms, node_id = min(due, default=(until_ms, NodeId(0)))
            if at_ms > until_ms:
                break
            self.now_ms = max(self.now_ms, at_ms)
            self.tick(node_id)
        self.now_ms = until_ms

    def run(self, duration_ms: int) -> None:
        """Time passes and messages arrive."""
        until_ms = self.now_ms + duration_ms
        self.deliver()
        while self.now_ms < until_ms:
            nodes = [bench.node for bench in self.benches.values() if bench.node is not None]
            first_ms = min(node.deadline_ms() for node in nodes)
            self.pass_ms(min(max(first_ms - self.now_ms, 1), until_ms - self.now_ms))
            self.deliver()

    def tick(self, node_id: int) -> None:
        self[node_id].tick(self.now_ms)
        self.pump(node_id)

    def stand(self, node_id: int) -> None:
        """Its patience ends: only this node's clock moves on to the next election."""
        node = self[node_id]
        name = node.quorum.state.name
        assert name != "leader", "it leads"
        while node.quorum.state.name == name and name not in ("prospective", "candidate"):
            self.now_ms = max(self.now_ms, node.deadline_ms())
            self.tick(node_id)

    def hold_disk(self, node_id: int) -> None:
        self.benches[NodeId(node_id)].is_held = True

    def sync(self, node_id: int) -> None:
        bench = self.benches[NodeId(node_id)]
        bench.is_held = False
        self._sync(bench)
        self.pump(node_id)

    def _sync(self, bench: Bench) -> None:
        readies, bench.unsynced = bench.unsynced, []
        for ready in readies:
            if ready.hard_state is not None:
                bench.hard_state = ready.hard_state
            for write in ready.log_writes:
                bench.disk.apply(write)
            bench.up.step(Persisted(ready.sequence))

    # --- messages

    def pump(self, node_id: int) -> None:
        bench = self.benches[NodeId(node_id)]
        while bench.up.has_ready:
            ready = bench.up.take_ready()
            self._on_ready(bench, ready)
            if ready.must_persist:
                bench.unsynced.append(ready)
                if not bench.is_held:
                    self._sync(bench)

    def _on_ready(self, bench: Bench, ready: Ready) -> None:
        self._tell_ready(bench, ready)
        for message in ready.messages:
            if message.target == CLIENT:
                self.answers.append(message)
            elif message.source not in self.cut_off and message.target not in self.cut_off:
                self.in_flight.append(message)
        if ready.high_watermark is not None and bench.log is not None:
            bench.committed = [
                bytes(batch.payload)
                for batch in bench.log.read(bench.log.start_offset, 1 << 40)
                if batch.payload and batch.end_offset <= ready.high_watermark
            ]

    def _tell_ready(self, bench: Bench, ready: Ready) -> None:
        from tests.support.raft_transcript import lines_of

        for line in lines_of(bench.up, ready):
            self.tell(line)

    def step(self, node_id: int, message: Message) -> None:
        node = self[node_id]
        node.tick(self.now_ms)
        node.step(message)
        self.pump(node_id)

    def deliver_one(self) -> bool:
        if not self.in_flight:
            return False
        message = self.in_flight.pop(0)
        if self.benches[message.target].node is not None:
            self.step(message.target, message)
        return True

    def deliver(self, limit: int = 400) -> None:
        """Until nobody has anything to say."""
        for _ in range(limit):
            if not self.deliver_one():
                return
        raise AssertionError("they never stop talking")

    def drop(self, source: int | None = None, target: int | None = None) -> list[Message]:
        """Lose what is under way from, to or between nodes; what was lost."""
        lost = [
            message
            for message in self.in_flight
            if source in (None, message.source) and target in (None, message.target)
        ]
        self.in_flight = [message for message in self.in_flight if message not in lost]
        return lost

    def cut(self, node_id: int) -> None:
        """No message gets to or from this node any more, nor do those under way."""
        self.cut_off.append(NodeId(node_id))
        self.drop(source=node_id)
        self.drop(target=node_id)

    def join(self, node_id: int) -> None:
        self.cut_off.remove(NodeId(node_id))

    def sent(self, kind: type[Body], target: int | None = None) -> list[Message]:
        return [
            message
            for message in self.in_flight
            if isinstance(message.body, kind) and target in (None, message.target)
        ]

    def ask(self, node_id: int, body: Body) -> None:
        """A request from an administrator."""
        self.step(node_id, Message(CLIENT, NodeId(node_id), body))

    def say(self, source: int, target: int, body: Body) -> None:
        """A message that the test makes up."""
        self.step(target, Message(NodeId(source), NodeId(target), body))

    # --- common scenes

    def elect(self, node_id: int) -> None:
        self.stand(node_id)
        self.deliver()
        assert self.state(node_id) == "leader", f"node {node_id} is {self.state(node_id)}"

    def append(self, node_id: int, payload: str) -> int:
        node = self[node_id]
        end_offset = node.append(node.quorum.epoch, [(payload.encode(), 1)])
        self.pump(node_id)
        return end_offset

    def take_snapshot(self, node_id: int) -> SnapshotId:
        node = self[node_id]
        offset = node.quorum.high_watermark
        epoch = self.log(node_id).epoch_at(offset - 1)
        assert epoch is not None
        level, voters = node.quorum.history.at(offset)
        snapshot_id = SnapshotId(offset, epoch)
        snapshot = Snapshot(SnapshotInfo(snapshot_id, level, voters), b"state-%d" % offset)
        self.benches[NodeId(node_id)].disk.add_snapshot(snapshot)
        self.log(node_id).add_snapshot(snapshot)
        node.step(SnapshotTaken(snapshot_id))
        self.pump(node_id)
        return snapshot_id


def endpoint(node_id: int) -> tuple[Endpoint, ...]:
    return (Endpoint("CONTROLLER", f"node-{node_id}", 9093),)
