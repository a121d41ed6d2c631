"""The broker as a whole: its place in the cluster, logs, handlers, listeners and upkeep.

Everything that touches the world comes in through `BrokerPorts`, so that the same broker runs on
real sockets and disks and in a simulation.

Order of starting: the ports are bound, so that they can be registered; the broker registers and
follows the metadata up to its own registration; then the logs are opened, with the configs that the
metadata give them, and the partitions made that it asks for; then the controller is told so, and
when it has let the broker in, clients are served. A broker that cannot reach a controller waits.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from barnabas_broker.broker_config import BrokerConfig
from barnabas_broker.broker_ports import BrokerPorts
from barnabas_broker.cleaning import run_cleaner
from barnabas_broker.cluster_view import ClusterView
from barnabas_broker.directory_assignment import (
    AssignmentParts,
    DirectoryAssignment,
    assigned_in,
)
from barnabas_broker.directory_facts import read_directory_facts
from barnabas_broker.dynamic_config import DynamicConfig
from barnabas_broker.forwarding import Forwarder
from barnabas_broker.handler_table import HandlerParts, handlers
from barnabas_broker.handlers.list_offsets import ListOffsetsHandler
from barnabas_broker.health import BrokerHealth
from barnabas_broker.lifecycle import Lifecycle, LifecycleParts, Standing
from barnabas_broker.live_settings import LiveSettings
from barnabas_broker.log_ends import LogEndService
from barnabas_broker.partitions.purgatory import Purgatory
from barnabas_broker.producer_ids import ProducerIds
from barnabas_broker.registration import internal_listener, registration_request
from barnabas_broker.replica_moves import MoveParts, ReplicaMoves
from barnabas_broker.replicas.applier import MetadataApplier
from barnabas_broker.replicas.replicas import Replicas
from barnabas_broker.replicas.topic_configs import TopicConfigs
from barnabas_broker.replication.replication import Replication, ReplicationParts
from barnabas_broker.shards.coordinator_view import CoordinatorView
from barnabas_broker.shards.group_coordination import CoordinationParts, GroupCoordination
from barnabas_broker.storage import Storage, StorageParts, open_logs
from barnabas_broker.topic_creation import TopicCreation
from barnabas_broker.upkeep import Upkeep
from barnabas_core.config.listener import Listener as ListenerAddress
from barnabas_core.links.controller_client import ControllerClient
from barnabas_core.links.metadata_feed import MetadataFeed
from barnabas_core.log.environment import LogEnvironment
from barnabas_core.metadata.delta import Delta
from barnabas_core.metadata.image import Image
from barnabas_core.ports.link import Address, LinkServer, Purpose, Service
from barnabas_core.runtime.log_setup import FloodLimit
from barnabas_core.runtime.supervisor import Supervisor, TaskList
from barnabas_core.runtime.timers import Timers
from barnabas_core.server.connection_quota import ConnectionQuota
from barnabas_core.server.dispatch import Dispatcher, Handler
from barnabas_core.server.endpoint import Endpoint, EndpointParts

if TYPE_CHECKING:
    from barnabas_broker.observation.observer import BrokerObserver
    from barnabas_core.runtime.metrics.registry import Registry


class BrokerService:
    """Make it inside a running loop, `start`, `stop`."""

    def __init__(self, config: BrokerConfig, incarnation_id: bytes, on: BrokerPorts) -> None:
        self._config = config
        self._on = on
        self._incarnation_id = incarnation_id
        self._timers = Timers(on.clock)
        self._tasks = TaskList(on.log)
        self._supervisor = Supervisor(on.log)
        self._is_open = False
        self.view = ClusterView(config.cluster_id, config.node_id)
        self._configs = TopicConfigs(config.node_id, config.static_configs)
        self.purgatory = Purgatory(self._timers)
        self.storage = self._make_storage()
        self._quota = ConnectionQuota(config.endpoint.limits)
        self._dynamic = DynamicConfig(config.node_id, config.static_configs, on.log)
        self._live = LiveSettings(
            self._dynamic, self._quota, self.storage.logs.environment, config.cleaner
        )
        self._dynamic.add("cordoned directories", lambda _: self.lifecycle.hurry())
        self._applier = MetadataApplier(self._apply)
        self._feed = MetadataFeed(on.links, config.controllers, self._applier, on.clock, on.log)
        coordinators = CoordinatorView.for_broker(config, on.log)
        self._membership = ControllerClient(
            on.links, config.controllers, Purpose.MEMBERSHIP, on.clock, coordinators.events
        )
        self._forward = ControllerClient(on.links, config.controllers, Purpose.FORWARD, on.clock)
        self._lifecycle: Lifecycle | None = None
        self.replication = self._make_replication()
        self._replicas = Replicas(
            self.storage, self.view, self._configs, self.replication.followers, on.clock
        )
        self._assignment = DirectoryAssignment(
            AssignmentParts(
                self._membership,
                on.clock,
                on.log,
                config.node_id,
                lambda: self.lifecycle.broker_epoch,
            ),
            self.storage.logs,
        )
        self._moves = ReplicaMoves(
            MoveParts(self.storage, self._assignment, on.clock, on.executor, on.log)
        )
        self._dynamic.add("replica moves", self._moves.set_rate)
        self._groups = GroupCoordination(
            config,
            coordinators,
            CoordinationParts(
                self.view, self.storage, Forwarder(self._forward), self._applier,
                on.links, on.need_coordinator, on.clock, on.executor, on.log,
            ),
        )  # fmt: skip
        self._health = BrokerHealth(self.view, self._feed, self._applier, lambda: self._lifecycle)
        self._observer = None if on.metrics is None else self._make_observer(on.metrics)
        meter = None if self._observer is None else self._observer.meter
        complaints = FloodLimit(on.log, on.clock)
        self._dispatcher = Dispatcher(self._make_handlers(), on.log, meter, complaints)
        self._endpoints = [self._make_endpoint(listener) for listener in config.listeners]
        self._advertised: list[ListenerAddress] = []
        self._server: LinkServer | None = None

    def _make_storage(self) -> Storage:
        config, on = self._config, self._on
        logs = open_logs(
            LogEnvironment(on.disk, on.rng, config.producer_expiration_ms),
            on.clock,
            config.log_dirs,
            (config.cluster_id, config.node_id),
            self._configs.of,
        )
        return Storage(logs, self.purgatory, StorageParts(on.clock, on.executor, on.log))

    def _make_replication(self) -> Replication:
        on = self._on
        parts = ReplicationParts(
            self.view,
            self.storage,
            self._membership,
            on.links,
            on.clock,
            on.executor,
            self._tasks,
            on.log,
            lambda: self.lifecycle.broker_epoch,
            self._configs.own,
        )
        replication = Replication(self._config.replication, parts)
        self._dynamic.add("replication", replication.throttle.set_rates)
        return replication

    def _make_endpoint(self, listener: ListenerAddress) -> Endpoint:
        on = self._on
        return Endpoint(
            on.new_listener(),
            self._dispatcher,
            replace(self._config.endpoint, listener_name=listener.name),
            EndpointParts(
                on.clock, self._timers, on.executor, on.log, self.storage.fail, self._quota
            ),
        )

    def _make_handlers(self) -> list[Handler]:
        extra = () if self._observer is None else self._observer.handlers
        served = handlers(self._handler_parts(), [*extra, *self._groups.handlers])
        if self._on.intercept is not None:
            served = list(map(self._on.intercept, served))
        return served if self._observer is None else list(map(self._observer.watched, served))

    def _make_observer(self, registry: "Registry") -> "BrokerObserver":
        # Loaded here: most who run a cluster for a test never look at its figures.
        from barnabas_broker.observation.observer import (  # noqa: PLC0415
            BrokerObserver,
            ObservedBroker,
        )

        on, parts = self._on, (self.view, self.storage, self.replication, self.purgatory)
        broker = ObservedBroker(*parts, self._health, lambda: self._endpoints, self._config)
        return BrokerObserver(registry, broker, on.clock, on.executor, on.rng)

    def _handler_parts(self) -> HandlerParts:
        config, on = self._config, self._on
        forwarder = Forwarder(self._forward)
        creation = TopicCreation(forwarder, self._applier, self.view)
        return HandlerParts(
            view=self.view,
            storage=self.storage,
            purgatory=self.purgatory,
            forwarder=forwarder,
            producer_ids=ProducerIds(
                self._membership, config.node_id, lambda: self.lifecycle.broker_epoch
            ),
            create_topics=creation.create if config.auto_create_topics else None,
            clock=on.clock,
            executor=on.executor,
            tasks=self._tasks,
            fetch_bytes_max=config.fetch_bytes_max,
            fetch_session_slots=config.fetch_session_slots,
            described_partition_count_max=config.described_partition_count_max,
            is_rack_aware=config.is_rack_aware,
            rng=on.rng,
            static_configs=config.static_configs,
            log_levels=on.log.levels,
            moves=self._moves,
        )

    # --- what others ask

    @property
    def lifecycle(self) -> Lifecycle:
        assert self._lifecycle is not None, "the broker was started"
        return self._lifecycle

    @property
    def advertised(self) -> Sequence[ListenerAddress]:
        """Where clients reach it."""
        return self._advertised

    @property
    def internal_address(self) -> Address:
        """Where its links are, with the port that was really bound."""
        assert self._server is not None, "the broker was started"
        return self._server.address

    async def wait_lost(self) -> None:
        """Returns when there is no log directory left to serve from."""
        await self.storage.all_lost.wait()

    async def wait_applied(self, offset: int) -> None:
        """Until the metadata record at `offset` is applied; the caller sets the deadline."""
        await self._applier.wait_applied(offset)

    # --- life

    async def start(self) -> None:
        """Returns when clients can use it.

        `OSError` where a listener cannot be bound, `RegistrationRefused` where the cluster will not
        have it, `LogError` or `DiskError` where no log directory can be used.
        """
        try:
            await self._join()
            await self._open()
        except BaseException:
            await self._close_links()
            for endpoint in self._endpoints:
                await endpoint.close()
            await self._supervisor.stop()
            if self._is_open:
                await self.storage.close()
            self._timers.close()
            raise

    async def _join(self) -> None:
        config, on = self._config, self._on
        for listener, endpoint in zip(config.listeners, self._endpoints, strict=True):
            _, port = await endpoint.reserve(listener.host, listener.port)
            self._advertised.extend(self._advertised_as(listener, port))
        self._server = await on.links.serve(config.internal, self._services())
        internal = Address(config.internal_host or config.internal.host, self._server.address.port)
        request = registration_request(
            config,
            [*self._advertised, internal_listener(internal)],
            self._incarnation_id,
            read_directory_facts(on.disk, config.log_dirs),
        )
        parts = LifecycleParts(
            self._membership,
            on.clock,
            on.log,
            lambda: self._applier.applied_offset,
            self._offline_directory_ids,
            lambda: self._live.cordoned_directories(self.storage.logs.directories),
        )
        self._lifecycle = Lifecycle(request, config.lifecycle, parts)
        self._supervisor.start("metadata feed", self._feed.run)
        await self._lifecycle.register()
        await self._feed.wait_for(self._lifecycle.broker_epoch + 1)

    async def _open(self) -> None:
        lifecycle = self.lifecycle
        self.storage.on_directory_lost = lifecycle.hurry
        # Only now is it known which topics are compacted: recovery must not guess.
        image = self._applier.catch_up()
        self._configs.update(image)
        await self.storage.open(assigned_in(image, self._config.node_id))
        self._is_open = True
        self._supervisor.start("metadata", self._applier.run)
        self.replication.start(self._supervisor)
        self._groups.start(self._supervisor)
        await self._applier.wait_applied(lifecycle.broker_epoch)
        upkeep = Upkeep(self.storage, self._on.clock, self._on.executor, self._config)
        upkeep.start(self._supervisor)
        on = self._on
        self._supervisor.start(
            "cleaner",
            lambda: run_cleaner(self.storage, upkeep, self._live, on.clock, on.executor, on.log),
        )
        self._supervisor.start("heartbeats", lifecycle.run)
        self._supervisor.start("directory assignment", self._assignment.run)
        self._supervisor.start("replica moves", self._moves.run)
        await lifecycle.wait_unfenced()
        await self._applier.wait_until(self._is_seen_unfenced)
        # Only now: to a client that came earlier there would be no broker in the cluster.
        for listener, endpoint in zip(self._config.listeners, self._endpoints, strict=True):
            await endpoint.open(listener.host, listener.port)

    def _is_seen_unfenced(self) -> bool:
        own = self.view.image.cluster.brokers.get(self._config.node_id)
        return own is not None and not own.is_fenced

    async def stop(self) -> None:
        """Hand leadership over, take no more requests, leave the disk as after a clean shutdown."""
        lifecycle = self.lifecycle
        if self._config.controlled_shutdown:
            await lifecycle.leave(self._config.shutdown_timeout_ms)
        for endpoint in self._endpoints:
            await endpoint.close()
        await self._dispatcher.close()
        await self._tasks.stop()
        await self._supervisor.stop()
        await self._close_links()
        await self.storage.close(lifecycle.broker_epoch)
        for endpoint in self._endpoints:
            endpoint.abort_connections()
        self._timers.close()

    async def kill(self) -> None:
        """As if the process were killed: nobody is told, and nothing more is written.

        Whoever restarts it first waits for what its threads were in the middle of.
        """
        # Before anything is awaited: a log that is offline takes nothing, not even what is staged.
        for directory in self.storage.logs.directories:
            directory.fail("the broker was killed")
        self.lifecycle.standing = Standing.LEFT  # no heartbeat tells of that
        for endpoint in self._endpoints:
            endpoint.abort_connections()
        for endpoint in self._endpoints:
            await endpoint.close()
        await self._close_links()
        await self._dispatcher.close()
        await self._tasks.stop()
        await self._supervisor.stop()
        self._timers.close()

    def _services(self) -> dict[Purpose, Service]:
        """What other processes of the cluster ask of this one."""
        ends = ListOffsetsHandler(self.storage.partitions, self.view, self._on.executor)
        return {
            **self.replication.services,
            Purpose.LOG_END: LogEndService(ends.handle),
            Purpose.BROKER_HEALTH: self._health.service,
        }

    async def _close_links(self) -> None:
        await self.replication.close()
        if self._server is not None:
            await self._server.close()
        await self._membership.close()
        await self._forward.close()

    # --- parts

    async def _apply(self, delta: Delta, image: Image) -> None:
        self.view.kraft_version = self._applier.kraft_version
        self._dynamic.update(image)
        if self._observer is not None:
            self._observer.isr_changes.on_delta(delta, self.view.image, image)
        await self._replicas.apply(delta, image)
        self._groups.apply()
        await self.replication.on_brokers_changed(delta.cluster.changed_brokers)
        self._assignment.apply(delta, image)
        lifecycle = self._lifecycle
        if lifecycle is not None and lifecycle.is_fenced:
            lifecycle.hurry()

    def _advertised_as(self, listener: ListenerAddress, port: int) -> list[ListenerAddress]:
        """None where others are advertised and this one is not."""
        wanted = self._config.advertised or (listener,)
        return [one._replace(port=one.port or port) for one in wanted if one.name == listener.name]

    def _offline_directory_ids(self) -> list[bytes]:
        directories = self.storage.logs.directories
        return [one.id for one in directories if not one.is_online and one.meta is not None]
