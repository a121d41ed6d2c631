"""One controller: a place in the quorum, the engine behind it, and the ways in.

Order of starting: the links by which other controllers reach this one, the quorum, then the
CONTROLLER listener. A controller serves as soon as it has links; whether it is active, the quorum
decides.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from barnabas_controller.controller_config import ControllerConfig
from barnabas_controller.coordinator_membership import CoordinatorMembership, MembershipService
from barnabas_controller.duties import Duties
from barnabas_controller.engine import Engine
from barnabas_controller.health import ControllerHealth, HealthParts
from barnabas_controller.link_services import CallService
from barnabas_controller.listener_handlers import listener_handlers
from barnabas_controller.managers.brokers.activation import decide_bootstrap
from barnabas_controller.managers.registry import decided_apis
from barnabas_controller.managers.view import QuorumFacts
from barnabas_controller.quorum.driver import QuorumDriver, QuorumPorts
from barnabas_controller.quorum_apis import QuorumApis
from barnabas_controller.read_apis import ReadApis
from barnabas_controller.registration import Registrar, registration_request
from barnabas_controller.requests import Answerer, Requests
from barnabas_core.config.listener import Listener as BoundListener
from barnabas_core.links.controller_client import ControllerClient
from barnabas_core.links.metadata_feed_service import FeedClient, MetadataFeedService
from barnabas_core.metadata.node_features import (
    finalized_epoch,
    finalized_features,
    local_features,
)
from barnabas_core.ports import Clock, Disk, DiskError, Executor, Rng
from barnabas_core.ports.link import Address, Identity, Links, LinkServer, Purpose, Service
from barnabas_core.raft.internal_address import internal_address, shifted
from barnabas_core.runtime.log_setup import EventLog, FloodLimit
from barnabas_core.runtime.supervisor import Supervisor
from barnabas_core.runtime.timers import Timers
from barnabas_core.server.api_versions import ApiVersionsHandler, FeatureView, NodeIdentity
from barnabas_core.server.dispatch import Dispatcher, Handler
from barnabas_core.server.endpoint import Endpoint, EndpointParts, Listener
from barnabas_core.wire.api import ApiKey
from barnabas_core.wire.schema import Message

if TYPE_CHECKING:
    from barnabas_controller.observation import ControllerObserver
    from barnabas_core.runtime.metrics.registry import Registry


@dataclass(frozen=True, slots=True)
class ControllerPorts:
    clock: Clock
    rng: Rng
    disk: Disk
    executor: Executor
    links: Links
    new_listener: Callable[[], Listener]
    log: EventLog
    metrics: "Registry | None" = None
    """Where it says what it can tell; None: nothing is counted."""


class ControllerService:
    def __init__(
        self,
        config: ControllerConfig,
        bootstrap: Sequence[Message],
        incarnation_id: bytes,
        on: ControllerPorts,
    ) -> None:
        """`bootstrap`: the records that a cluster begins with, from its formatted directory."""
        self._config = config
        self._bootstrap = bootstrap
        self._on = on
        self._timers = Timers(on.clock)
        self._supervisor = Supervisor(on.log)
        self.engine = Engine(config.settings, on.clock, on.rng)
        ports = QuorumPorts(on.disk, on.executor, on.clock, on.rng, on.links)
        self.driver = QuorumDriver(config.quorum, ports, self.engine, self._on_fatal)
        self.engine.attach(self.driver, self._quorum_facts)
        self._feed: MetadataFeedService | None = None
        self.requests = Requests(self.engine, decided_apis(), self._answerers())
        self._forward = CallService(
            self.requests, self._find_active, cluster_actions=False, is_admitted=self._may_forward
        )
        self.coordinators = CoordinatorMembership(self.engine, self._find_active, on.clock, on.log)
        self._health = ControllerHealth(
            HealthParts(self.engine, self.driver, on.clock, self._find_active, self.coordinators),
            self._forward,
        )
        self._incarnation_id = incarnation_id
        self._server: LinkServer | None = None
        self._endpoints: list[Endpoint] = []
        self._observer = None if on.metrics is None else self._make_observer(on.metrics)
        meter = None if self._observer is None else self._observer.meter
        complaints = FloodLimit(on.log, on.clock)
        self._dispatcher = Dispatcher(self._handlers(), on.log, meter, complaints)
        self._fatal: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()
        self.engine.on_reign = self._on_reign

    @property
    def internal_address(self) -> Address:
        """Where its links are, with the port that was really bound."""
        assert self._server is not None
        return self._server.address

    async def start(self) -> None:
        """`OSError` where an address cannot be bound, `DiskError` where the log is out of reach."""
        try:
            await self.driver.start()
            self._feed = MetadataFeedService(self.driver.committed_log, self._on.clock)
            self._server = await self._on.links.serve(self._config.internal, self._services())
            for listener in self._config.listeners:
                await self._listen(listener)
        except BaseException:
            await self.stop()
            raise
        Duties(self.engine, self._on.clock, self._config.intervals).start(self._supervisor)
        self.coordinators.start(self._supervisor)
        self._supervisor.start("registration", self._register)

    async def stop(self) -> None:
        """Hand over leadership, then close: whoever asked meanwhile is told to ask another."""
        await self._supervisor.stop()
        for endpoint in self._endpoints:
            await endpoint.close()
        await self.driver.stop()
        await self._dispatcher.close()
        if self._server is not None:
            await self._server.close()
        await self.coordinators.close()
        for endpoint in self._endpoints:
            endpoint.abort_connections()
        self._timers.close()

    async def wait_fatal(self) -> BaseException:
        """Returns when the metadata directory failed, or an invariant: the process is to end."""
        return await self._fatal

    # --- parts

    def _feed_clients(self) -> Sequence[FeedClient]:
        return () if self._feed is None else self._feed.clients()

    def _services(self) -> dict[Purpose, Service]:
        assert self._feed is not None
        membership = CallService(
            self.requests, self._find_active, cluster_actions=True, on_closed=self._on_link_closed
        )
        return {
            Purpose.RAFT: self.driver.raft_service,
            Purpose.METADATA_FEED: self._feed,
            Purpose.MEMBERSHIP: MembershipService(membership, self.coordinators),
            Purpose.FORWARD: self._forward,
            Purpose.CLUSTER_HEALTH: self._health.service,
        }

    def _answerers(self) -> Mapping[ApiKey, Answerer]:
        settings = self._config.settings
        quorum = QuorumApis(self.engine, self.driver, settings.cluster_id, self._feed_clients)
        names = [listener.name for listener in self._config.listeners]
        reads = ReadApis(self.engine, self.driver, names[0] if names else "")
        return {
            ApiKey.DESCRIBE_QUORUM: quorum.describe,
            ApiKey.ADD_RAFT_VOTER: quorum.add_voter,
            ApiKey.REMOVE_RAFT_VOTER: quorum.remove_voter,
            ApiKey.UPDATE_FEATURES: quorum.update_features,
            ApiKey.DESCRIBE_CLUSTER: reads.describe_cluster,
            ApiKey.DESCRIBE_CONFIGS: reads.describe_configs,
        }

    def _handlers(self) -> list[Handler]:
        settings = self._config.settings
        handlers = listener_handlers(self.requests, lambda: self.driver.leader.leader_id)
        identity = NodeIdentity(settings.cluster_id, settings.node_id)
        return [*handlers, ApiVersionsHandler(handlers, identity, self._features).handler]

    def _make_observer(self, registry: "Registry") -> "ControllerObserver":
        from barnabas_controller.observation import (  # noqa: PLC0415 - most are never looked at
            ControllerObserver,
            ObservedController,
        )

        controller = ObservedController(
            self.engine, self.driver, lambda: self._endpoints, lambda: self._feed is not None
        )
        return ControllerObserver(registry, self._on.clock, controller)

    async def _listen(self, listener: BoundListener) -> None:
        on = self._on
        endpoint = Endpoint(
            on.new_listener(),
            self._dispatcher,
            replace(self._config.endpoint, listener_name=listener.name),
            EndpointParts(on.clock, self._timers, on.executor, on.log, self._on_fatal),
        )
        self._endpoints.append(endpoint)
        await endpoint.open(listener.host, listener.port)

    def _quorum_facts(self) -> QuorumFacts:
        history = self.driver.node.quorum.history
        return QuorumFacts(history.kraft_version, tuple(map(int, history.voters.ids)))

    def _features(self) -> FeatureView:
        image = self.engine.committed
        kraft_version = self.driver.node.quorum.history.kraft_version
        return FeatureView(
            supported=local_features(),
            finalized=tuple(
                (name, level, level)
                for name, level in finalized_features(image, kraft_version).items()
            ),
            epoch=finalized_epoch(image),
        )

    # --- what happens

    def _on_reign(self, is_active: bool) -> None:  # noqa: FBT001 - told by the engine
        engine, log = self.engine, self._on.log
        self.coordinators.on_reign()
        if not is_active:
            log.info("no longer the active controller")
            return
        log.info("the active controller", epoch=engine.epoch)
        self._health.on_reign()
        if not engine.latest.features:
            # Before anything else that is decided: these records say how to write the others.
            written = engine.submit(lambda view: decide_bootstrap(view, self._bootstrap))
            written.add_done_callback(_heard)

    def _may_forward(self, identity: Identity) -> bool:
        """A controller that is not active may not know it yet, and sends it on anyway."""
        engine = self.engine
        if not engine.is_active:
            return True
        return identity.role == "broker" and identity.node_id in engine.latest.cluster.brokers

    def _on_link_closed(self, identity: Identity) -> None:
        """A broker's process is gone, or it says so: its session need not run its length."""
        liveness = self.engine.liveness
        broker = self.engine.latest.cluster.brokers.get(identity.node_id)
        if liveness is None or broker is None or identity.role != "broker":
            return
        if broker.incarnation_id == identity.incarnation_id:
            liveness.on_link_closed(
                broker.id,
                broker.epoch,
                self._on.clock.monotonic_ms(),
                self._config.settings.broker_heartbeat_interval_ms,
            )

    def _on_fatal(self, error: BaseException) -> None:
        if isinstance(error, DiskError):
            self._on.log.error("the metadata directory failed", reason=str(error))
        else:
            self._on.log.failure("the quorum cannot go on", error)
        if not self._fatal.done():
            self._fatal.set_result(error)

    def _find_active(self) -> tuple[int | None, Address | None]:
        news = self.driver.leader
        offset = self._config.quorum.internal_port_offset
        return news.leader_id, internal_address(news.endpoints, offset)

    async def _register(self) -> None:
        config = self._config
        request = registration_request(
            config.settings.node_id, self._incarnation_id, config.advertised
        )
        client = ControllerClient(
            self._on.links, self._controllers(), Purpose.MEMBERSHIP, self._on.clock
        )
        try:
            await Registrar(self.engine, client, request, self._on.log).run()
        finally:
            await client.close()

    def _controllers(self) -> list[Address]:
        """Where to look for the active one: here first, then where the quorum is said to be."""
        quorum = self._config.quorum
        offset = quorum.internal_port_offset
        voters = quorum.static_voters or ()
        known = [internal_address(voter.endpoints, offset) for voter in voters]
        known += [Address(at.host, shifted(at.port, offset)) for at in quorum.bootstrap_servers]
        return list(dict.fromkeys([self.internal_address, *(at for at in known if at)]))


def _heard(written: "asyncio.Future[Any]") -> None:
    """If it failed, the next active controller finds the log empty and does the same."""
    if not written.cancelled():
        written.exception()
