"""A whole cluster on the running event loop: one controller, and as many brokers as are wanted.

The nodes are those of production, on links within the process; clients connect to real sockets.
Node 1 is the controller and a broker in one, and the controller stays when that broker is stopped.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from barnabas.cluster_error import ClusterError
from barnabas.cluster_options import ClusterOptions
from barnabas.faults import Faults
from barnabas.lazy_coordinator import LazyCoordinator
from barnabas.local_node import (
    CONTROLLER_ID,
    LocalPorts,
    LocalSpec,
    format_cluster,
    local_controller,
    local_coordinator,
)
from barnabas.member import Member
from barnabas.storage.formatting import FormatRefused
from barnabas.storage.state import Mismatch
from barnabas.topic_orders import TopicOrders
from barnabas_broker.lifecycle import RegistrationRefused
from barnabas_broker.service import BrokerService
from barnabas_core.config.error import ConfigError
from barnabas_core.config.listener import Listener as ListenerAddress
from barnabas_core.links.local_links import LocalNetwork
from barnabas_core.log.directories.checkpoint import CorruptFile
from barnabas_core.log.directories.directory_meta import META_PROPERTIES_FILE
from barnabas_core.log.error import LogError
from barnabas_core.log.segments.file_name import LOCK_FILE
from barnabas_core.ports import Clock, DiskError
from barnabas_core.runtime.clock import SystemClock
from barnabas_core.runtime.disk import RealDisk
from barnabas_core.runtime.executor import SystemExecutor
from barnabas_core.runtime.listener import SocketOptions, SystemListener
from barnabas_core.runtime.rng import SystemRng

if TYPE_CHECKING:
    from barnabas_controller.service import ControllerService
    from barnabas_core.ports.disk import DirLock
    from barnabas_core.runtime.observation import Observation

_BROKER_DEFAULT: Final = -1
"""Partitions and replicas as the brokers' configuration has them."""
_SETTLE_S: Final = 30.0
_POLL_S: Final = 0.002
# A broker may go when the others are known to have heard of it, and is missed after one heartbeat:
# in a test nobody wants to wait two seconds for either.
_AMONG_OTHERS: Final = {"broker.heartbeat.interval.ms": "200"}
_UNUSABLE: Final = (
    *(ConfigError, CorruptFile, DiskError, FormatRefused, LogError),
    *(Mismatch, RegistrationRefused),
)


class AsyncCluster:
    """Everything here is for the event loop that it was started on, except `faults`."""

    def __init__(self, options: ClusterOptions | None = None) -> None:
        self._options = options or ClusterOptions()
        # What is removed at the end need not survive the machine.
        self._disk = RealDisk(syncs=self._options.data is not None)
        self._temporary: str | None = None
        self._lock: DirLock | None = None
        self._executor: SystemExecutor | None = None
        self._controller: ControllerService | None = None
        self._members: dict[int, Member] = {}
        self._coordination: LazyCoordinator | None = None
        self._observation: Observation | None = None
        self.metrics_address: tuple[str, int] | None = None
        """Where its figures are, if it was told to give them."""
        self.faults = Faults()

    # -- what it is

    @property
    def bootstrap_servers(self) -> str:
        """What clients are given, `host:port,...`; brokers that are down for now included."""
        self._check_running()
        return ",".join(at for member in self._members.values() for at in member.addresses)

    @property
    def broker_ids(self) -> list[int]:
        """Of all brokers, running or not."""
        self._check_running()
        return list(self._members)

    @property
    def brokers(self) -> list[BrokerService]:
        """Those that run."""
        self._check_running()
        services = (member.service for member in self._members.values())
        return [service for service in services if service is not None]

    @property
    def broker(self) -> BrokerService:
        """The first that runs."""
        return self.brokers[0]

    @property
    def data(self) -> str | None:
        """Where the logs are: a directory for each node."""
        return self._options.data or self._temporary

    async def leader_of(self, topic: str, partition: int = 0) -> int | None:
        """The id of the broker that leads it, None if nobody does."""
        image = self._orders.partition(topic, partition)
        return image.leader if image.has_leader else None

    # -- what can be done with it

    async def create_topic(
        self,
        name: str,
        *,
        partitions: int = _BROKER_DEFAULT,
        replication_factor: int = _BROKER_DEFAULT,
        config: Mapping[str, str] | None = None,
    ) -> None:
        """Returns when every broker that runs knows of it."""
        await self._orders.create(name, partitions, replication_factor, config or {})

    async def has_topic(self, name: str) -> bool:
        return self._orders.has(name)

    async def delete_topic(self, name: str) -> None:
        await self._orders.delete(name)

    async def stop_broker(self, broker_id: int) -> None:
        """In order: its leadership moves away, its directory is left as after a clean shutdown."""
        await self._member(broker_id).stop()

    async def kill_broker(self, broker_id: int) -> None:
        """As `kill -9` would: connections cut, nobody told, nothing more written."""
        await self._member(broker_id).kill()

    async def start_broker(self, broker_id: int) -> None:
        """One that was stopped or killed, where it was before. Returns when clients can use it."""
        try:
            await self._member(broker_id).start()
        except (*_UNUSABLE, OSError) as error:
            raise ClusterError(f"broker {broker_id} cannot start: {error}") from error

    async def move_leader(self, topic: str, partition: int, broker_id: int) -> None:
        """Have that broker lead the partition; it becomes its preferred replica, too."""
        assert self._member(broker_id).running
        await self._orders.move_leader(topic, partition, broker_id)

    async def wait_lost(self) -> None:
        """Returns when a node cannot go on, as the disk failed under it."""
        controller = self._check_running()
        loop = asyncio.get_running_loop()
        waits = [loop.create_task(_any(broker.wait_lost())) for broker in self.brokers]
        waits.append(loop.create_task(_any(controller.wait_fatal())))
        lost = asyncio.Event()
        for wait in waits:
            wait.add_done_callback(lambda _: lost.set())
        try:
            await lost.wait()
        finally:
            for wait in waits:
                wait.cancel()

    # -- its life

    async def start(self) -> None:
        if self._controller is not None:
            raise ClusterError("the cluster is running already")
        self._executor = SystemExecutor()
        try:
            await self._start(self._executor)
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        members, self._members = self._members, {}
        controller, self._controller = self._controller, None
        coordination, self._coordination = self._coordination, None
        try:
            for member in members.values():
                if member.service is not None:
                    await member.stop()
            if coordination is not None:
                await coordination.stop()
            if controller is not None:
                await controller.stop()
            if self._observation is not None:
                await self._observation.stop()
        finally:
            for member in members.values():
                member.forget()
            self._clean_up()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()

    async def _start(self, executor: SystemExecutor) -> None:
        options, rng = self._options, SystemRng()
        path = options.data
        if path is None:
            try:
                path = self._temporary = _temporary_directory(rng)
            except OSError as error:
                raise ClusterError(f"cannot make a temporary directory: {error}") from error
        ports = LocalPorts(
            SystemClock(), rng, self._disk, executor, LocalNetwork(options.log),
            _listener_maker(options), options.log,
        )  # fmt: skip
        if options.metrics_port is not None:
            ports = await self._observe(ports, options.metrics_port)
        try:
            await self._start_nodes(path, ports)
        except _UNUSABLE as error:
            raise ClusterError(f"cannot use the data directory {path}: {error}") from error
        except OSError as error:
            address = f"{options.host}:{options.port}"
            reason = error.strerror or str(error)
            raise ClusterError(f"cannot listen on {address}: {reason}") from error

    async def _observe(self, ports: LocalPorts, port: int) -> LocalPorts:
        from barnabas_core.runtime.observation import Observation  # noqa: PLC0415 - rare

        observation = self._observation = Observation(ports.clock, ports.executor, ports.log)
        try:
            self.metrics_address = await observation.start(self._options.host, port)
        except OSError as error:
            address = f"{self._options.host}:{port}"
            raise ClusterError(f"cannot listen on {address}: {error.strerror or error}") from error
        return replace(ports, metrics=observation.registry)

    async def _start_nodes(self, path: str, ports: LocalPorts) -> None:
        if self._disk.read(f"{path}/{META_PROPERTIES_FILE}") is not None:
            raise ClusterError(
                f"{path} belongs to one node, formatted for `barnabas serve`; a cluster keeps its "
                f"nodes in directories below its own"
            )
        # Before anything is read: the controller starts first, and the brokers lock only their own.
        self._disk.make_dirs(path)
        self._lock = self._disk.lock(f"{path}/{LOCK_FILE}")
        node_ids = range(CONTROLLER_ID, CONTROLLER_ID + self._options.brokers)
        directories = {number: f"{path}/node-{number}" for number in node_ids}
        cluster_id = format_cluster(directories, ports)
        specs = [self._spec(node_id, directories[node_id]) for node_id in node_ids]
        self._coordination = LazyCoordinator(
            lambda: local_coordinator(specs[0], cluster_id, ports), ports.log
        )
        ports = replace(ports, need_coordinator=self._coordination.need)
        controller = local_controller(specs[0], ports)
        await controller.start()
        self._controller = controller
        await _forget_earlier_lives(controller, ports.clock)
        for spec in specs:
            before = self.faults.before(spec.node_id) if self._options.with_faults else None
            member = self._members[spec.node_id] = Member(spec, ports, before)
            await member.start()

    def _spec(self, node_id: int, directory: str) -> LocalSpec:
        options = self._options
        port = options.port + node_id - CONTROLLER_ID if options.port else 0
        listener = ListenerAddress("PLAINTEXT", options.host, port, "PLAINTEXT")
        config = options.config if options.brokers == 1 else {**_AMONG_OTHERS, **options.config}
        return LocalSpec(node_id, directory, listener, options.told_host, options.brokers, config)

    def _clean_up(self) -> None:
        if self._executor is not None:
            self._executor.close()
            self._executor = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None
        if self._temporary is not None:
            self._disk.remove_tree(self._temporary)
            self._temporary = None

    # -- parts

    def _check_running(self) -> "ControllerService":
        if self._controller is None or not self._members:
            raise ClusterError("the cluster is not running")
        return self._controller

    def _member(self, broker_id: int) -> Member:
        self._check_running()
        member = self._members.get(broker_id)
        if member is None:
            raise ClusterError(f"there is no broker {broker_id}, only {self.broker_ids}")
        return member

    @property
    def _orders(self) -> TopicOrders:
        return TopicOrders(self._check_running(), self._settle)

    async def _settle(self, offset: int) -> None:
        try:
            async with asyncio.timeout(_SETTLE_S):
                for broker in self.brokers:
                    await broker.wait_applied(offset)
        except TimeoutError:
            raise ClusterError("a broker does not follow the metadata") from None


async def _any(wait: Awaitable[object]) -> None:
    await wait


async def _forget_earlier_lives(controller: "ControllerService", clock: Clock) -> None:
    """End the sessions of brokers that a crash left unfenced, or they could not come back at once.

    All brokers of the cluster live in this process, so none of them can still be alive.
    """
    engine = controller.engine
    while (liveness := engine.liveness) is None:  # noqa: ASYNC110 - it is active in a moment
        await asyncio.sleep(_POLL_S)
    for broker in engine.latest.cluster.brokers.values():
        if not broker.is_fenced:
            liveness.on_link_closed(broker.id, broker.epoch, clock.monotonic_ms(), 0)


def _listener_maker(options: ClusterOptions) -> Callable[[], SystemListener]:
    """With the properties of sockets, if there are any: then all properties are checked here."""
    if not options.config:
        return SystemListener
    from barnabas_coordinator.group.group_settings import GroupSettings  # noqa: PLC0415
    from barnabas_core.config.server_properties import check_properties  # noqa: PLC0415 - rare
    from barnabas_core.config.standing import later_warnings, refuse_unserved  # noqa: PLC0415

    try:
        check_properties(options.config)
        refuse_unserved(options.config)
        sockets = SocketOptions.from_broker(options.config)
        GroupSettings.from_broker(options.config)  # later there is nobody to complain to
    except ConfigError as error:
        raise ClusterError(f"cannot use the config: {error}") from error
    for warning in later_warnings(options.config):
        options.log.warning(warning)
    return partial(SystemListener, sockets)


def _temporary_directory(rng: SystemRng) -> str:
    # As `tempfile` does it, whose import alone costs a tenth of the start.
    path = f"{os.environ.get('TMPDIR') or '/tmp'}/barnabas-{rng.randbytes(6).hex()}"  # noqa: S108
    os.mkdir(path, 0o700)
    return path
