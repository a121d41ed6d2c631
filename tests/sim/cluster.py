"""A whole simulated quorum: machines, the network between them, and a client that appends."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import get_args

from barnabas_core.raft import CLIENT, Message, NodeId, RaftNode, ReplicaKey
from barnabas_core.raft.message import Body
from tests.sim.invariant import Invariants
from tests.sim.machine import Machine, MachineSetup
from tests.sim.memory_log import SnapshotStore
from tests.sim.network import Network
from tests.sim.scheduler import Scheduler

KIND_NUMBERS: dict[type[Body], int] = {kind: place for place, kind in enumerate(get_args(Body))}
NodeFactory = Callable[..., RaftNode]


@dataclass(frozen=True, slots=True)
class Pending:
    """Appended at a leader, not yet committed: (payload, first offset) of each batch."""

    node: RaftNode
    epoch: int
    end_offset: int
    batches: tuple[tuple[bytes, int], ...]


class Cluster:
    def __init__(self, seed: int, new_node: NodeFactory = RaftNode) -> None:
        self.rng = Random(seed)
        self.scheduler = Scheduler()
        self.snapshots = SnapshotStore()
        self.invariants = Invariants(self)
        self.network = Network(self.scheduler, self.rng, self._deliver, self._link_lost)
        self.machines: dict[NodeId, Machine] = {}
        self.new_node = new_node
        self.on_sent: Callable[[Message], None] = lambda _: None
        self.on_appended: Callable[[NodeId], None] = lambda _: None
        self._pending: list[Pending] = []
        self._payloads = 0
        self._correlation = 0

    def add(self, key: ReplicaKey, setup: MachineSetup) -> Machine:
        machine = Machine(self, key, setup, self.rng.getrandbits(32))
        self.machines[key.node_id] = machine
        return machine

    # --- messages

    def send(self, message: Message) -> None:
        key = self.machines[message.source].key
        self.invariants.on_send(key, message.target, message.body)
        self.on_sent(message)
        if message.target in self.machines:
            self.network.send(message)

    def _deliver(self, message: Message) -> None:
        body = message.body
        number = KIND_NUMBERS[type(body)]
        self.scheduler.note(message.source, message.target, number, body.correlation)
        self.machines[message.target].deliver(message)

    def _link_lost(self, source: NodeId, target: NodeId) -> None:
        self.machines[source].on_link_lost(target)

    # --- the client

    def leaders(self) -> list[tuple[Machine, RaftNode]]:
        """Those that believe they lead, in order of their ids."""
        return [
            (machine, machine.node)
            for machine in self.machines.values()
            if machine.node is not None and machine.node.quorum.leader is not None
        ]

    def append_somewhere(self) -> None:
        leaders = self.leaders()
        if not leaders:
            return
        machine, node = leaders[self.rng.randrange(len(leaders))]
        payloads = []
        for _ in range(1 + self.rng.randrange(3)):
            self._payloads += 1
            payloads.append((b"%d" % self._payloads, 1 + self.rng.randrange(3)))
        offset = node.quorum.log.end_offset
        placed = []
        for payload, count in payloads:
            placed.append((payload, offset))
            offset += count
        end_offset = node.append(node.quorum.epoch, payloads)
        self.scheduler.note(machine.node_id, end_offset)
        self._pending.append(Pending(node, node.quorum.epoch, end_offset, tuple(placed)))
        machine.pump()
        self.on_appended(machine.node_id)

    def settle(self) -> None:
        """Acknowledge what is committed, forget what nobody can acknowledge any more."""
        waiting = []
        for pending in self._pending:
            quorum = pending.node.quorum
            if quorum.leader is None or quorum.epoch != pending.epoch:
                continue
            if quorum.high_watermark < pending.end_offset:
                waiting.append(pending)
                continue
            for payload, base_offset in pending.batches:
                self.invariants.on_acknowledged(base_offset, payload)
        self._pending = waiting

    def ask(self, target: Machine, body: Callable[[int], Body]) -> None:
        """A request from an administrator."""
        self._correlation += 1
        target.deliver(Message(CLIENT, target.node_id, body(self._correlation)))
