"""A coordinator as a whole: it registers with the controllers, follows the metadata, and computes
for the shards that brokers lease to it. It keeps nothing: all state is in the brokers' logs.

One in a broker's own process is known to that broker, and does not register.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from barnabas_coordinator.health import CoordinatorHealth
from barnabas_coordinator.membership import Membership, MembershipConfig, MembershipParts
from barnabas_coordinator.observation_config import ObservationConfig
from barnabas_coordinator.session import SessionParts
from barnabas_coordinator.shard.decision import Machine
from barnabas_coordinator.shard_service import ShardService
from barnabas_core.links.controller_client import ControllerClient
from barnabas_core.links.metadata_feed import MetadataFeed
from barnabas_core.metadata.delta import Delta
from barnabas_core.metadata.image import EMPTY_IMAGE, Image
from barnabas_core.metadata.loader import MetadataLoader
from barnabas_core.ports import Clock, Executor, Rng
from barnabas_core.ports.link import Address, Links, LinkServer, Purpose, Service
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.runtime.metrics.histogram import Histogram
from barnabas_core.runtime.supervisor import Supervisor

if TYPE_CHECKING:
    from barnabas_coordinator.lag_watch import LagWatch
    from barnabas_core.runtime.metrics.registry import Registry


@dataclass(frozen=True, slots=True)
class CoordinatorConfig:
    controllers: Sequence[Address]
    address: Address
    """Where brokers reach it; port 0 takes a free one."""
    make_machine: Callable[[], Machine]
    membership: MembershipConfig | None = None
    """How it makes itself known; None: whoever uses it knows it."""
    observation: ObservationConfig = field(default_factory=ObservationConfig)


@dataclass(frozen=True, slots=True)
class CoordinatorPorts:
    clock: Clock
    rng: Rng
    executor: Executor
    links: Links
    log: EventLog
    metrics: "Registry | None" = None


class CoordinatorService:
    def __init__(self, config: CoordinatorConfig, on: CoordinatorPorts) -> None:
        self._config = config
        self._on = on
        self._image = EMPTY_IMAGE
        self._supervisor = Supervisor(on.log)
        loader = MetadataLoader(self._on_image, every_batch=True)
        self._feed = MetadataFeed(on.links, config.controllers, loader, on.clock, on.log)
        parts = SessionParts(
            config.make_machine,
            lambda: self._image,
            on.clock,
            on.rng,
            on.executor,
            on.log,
        )
        self._shards = ShardService(parts)
        self._server: LinkServer | None = None
        self._lag = None if on.metrics is None else self._observe(on.metrics, parts.load_times)
        self._client: ControllerClient | None = None
        self._membership: Membership | None = None

    @property
    def address(self) -> Address:
        assert self._server is not None, "it was started"
        return self._server.address

    async def start(self) -> None:
        """`OSError` where the address cannot be bound."""
        services: dict[Purpose, Service] = {Purpose.SHARD: self._shards}
        if self._config.membership is not None:
            health = CoordinatorHealth(self._shards, lambda: self._image, self.reason_not_ready)
            services[Purpose.COORDINATOR_HEALTH] = health.service
        self._server = await self._on.links.serve(self._config.address, services)
        self._supervisor.start("metadata feed", self._feed.run)
        if self._lag is not None:
            self._supervisor.start("lag", self._lag.run)
        if self._config.membership is not None:
            self._join(self._config.membership)

    def _join(self, config: MembershipConfig) -> None:
        on = self._on
        client = ControllerClient(on.links, self._config.controllers, Purpose.MEMBERSHIP, on.clock)
        parts = MembershipParts(client, lambda: self._shards.session_count, on.clock, on.log)
        self._client = client
        self._membership = Membership(config, self.address, parts)
        self._supervisor.start("membership", self._membership.run)

    async def drain(self) -> None:
        """Before `stop`: brokers take their sessions elsewhere, for a bounded time."""
        if self._membership is not None:
            await self._membership.drain()

    async def stop(self) -> None:
        await self._supervisor.stop()
        if self._client is not None:
            await self._client.close()
        if self._server is not None:
            await self._server.close()
        await self._shards.close()

    def reason_not_ready(self) -> str | None:
        """Why no shard should be leased to it; None: it may."""
        if self._server is None:
            return "not started yet"
        if not self._feed.high_watermark:
            return "no metadata yet"
        lag = self._feed.high_watermark - 1 - self._image.provenance.offset
        if lag > 0:
            return f"{lag} metadata records behind"
        return None if self._membership is None else self._membership.reason_not_ready()

    def _observe(self, registry: "Registry", load_times: Histogram) -> "LagWatch":
        # Loaded here: most who run a cluster for a test never look at its figures.
        from barnabas_coordinator import observation  # noqa: PLC0415
        from barnabas_coordinator.lag_watch import LagParts, LagWatch  # noqa: PLC0415

        on, config = self._on, self._config.observation
        lag = LagWatch(
            LagParts(
                lambda: observation.loaded_shards(self._shards.sessions),
                lambda: self._image,
                on.links,
                on.clock,
                config.series_max,
            )
        )
        of = observation.ObservedCoordinator(
            config, lambda: self._shards.sessions, load_times, lag, self.reason_not_ready
        )
        observation.CoordinatorObserver(registry, of)
        return lag

    def _on_image(self, _: Delta, image: Image) -> None:
        self._image = image
        self._shards.on_image()
