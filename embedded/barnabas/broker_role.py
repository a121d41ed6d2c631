"""The broker of a node that `barnabas serve` runs, and the group coordinator in its process.

The coordinator is started when there is a shard to be leased, and stops after the broker, which
hands its leadership over first. With `coordinator.mode=remote` there is none.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from barnabas.lazy_coordinator import LazyCoordinator
from barnabas_broker.broker_config import BrokerConfig
from barnabas_broker.broker_ports import BrokerPorts
from barnabas_broker.service import BrokerService
from barnabas_broker.start import node_broker_config, start_broker, start_unless, until_lost
from barnabas_coordinator.group.group_settings import GroupSettings
from barnabas_core.config.error import ConfigError
from barnabas_core.config.node_properties import NodeProperties
from barnabas_core.links.link_config import LinkConfig
from barnabas_core.links.local_links import LocalNetwork
from barnabas_core.links.shards_at_home import ShardsAtHome
from barnabas_core.links.stream_links import StreamLinks
from barnabas_core.links.transport import Network
from barnabas_core.ports.link import Address, Identity
from barnabas_core.runtime.clock import SystemClock
from barnabas_core.runtime.executor import SystemExecutor
from barnabas_core.runtime.listener import SocketOptions, SystemListener
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.runtime.metrics.registry import Registry
from barnabas_core.runtime.node_home import NodeHome, node_home
from barnabas_core.runtime.observation import observed
from barnabas_core.runtime.process import CannotStart, settle
from barnabas_core.runtime.rng import SystemRng
from barnabas_core.security.node_security import internal_tls

if TYPE_CHECKING:
    from barnabas_coordinator.service import CoordinatorService

_COORDINATOR: Final = Address("coordinator", 1)
"""Within the process."""


async def serve_broker_node(properties: NodeProperties, log: EventLog, end: asyncio.Event) -> int:
    """A node that is a broker alone; the exit status."""
    with node_home(properties, log) as home:
        clock, executor = SystemClock(), SystemExecutor()
        try:
            async with observed(properties.metrics_address, clock, executor, log) as metrics:
                from barnabas_core.links.grpc_links import GrpcNetwork  # noqa: PLC0415

                network = GrpcNetwork(LinkConfig(), internal_tls(properties))
                role = BrokerRole(properties, home, network, RoleParts(executor, log, metrics))
                return int(await role.run(node_broker_config(properties, home), end))
        finally:
            executor.close()


@dataclass(frozen=True, slots=True)
class RoleParts:
    executor: SystemExecutor
    log: EventLog
    metrics: Registry | None


class BrokerRole:
    def __init__(
        self, properties: NodeProperties, home: NodeHome, network: Network, on: RoleParts
    ) -> None:
        """`network`: by which other processes, or other roles of this one, are reached."""
        self._properties = properties
        self._home = home
        self._has_coordinator = not properties.has_remote_coordinators
        self._network = network
        if self._has_coordinator:
            self._network = ShardsAtHome(LocalNetwork(on.log), network)
        self._on = on
        self._clock = SystemClock()
        self._rng = SystemRng()

    async def run(self, config: BrokerConfig, end: asyncio.Event) -> bool:
        """Whether it ended because no log directory is left."""
        self._check_groups()
        coordination = LazyCoordinator(lambda: self._make_coordinator(config), self._on.log)
        need = coordination.need if self._has_coordinator else _nothing
        broker = self._make_broker(config, need)
        try:
            if not await start_unless(end, start_broker(broker, self._on.log)):
                return False
            settle()
            is_lost = await until_lost(broker, end)
            await broker.stop()
            return is_lost
        finally:
            await coordination.stop()

    def _check_groups(self) -> None:
        """When the coordinator is made it is too late to complain."""
        try:
            GroupSettings.from_broker(self._properties.raw)
        except ConfigError as error:
            raise CannotStart(str(error)) from error

    def _links(self, role: str, incarnation_id: bytes) -> StreamLinks:
        node_id = self._properties.node_id
        identity = Identity(self._home.cluster_id, node_id, role, incarnation_id)
        return StreamLinks(self._network, identity, self._clock, self._on.log)

    def _make_broker(
        self, config: BrokerConfig, need_coordinator: Callable[[], None]
    ) -> BrokerService:
        incarnation_id = self._rng.randbytes(16)
        links = self._links("broker", incarnation_id)
        ports = BrokerPorts(
            self._clock, self._rng, self._home.disk, self._on.executor, links, self._new_listener,
            self._on.log, metrics=self._on.metrics, need_coordinator=need_coordinator,
        )  # fmt: skip
        if self._has_coordinator:
            config = replace(config, local_coordinator=_COORDINATOR)
        return BrokerService(config, incarnation_id, ports)

    def _make_coordinator(self, config: BrokerConfig) -> "CoordinatorService":
        # Loaded when somebody wants it.
        from barnabas.local_coordinator import group_coordinator  # noqa: PLC0415
        from barnabas_coordinator.service import CoordinatorPorts  # noqa: PLC0415

        links = self._links("group", self._rng.randbytes(16))
        ports = CoordinatorPorts(
            self._clock, self._rng, self._on.executor, links, self._on.log, self._on.metrics
        )
        node_id, raw = self._properties.node_id, self._properties.raw
        return group_coordinator(raw, _COORDINATOR, config.controllers, ports, node_id)

    def _new_listener(self) -> SystemListener:
        return SystemListener(SocketOptions.from_broker(self._properties.raw))


def _nothing() -> None:
    """The coordinators are there by themselves."""
