"""The trouble: one fault after the other, drawn from the seed, until it is told to stop."""

from random import Random
from typing import TYPE_CHECKING

from barnabas_core.raft import Message, NodeId, ReplicaKey, Resign, VoterSet
from barnabas_core.raft.message import (
    AddVoterRequest,
    BeginQuorumEpochRequest,
    Body,
    FetchResponse,
    RemoveVoterRequest,
    UpgradeVersionRequest,
    VoteRequest,
    VoteResponse,
)
from tests.sim.cluster import Cluster
from tests.sim.machine import Machine

if TYPE_CHECKING:
    from collections.abc import Callable

FAST_NETWORK_US = (200, 3_000)
SLOW_NETWORK_US = (5_000, 60_000)
FAST_DISK_US = (300, 4_000)
SLOW_DISK_US = (20_000, 400_000)
CHANGE_TIMEOUT_MS = 2_000


def _is_first_step(body: Body) -> bool:
    """Of a leader: it says that it leads, or hands out what an earlier one left uncommitted.

    The second is where Raft's figure 8 has it die.
    """
    if not isinstance(body, FetchResponse):
        return isinstance(body, BeginQuorumEpochRequest)
    return any(
        batch.epoch < body.news.epoch and batch.end_offset > body.high_watermark
        for batch in body.batches
    )


class Nemesis:
    def __init__(self, cluster: Cluster, rng: Random) -> None:
        self._cluster = cluster
        self._rng = rng
        self._lost: ReplicaKey | None = None
        """A voter whose disk is gone, while it is still in somebody's voter set."""
        self._vote_crash_chance = rng.choice((0.02, 0.25))
        self._leader_crash_chance = rng.choice((0.02, 0.02, 0.3))
        self.is_on = True
        self._faults: list[tuple[int, Callable[[], None]]] = [
            (6, self._crash_leader),
            (5, self._crash_any),
            (10, self._restart_any),
            (5, self._isolate_leader),
            (4, self._split),
            (4, self._half_open),
            (10, self._heal),
            (6, self._break_link),
            (4, self._stall),
            (4, self._slow_disk),
            (4, self._fast_disks),
            (2, self._resign),
            (9, self._change_voters),
            (2, self._skew),
            (2, self._slow_network),
            (3, self._lose_disk),
            (1, self._upgrade),
        ]
        self._total = sum(weight for weight, _ in self._faults)

    def strike(self) -> None:
        if not self.is_on:
            return
        draw = self._rng.randrange(self._total)
        for number, (weight, fault) in enumerate(self._faults):
            draw -= weight
            if draw < 0:
                self._cluster.scheduler.note(number)
                fault()
                break
        self._cluster.scheduler.after(self._rng.randrange(20_000, 450_000), self.strike)

    def on_sent(self, message: Message) -> None:
        """Some crashes come at the worst moment: after a vote, or in a leader's first steps."""
        if not self.is_on:
            return
        body = message.body
        if isinstance(body, VoteResponse) and body.granted:
            self._maybe_crash(message.source, self._vote_crash_chance, down_us=20_000)
        elif isinstance(body, VoteRequest) and not body.pre_vote:
            # A rival's request that comes late may find the voter with another process.
            if self._rng.random() < self._vote_crash_chance:
                late_us = self._rng.randrange(5_000, 60_000)
                self._cluster.network.stall(message.source, message.target, late_us)
        elif _is_first_step(body):
            self._maybe_crash(message.source, self._leader_crash_chance, down_us=600_000)

    def on_appended(self, node_id: NodeId) -> None:
        if self.is_on:
            self._maybe_crash(node_id, self._leader_crash_chance / 5, down_us=600_000)

    def _maybe_crash(self, node_id: NodeId, chance: float, down_us: int) -> None:
        if self._rng.random() < chance:
            machine = self._cluster.machines[node_id]
            at_us = self._rng.randrange(self._rng.choice((2_000, 20_000)))
            self._cluster.scheduler.after(at_us, self._crash, machine, down_us)

    def stop(self) -> None:
        """Everything works again: now the cluster has to."""
        self.is_on = False
        self._heal()
        self._fast_disks()
        for machine in self._cluster.machines.values():
            machine.pace.rate = 1.0
            machine.rng.tightness = 1
            if machine.node is None:
                machine.start()

    # --- whom it hits

    def _any(self) -> Machine:
        machines = list(self._cluster.machines.values())
        return machines[self._rng.randrange(len(machines))]

    def _leader(self) -> Machine | None:
        leaders = self._cluster.leaders()
        return leaders[self._rng.randrange(len(leaders))][0] if leaders else None

    def _pair(self) -> tuple[NodeId, NodeId]:
        ids = list(self._cluster.machines)
        one = ids.pop(self._rng.randrange(len(ids)))
        return one, ids[self._rng.randrange(len(ids))]

    # --- processes and machines

    def _crash(self, machine: Machine, down_us: int = 3_000_000) -> None:
        is_machine = self._rng.random() < 0.5
        if machine.node is None:
            return
        self._cluster.invariants.coverage.crashes += 1
        machine.crash(machine=is_machine)
        for other in self._cluster.machines:
            if other != machine.node_id:
                # A dead process's kernel resets its connections; a dead machine says nothing.
                self._cluster.network.break_link(machine.node_id, other, with_notice=not is_machine)
        self._cluster.scheduler.after(self._rng.randrange(1_000, down_us), self._restart, machine)

    def _restart(self, machine: Machine) -> None:
        if machine.node is None:
            machine.start()

    def _crash_leader(self) -> None:
        leader = self._leader()
        if leader is not None:
            self._crash(leader)

    def _crash_any(self) -> None:
        self._crash(self._any())

    def _restart_any(self) -> None:
        self._restart(self._any())

    def _skew(self) -> None:
        self._any().pace.rate = self._rng.uniform(0.8, 1.25)

    def _slow_disk(self) -> None:
        self._any().disk.latency_us = SLOW_DISK_US

    def _fast_disks(self) -> None:
        for machine in self._cluster.machines.values():
            machine.disk.latency_us = FAST_DISK_US

    # --- links

    def _separate(self, some: list[NodeId]) -> None:
        network = self._cluster.network
        one_way = self._rng.random() < 0.3
        for inside in some:
            for outside in self._cluster.machines:
                if outside not in some:
                    network.close(inside, outside)
                    if not one_way:
                        network.close(outside, inside)

    def _isolate_leader(self) -> None:
        leader = self._leader()
        if leader is not None:
            self._separate([leader.node_id])

    def _split(self) -> None:
        ids = list(self._cluster.machines)
        self._rng.shuffle(ids)
        self._separate(ids[: self._rng.randrange(1, len(ids))])

    def _half_open(self) -> None:
        self._cluster.network.close(*self._pair())

    def _heal(self) -> None:
        self._cluster.network.heal()
        self._cluster.network.latency_us = FAST_NETWORK_US

    def _slow_network(self) -> None:
        self._cluster.network.latency_us = SLOW_NETWORK_US

    def _break_link(self) -> None:
        self._cluster.network.break_link(*self._pair())

    def _stall(self) -> None:
        self._cluster.network.stall(*self._pair(), self._rng.randrange(50_000, 1_500_000))

    # --- the quorum itself

    def _resign(self) -> None:
        leader = self._leader()
        if leader is not None and leader.node is not None:
            leader.node.step(Resign(leader.node.quorum.epoch))
            leader.pump()

    def _voter_sets(self) -> list[VoterSet]:
        """What each node believes, or would believe once it is up."""
        return [
            machine.node.quorum.history.voters
            for machine in self._cluster.machines.values()
            if machine.node is not None
        ]

    def _is_replacing(self) -> bool:
        """A voter without a disk cannot vote: no other change until it is out of every set."""
        lost = self._lost
        if lost is None:
            return False
        if len(self._voter_sets()) < len(self._cluster.machines):
            return True
        if any(voters.find(lost) is not None for voters in self._voter_sets()):
            return True
        self._lost = None
        return False

    def _change_voters(self) -> None:
        leader = self._leader()
        if leader is None or leader.node is None or self._is_replacing():
            return
        voters = leader.node.quorum.history.voters
        chosen = self._any()
        if voters.get(chosen.node_id) is None:
            if chosen.setup.can_vote:
                key = chosen.key
                self._cluster.ask(
                    leader, lambda correlation: AddVoterRequest(correlation, key, (), 2_000)
                )
        elif len(voters) > 1 + self._rng.randrange(3):
            key = voters.voters[self._rng.randrange(len(voters))].key
            self._cluster.ask(
                leader, lambda correlation: RemoveVoterRequest(correlation, key, 2_000)
            )

    def _upgrade(self) -> None:
        leader = self._leader()
        if leader is not None:
            self._cluster.ask(
                leader,
                lambda correlation: UpgradeVersionRequest(correlation, 1, CHANGE_TIMEOUT_MS),
            )

    def _lose_disk(self) -> None:
        """A voter's disk is gone; it comes back as another replica and has itself put in place.

        Only while everyone is up and agrees on who votes, and three or more do: a change that is
        half way through, or a second loss, could leave no majority to repair anything.
        """
        machine = self._any()
        sets = self._voter_sets()
        if len(sets) < len(self._cluster.machines) or self._is_replacing():
            return
        if any(voters != sets[0] for voters in sets) or len(sets[0]) < 3:
            return
        voter = sets[0].find(machine.key)
        if voter is None or not voter.key.has_directory or not machine.setup.config.auto_join:
            return
        self._lost = machine.key
        self._cluster.invariants.coverage.disks_lost += 1
        machine.crash(machine=True)
        machine.lose_disk(self._rng.randbytes(16))
        for other in self._cluster.machines:
            if other != machine.node_id:
                self._cluster.network.break_link(machine.node_id, other, with_notice=False)
        machine.start()
