"""A simulated group coordinator: the product's `CoordinatorService`, which keeps nothing."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from barnabas_coordinator.group.group_settings import GroupSettings
from barnabas_coordinator.group.group_shard import GroupShard
from barnabas_coordinator.membership import MembershipConfig
from barnabas_coordinator.service import CoordinatorConfig, CoordinatorPorts, CoordinatorService
from barnabas_core.ports.link import Address
from tests.sim.sim_machine import SimMachine

COORDINATOR_PORT = 9_094


@dataclass(slots=True)
class CoordinatorNode:
    """What is known of one coordinator across its processes."""

    machine: SimMachine
    properties: Mapping[str, str]
    controllers: Sequence[Address]
    cluster_id: str
    service: CoordinatorService | None = None

    @property
    def session_count(self) -> int:
        if not self.machine.is_running or self.service is None:
            return 0
        return self.service._shards.session_count

    async def run(self) -> None:
        """One process, from its start to its end."""
        machine = self.machine
        self.service = self._make()
        await self.service.start()
        end = asyncio.Event()
        machine.terminate = end.set
        await end.wait()
        await self.service.drain()
        await self.service.stop()
        machine.world.later(0.0, lambda: machine.crash(machine=False))

    def _make(self) -> CoordinatorService:
        machine = self.machine
        settings = GroupSettings.from_broker(self.properties)
        config = CoordinatorConfig(
            self.controllers,
            Address(machine.host, COORDINATOR_PORT),
            lambda: GroupShard(settings),
            MembershipConfig(
                machine.host,
                heartbeat_interval_ms=300,
                session_timeout_ms=1_500,
                drain_timeout_ms=2_000,
            ),
        )
        links = machine.links(self.cluster_id, "group")
        ports = CoordinatorPorts(machine.clock, machine.rng, machine.executor, links, machine.log)
        return CoordinatorService(config, ports)
