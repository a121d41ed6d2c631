"""A simulated broker with a group coordinator in its own process, as `barnabas serve` has it."""

from dataclasses import dataclass, replace

from barnabas.lazy_coordinator import LazyCoordinator
from barnabas.local_coordinator import group_coordinator
from barnabas_broker.broker_config import BrokerConfig
from barnabas_broker.broker_ports import BrokerPorts
from barnabas_coordinator.service import CoordinatorPorts, CoordinatorService
from barnabas_core.links.local_links import LocalNetwork
from barnabas_core.links.shards_at_home import ShardsAtHome
from barnabas_core.links.stream_links import StreamLinks
from barnabas_core.ports.link import Address, Identity
from tests.sim.broker_node import BrokerNode

AT_HOME = Address("coordinator", 1)


@dataclass(slots=True)
class HomeBrokerNode(BrokerNode):
    coordination: LazyCoordinator | None = None

    async def run(self) -> None:
        try:
            await BrokerNode.run(self)
        finally:
            if self.coordination is not None:
                await self.coordination.stop()

    def _make(self) -> tuple[BrokerConfig, BrokerPorts]:
        config, ports = BrokerNode._make(self)
        network = ShardsAtHome(LocalNetwork(self.machine.log), self.machine.network)
        links = self._links(network, "broker", self.incarnation_id)
        self.coordination = LazyCoordinator(
            lambda: self._coordinator(config, network), self.machine.log
        )
        ports = replace(ports, links=links, need_coordinator=self.coordination.need)
        return replace(config, local_coordinator=AT_HOME), ports

    def _coordinator(self, config: BrokerConfig, network: ShardsAtHome) -> CoordinatorService:
        machine = self.machine
        links = self._links(network, "group", machine.rng.randbytes(16))
        ports = CoordinatorPorts(machine.clock, machine.rng, machine.executor, links, machine.log)
        return group_coordinator(self.properties, AT_HOME, config.controllers, ports)

    def _links(self, network: ShardsAtHome, role: str, incarnation_id: bytes) -> StreamLinks:
        machine = self.machine
        identity = Identity(self.cluster_id, machine.number, role, incarnation_id)
        return StreamLinks(network, identity, machine.clock, machine.log)
