"""The `raft` profile: a quorum of the product's Raft nodes under a nemesis, one run per seed."""

from dataclasses import dataclass
from random import Random

from barnabas_core.raft import (
    NO_DIRECTORY,
    Membership,
    NodeId,
    RaftConfig,
    RaftNode,
    ReplicaKey,
    SnapshotId,
    SnapshotInfo,
    Voter,
    VoterSet,
)
from tests.sim.cluster import Cluster, NodeFactory
from tests.sim.invariant import Coverage, InvariantBroken
from tests.sim.machine import MachineSetup, Pace
from tests.sim.nemesis import Nemesis

FAULTS_US = 9_000_000
RECOVERY_US = 10_000_000
APPEND_EVERY_US = (10_000, 160_000)


@dataclass(frozen=True, slots=True)
class Run:
    seed: int
    trace: int
    coverage: Coverage
    recovery_us: int
    """How long after the faults everyone was back."""


def run(seed: int, new_node: NodeFactory = RaftNode) -> Run:
    """One seed, start to end; raises what went wrong."""
    simulation = Simulation(seed, new_node)
    simulation.run()
    return Run(
        seed,
        simulation.cluster.scheduler.trace,
        simulation.cluster.invariants.coverage,
        simulation.cluster.scheduler.now_us - FAULTS_US,
    )


class Simulation:
    def __init__(self, seed: int, new_node: NodeFactory) -> None:
        self.cluster = Cluster(seed, new_node)
        self._rng = Random(seed ^ 0x5EED)
        self._form()
        self._nemesis = Nemesis(self.cluster, self._rng)
        self.cluster.on_sent = self._nemesis.on_sent
        self.cluster.on_appended = self._nemesis.on_appended

    # --- the cluster of this seed

    def _form(self) -> None:
        rng = self._rng
        is_dynamic = rng.random() < 0.75
        voter_count = rng.choice((1, 2, 3, 3, 3, 4, 5) if is_dynamic else (1, 3, 3, 5))
        spare_count = rng.choice((0, 1, 1, 2)) if voter_count > 1 else 2
        observer_count = rng.choice((0, 0, 1))
        config = self._config(auto_join=is_dynamic and rng.random() < 0.5)
        count = voter_count + spare_count + observer_count
        keys = [ReplicaKey(NodeId(number), rng.randbytes(16)) for number in range(1, count + 1)]
        first = keys[:voter_count]
        tightness = rng.choice((1, 1, 40, 1000))
        everyone = tuple(key.node_id for key in keys)
        voters = VoterSet.of(
            Voter(key if is_dynamic else ReplicaKey(key.node_id, NO_DIRECTORY)) for key in first
        )
        bootstrap = SnapshotInfo(SnapshotId(0, 0), 1, voters)
        for place, key in enumerate(keys):
            membership = Membership(None if is_dynamic else voters, everyone)
            is_formatted = is_dynamic and key in first
            setup = MachineSetup(
                config,
                membership,
                can_vote=place < voter_count + spare_count,
                bootstrap=bootstrap if is_formatted else None,
                pace=Pace(rng.uniform(0.9, 1.1), rng.randrange(10_000), rng.randrange(15, 60)),
            )
            machine = self.cluster.add(key, setup)
            machine.rng.tightness = tightness

    def _config(self, *, auto_join: bool) -> RaftConfig:
        election_ms = self._rng.choice((200, 300, 500))
        return RaftConfig(
            election_timeout_ms=election_ms,
            fetch_timeout_ms=2 * election_ms,
            fetch_max_wait_ms=election_ms // 2,
            fetch_max_bytes=self._rng.choice((1, 10, 1000)),
            snapshot_max_bytes=40,
            request_timeout_ms=2 * election_ms,
            auto_join=auto_join,
        )

    # --- the run

    def run(self) -> None:
        scheduler = self.cluster.scheduler
        for machine in self.cluster.machines.values():
            machine.start()
        scheduler.after(0, self._client)
        scheduler.after(500_000, self._nemesis.strike)
        while scheduler.now_us < FAULTS_US:
            scheduler.run_one()
        self._nemesis.stop()
        self._recover()

    def _client(self) -> None:
        self.cluster.settle()
        self.cluster.append_somewhere()
        self.cluster.scheduler.after(self._rng.randrange(*APPEND_EVERY_US), self._client)

    def _recover(self) -> None:
        """Liveness: without faults a leader is found, and everyone gets what it commits."""
        scheduler = self.cluster.scheduler
        acknowledged = self.cluster.invariants.coverage.acknowledged
        while not self._is_recovered(acknowledged):
            if scheduler.now_us > FAULTS_US + RECOVERY_US:
                raise InvariantBroken(f"no progress {RECOVERY_US // 1_000_000} s after the faults")
            until_us = scheduler.now_us + 50_000
            while scheduler.next_us <= until_us:
                scheduler.run_one()
            scheduler.now_us = until_us

    def _is_recovered(self, acknowledged: int) -> bool:
        cluster = self.cluster
        if cluster.invariants.coverage.acknowledged < acknowledged + 5:
            return False
        end = cluster.invariants.committed.end_offset
        # The client goes on: everyone must be close behind, nobody need be equal.
        return all(
            machine.node is not None and machine.applied.offset >= end - 30
            for machine in cluster.machines.values()
        )
