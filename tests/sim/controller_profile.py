"""The `controller` profile: whole controllers under a nemesis, one run per seed.

1, 3 or 5 voters, some spare controllers, brokers that register and beat, and administrators, all on
the product's links over a simulated network.
"""

import asyncio
from collections.abc import Coroutine
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from typing import Any

from barnabas_core.ports.link import Address
from barnabas_core.raft import VoterSet
from tests.sim.controller_clients import Administrator, Broker, Scene
from tests.sim.controller_ledger import Ledger
from tests.sim.controller_node import (
    CONTROLLER_PORT,
    DIRECTORY,
    INTERNAL_PORT,
    ControllerNode,
    voters_argument,
)
from tests.sim.controller_truth import Truth
from tests.sim.controller_voters import VoterAdministrator
from tests.sim.invariant import InvariantBroken
from tests.sim.sim_machine import SimMachine, World
from tests.sim.sim_nemesis import SimNemesis
from tests.sim.sim_profile import Outcome
from tests.sim.sim_run import run_to_end

CLUSTER_ID = "c2ltdWxhdGVkLWNsdXN0ZX"
FAULTS_S = 8.0
RECOVERY_S = 20.0
RECOVERY_US = int(RECOVERY_S * 1_000_000)
FLOORS = {
    "elections": 1_500,
    "deposed": 200,
    "snapshots_begun": 8_000,
    "snapshots_loaded": 1_000,
    "created": 10_000,
    "deleted": 3_000,
    "configured": 5_000,
    "producer_id_blocks": 5_000,
    "registrations": 1_200,
    "isr_changes": 3_000,
    "voter_changes": 500,
    "unknown": 3_000,
    "process_crashes": 1_200,
    "machine_crashes": 900,
    "stops": 800,
    "partitions": 1_200,
    "failed_syncs": 200,
}
"""Per 1,000 seeds."""
FIRST_BROKER = 11
ADMIN = 31


def run(seed: int, *, is_loud: bool = False) -> Outcome:
    """One seed, start to end; raises what went wrong."""
    return run_to_end(Simulation(seed, is_loud=is_loud), FAULTS_S)


class Simulation:
    def __init__(self, seed: int, *, is_loud: bool) -> None:
        self.world = World(seed, is_loud=is_loud)
        self.truth = Truth()
        self.ledger = Ledger(self.truth)
        self.nodes: list[ControllerNode] = []
        self.brokers: dict[int, Broker] = {}
        self._form()
        machines = [node.machine for node in self.nodes] + self._broker_machines
        self.nemesis = SimNemesis(self.world, machines, self._find_active)
        for machine in machines:
            machine.on_down = self.nemesis.on_down

    # --- the cluster of this seed

    def _form(self) -> None:
        rng = self.world.rng
        voter_count = rng.choice((1, 3, 3, 3, 3, 5))
        count = voter_count + rng.choice((0, 0, 1, 2))
        machines = [
            SimMachine(self.world, number, self._run_controller) for number in range(1, count + 1)
        ]
        directory_ids = [b"\x40" + rng.randbytes(15) for _ in range(voter_count)]
        voters = voters_argument(machines[:voter_count], directory_ids)
        shared = self._properties(machines)
        tightness = rng.choice((1, 1, 40))
        for place, machine in enumerate(machines):
            machine.rate = rng.uniform(0.9, 1.1)
            machine.skew_ms = rng.randrange(-2_000, 2_000)
            machine.tightness = tightness
            properties = shared | {
                "node.id": str(machine.number),
                "listeners": f"CONTROLLER://{machine.host}:{CONTROLLER_PORT}",
            }
            initial = voters if place < voter_count else None
            node = ControllerNode(machine, self.truth, properties, initial, CLUSTER_ID)
            node.format()
            self.nodes.append(node)
        addresses = [Address(machine.host, INTERNAL_PORT) for machine in machines]
        self.scene = Scene(CLUSTER_ID, addresses, self.truth, self.ledger, FIRST_BROKER)
        self._broker_machines = [
            SimMachine(self.world, FIRST_BROKER + number, self._run_broker)
            for number in range(rng.choice((2, 3)))
        ]
        self._admin_machine = SimMachine(self.world, ADMIN, self._run_admin)

    def _properties(self, machines: list[SimMachine]) -> dict[str, str]:
        rng = self.world.rng
        servers = ",".join(f"{machine.host}:{CONTROLLER_PORT}" for machine in machines)
        election_ms = rng.choice((200, 300, 500))
        return {
            "process.roles": "controller",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.bootstrap.servers": servers,
            "controller.quorum.election.timeout.ms": str(election_ms),
            "controller.quorum.fetch.timeout.ms": str(2 * election_ms),
            "controller.quorum.request.timeout.ms": str(2 * election_ms),
            "log.dirs": DIRECTORY,
            "metadata.log.max.record.bytes.between.snapshots": rng.choice(("1500", "6000")),
            "metadata.max.idle.interval.ms": rng.choice(("200", "1000")),
            "broker.session.timeout.ms": "1500",
            "broker.heartbeat.interval.ms": "300",
        }

    # --- its processes

    def _run_controller(self, machine: SimMachine) -> Coroutine[Any, Any, None]:
        return self.nodes[machine.number - 1].run()

    def _run_broker(self, machine: SimMachine) -> Coroutine[Any, Any, None]:
        broker = self.brokers[machine.number] = Broker(machine, self.scene)
        return broker.run()

    async def _run_admin(self, machine: SimMachine) -> None:
        admins = [Administrator(machine, self.scene, number) for number in range(2)]
        self.voter_admin = VoterAdministrator(machine, self.scene, self.nodes, self._find_voters)
        works = [admin.run() for admin in admins]
        await machine.run_together(*works, self.voter_admin.run())

    def _active_nodes(self) -> list[ControllerNode]:
        return [node for node in self.nodes if node.is_active]

    def _find_active(self) -> SimMachine | None:
        active = self._active_nodes()
        return active[self.world.rng.randrange(len(active))].machine if active else None

    def _find_voters(self) -> VoterSet | None:
        active = self._active_nodes()
        return active[-1].voters_now if active else None

    # --- the run

    def scale(self) -> AbstractContextManager[object]:
        """All its times are settings."""
        return nullcontext()

    async def main(self) -> None:
        for node in self.nodes:
            node.machine.start()
        for machine in self._broker_machines:
            machine.start()
        self._admin_machine.start()
        await asyncio.sleep(self.world.rng.uniform(0, 2))
        await self.nemesis.run(FAULTS_S)
        self.voter_admin.is_on = False
        await self._recover()

    async def _recover(self) -> None:
        """Liveness: without faults somebody is active, answers, and everyone follows."""
        created = self.ledger.count.created
        while self.ledger.count.created < created + 3:
            await self._wait("nobody gets a topic created")
        end_offset = self.truth.end_offset
        while not all(node.offset >= end_offset for node in self.nodes):
            await self._wait("controllers stay behind")
        while not all(broker.feed_offset >= end_offset for broker in self.brokers.values()):
            await self._wait("feeds stay behind")
        # The one that created them may have lost its place since, cut off by a connection that was
        # still being made when the faults ended.
        while len(self._active_nodes()) != 1:
            await self._wait("not one controller is active")

    async def _wait(self, problem: str) -> None:
        if self.world.loop.now > FAULTS_S + RECOVERY_S:
            raise InvariantBroken(f"{problem}, {RECOVERY_S:.0f} s after the faults")
        await asyncio.sleep(0.05)

    def coverage(self) -> dict[str, int]:
        counts = (self.truth.count, self.ledger.count, self.nemesis.count)
        return {name: value for count in counts for name, value in asdict(count).items()}
