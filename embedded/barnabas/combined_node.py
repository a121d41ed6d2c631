"""A combined node: broker and controller in one process, on one disk and one internal listener.

The controller starts first, and stops last: the broker registers with it, and asks it for leave.
The two talk within the process. Where the quorum is only this node, nobody else is reached or
served by links at all, and gRPC is not even loaded: Kafka's quick start is such a node. To let
other nodes join it, set `internal.listener`.
"""

import asyncio
from dataclasses import replace

from barnabas.broker_role import BrokerRole, RoleParts
from barnabas_broker.broker_config import BrokerConfig
from barnabas_broker.start import node_broker_config
from barnabas_controller.service import ControllerPorts, ControllerService
from barnabas_controller.start import node_controller_config, start_controller
from barnabas_core.config.node_properties import NodeProperties
from barnabas_core.links.link_config import LinkConfig
from barnabas_core.links.local_links import LocalNetwork
from barnabas_core.links.node_network import NodeNetwork
from barnabas_core.links.stream_links import StreamLinks
from barnabas_core.ports.link import Address, Identity
from barnabas_core.runtime.clock import SystemClock
from barnabas_core.runtime.executor import SystemExecutor
from barnabas_core.runtime.listener import SocketOptions, SystemListener
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.runtime.metrics.registry import Registry
from barnabas_core.runtime.node_home import NodeHome, node_home
from barnabas_core.runtime.observation import observed
from barnabas_core.runtime.process import CannotStart
from barnabas_core.runtime.rng import SystemRng
from barnabas_core.security.node_security import internal_tls


def is_alone(properties: NodeProperties) -> bool:
    """Nobody but this node is in its quorum, and nobody is meant to reach it by links."""
    if properties.has_internal_listener or properties.has_remote_coordinators:
        return False
    if properties.quorum_voters:
        return [node_id for node_id, _, _ in properties.quorum_voters] == [properties.node_id]
    own = (*properties.controller_listeners, *properties.advertised_controller_listeners)
    addresses = {(listener.host, listener.port) for listener in own}
    return all(server in addresses for server in properties.bootstrap_servers)


async def serve_combined(properties: NodeProperties, log: EventLog, end: asyncio.Event) -> int:
    with node_home(properties, log) as home:
        clock, executor = SystemClock(), SystemExecutor()
        try:
            async with observed(properties.metrics_address, clock, executor, log) as metrics:
                return await CombinedNode(properties, home, executor, log, metrics).run(end)
        finally:
            executor.close()


class CombinedNode:
    def __init__(
        self,
        properties: NodeProperties,
        home: NodeHome,
        executor: SystemExecutor,
        log: EventLog,
        metrics: Registry | None,
    ) -> None:
        self._properties = properties
        self._home = home
        self._executor = executor
        self._log = log
        self._metrics = metrics
        self._clock = SystemClock()
        self._rng = SystemRng()
        self._is_alone = is_alone(properties)
        self._config = node_broker_config(properties, home)
        meta = home.meta(properties.metadata_log_dir)
        self._controller_config = node_controller_config(properties, meta)
        self._network = self._make_network()

    async def run(self, end: asyncio.Event) -> int:
        """The exit status, after the end."""
        controller = await self._start_controller()
        fatal = asyncio.get_running_loop().create_task(controller.wait_fatal())
        fatal.add_done_callback(lambda _: end.set())
        try:
            self._check_voters(controller)
            is_lost = await self._run_broker(controller.internal_address, end)
            return int(is_lost or fatal.done())
        finally:
            fatal.cancel()
            await controller.stop()

    async def _run_broker(self, controller: Address, end: asyncio.Event) -> bool:
        """Whether it ended because no log directory is left."""
        parts = RoleParts(self._executor, self._log, self._metrics)
        role = BrokerRole(self._properties, self._home, self._network, parts)
        return await role.run(self._broker_config(controller), end)

    # --- parts

    def _make_network(self) -> NodeNetwork:
        properties = self._properties
        outer = None
        if not self._is_alone:
            from barnabas_core.links.grpc_links import GrpcNetwork  # noqa: PLC0415

            outer = GrpcNetwork(LinkConfig(), internal_tls(properties))
        known = (
            *properties.listeners,
            *properties.advertised_listeners,
            *self._controller_config.advertised,
        )
        hosts = [self._config.internal_host, *(listener.host for listener in known)]
        return NodeNetwork(LocalNetwork(self._log), outer, hosts)

    def _links(self, role: str, incarnation_id: bytes) -> StreamLinks:
        node_id = self._properties.node_id
        identity = Identity(self._home.cluster_id, node_id, role, incarnation_id)
        return StreamLinks(self._network, identity, self._clock, self._log)

    def _new_listener(self) -> SystemListener:
        return SystemListener(SocketOptions.from_broker(self._properties.raw))

    async def _start_controller(self) -> ControllerService:
        config = self._controller_config
        incarnation_id = self._rng.randbytes(16)
        links = self._links("controller", incarnation_id)
        ports = ControllerPorts(
            self._clock, self._rng, self._home.disk, self._executor, links, self._new_listener,
            self._log, self._metrics,
        )  # fmt: skip
        service = await start_controller(config, incarnation_id, ports)
        listeners = ",".join(map(str, config.advertised))
        self._log.info("controller started", node=self._properties.node_id, listeners=listeners)
        return service

    def _check_voters(self, controller: ControllerService) -> None:
        """The log may know of voters whom the properties do not name."""
        voters = controller.driver.node.quorum.history.voters.ids
        others = sorted(set(map(int, voters)) - {self._properties.node_id})
        if self._is_alone and others:
            raise CannotStart(
                f"the quorum has other voters, {', '.join(map(str, others))}: name them in "
                "controller.quorum.bootstrap.servers, or set internal.listener"
            )

    def _broker_config(self, controller: Address) -> BrokerConfig:
        others = () if self._is_alone else self._config.controllers
        return replace(self._config, controllers=tuple(dict.fromkeys((controller, *others))))
