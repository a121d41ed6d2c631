"""One node of an embedded cluster: a broker, and on the first node the controller too.

The same parts as in production, on links within the process. A node keeps everything in one
directory, which is formatted at its first start; a combined node shares it between its two roles,
as Kafka's does.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from barnabas.storage.formatting import FormatSpec, format_directories
from barnabas_broker.broker_config import BrokerConfig
from barnabas_broker.broker_ports import BrokerPorts
from barnabas_broker.service import BrokerService
from barnabas_controller.controller_config import ControllerConfig
from barnabas_controller.duties import DutyIntervals
from barnabas_controller.managers.view import ControllerSettings
from barnabas_controller.quorum.quorum_config import QuorumConfig
from barnabas_controller.service import ControllerPorts, ControllerService
from barnabas_core.config.listener import Listener as ListenerAddress
from barnabas_core.links.local_links import LocalLinks, LocalNetwork
from barnabas_core.log.directories.directory import ForeignDirectory, new_directory_id
from barnabas_core.log.directories.directory_meta import META_PROPERTIES_FILE, MetaProperties
from barnabas_core.metadata.bootstrap import (
    bootstrap_metadata,
    effective_levels,
    load_bootstrap,
)
from barnabas_core.metadata.feature import KRAFT_VERSION, latest_production
from barnabas_core.ports import Clock, Disk, Executor, Rng
from barnabas_core.ports.link import Address, Identity
from barnabas_core.raft import NodeId, RaftConfig, ReplicaKey, Voter, VoterSet
from barnabas_core.raft.identity import Endpoint
from barnabas_core.raft.internal_address import INTERNAL_LISTENER
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.server.dispatch import Handler
from barnabas_core.server.endpoint import EndpointConfig, Listener

if TYPE_CHECKING:
    from barnabas_coordinator.service import CoordinatorService
    from barnabas_core.runtime.metrics.registry import Registry

CONTROLLER_ID: Final = 1
_CONTROLLER_LINKS: Final = Address("controller", 1)
_BROKER_LINKS_PORT: Final = 2
_COORDINATOR_LINKS: Final = Address("coordinator", 3)
# Where a controller of Kafka's quick start listens; nobody does here.
_CONTROLLER_ENDPOINTS: Final = (
    Endpoint("CONTROLLER", "localhost", 9093),
    Endpoint(INTERNAL_LISTENER, *_CONTROLLER_LINKS),
)


@dataclass(frozen=True, slots=True)
class LocalPorts:
    """What the nodes of a cluster share."""

    clock: Clock
    rng: Rng
    disk: Disk
    executor: Executor
    network: LocalNetwork
    new_listener: Callable[[], Listener]
    log: EventLog
    metrics: "Registry | None" = None
    need_coordinator: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class LocalSpec:
    node_id: int
    directory: str
    listener: ListenerAddress
    advertised_host: str
    broker_count: int
    config: Mapping[str, str]
    """Properties of Kafka's, for all nodes alike."""


def format_cluster(directories: dict[int, str], on: LocalPorts) -> str:
    """Format what is not yet; the id of the cluster."""
    first = directories[CONTROLLER_ID]
    known = _meta(on.disk, first)
    cluster_id = known.cluster_id if known else _new_id(on)
    # As Kafka formats a cluster whose first controller stands alone.
    release = latest_production()
    levels = effective_levels(release, {KRAFT_VERSION: 1})
    bootstrap = bootstrap_metadata(release, levels)
    for node_id, directory in directories.items():
        found = _meta(on.disk, directory)
        if found is not None:
            _check_owner(found, cluster_id, node_id)
            continue
        voters = None
        if node_id == CONTROLLER_ID:
            key = ReplicaKey(NodeId(node_id), new_directory_id(on.rng))
            voters = VoterSet.of([Voter(key, _CONTROLLER_ENDPOINTS)])
        spec = FormatSpec(cluster_id, node_id, (directory,), directory, bootstrap, voters)
        format_directories(on.disk, on.rng, on.clock, spec)
    return cluster_id


def _check_owner(found: MetaProperties, cluster_id: str, node_id: int) -> None:
    if (found.cluster_id, found.node_id) != (cluster_id, node_id):
        owner = f"node {found.node_id} of cluster {found.cluster_id}"
        raise ForeignDirectory(f"it belongs to {owner}, not to node {node_id} of {cluster_id}")


def _new_id(on: LocalPorts) -> str:
    from barnabas_core.wire.primitive import uuid_text  # noqa: PLC0415

    return uuid_text(new_directory_id(on.rng))


def _meta(disk: Disk, directory: str) -> MetaProperties | None:
    data = disk.read(f"{directory}/{META_PROPERTIES_FILE}")
    return None if data is None else MetaProperties.decode(data)


def local_controller(spec: LocalSpec, on: LocalPorts) -> ControllerService:
    meta = _meta(on.disk, spec.directory)
    assert meta is not None
    assert meta.directory_id is not None
    incarnation_id = on.rng.randbytes(16)
    identity = Identity(meta.cluster_id, meta.node_id, "controller", incarnation_id)
    links = LocalLinks(on.network, identity, on.clock, on.log)
    config = ControllerConfig(
        settings=_settings(spec, meta.cluster_id),
        quorum=QuorumConfig(
            node_id=spec.node_id,
            cluster_id=meta.cluster_id,
            metadata_dir=spec.directory,
            directory_id=meta.directory_id,
            endpoints=_CONTROLLER_ENDPOINTS,
            raft=RaftConfig(),
        ),
        listeners=(),
        advertised=(),
        internal=_CONTROLLER_LINKS,
        intervals=DutyIntervals(idle_ms=0),
        endpoint=EndpointConfig(),
    )
    ports = ControllerPorts(
        on.clock, on.rng, on.disk, on.executor, links, on.new_listener, on.log, on.metrics
    )
    bootstrap = load_bootstrap(on.disk, spec.directory)
    return ControllerService(config, bootstrap.records, incarnation_id, ports)


def _settings(spec: LocalSpec, cluster_id: str) -> ControllerSettings:
    settings = ControllerSettings(
        node_id=spec.node_id,
        cluster_id=cluster_id,
        default_replication_factor=min(spec.broker_count, 3),
        static_configs=spec.config,
    )
    if not spec.config:
        return settings
    # The table of properties is loaded only where there is something to look up in it.
    from barnabas.local_settings import with_properties  # noqa: PLC0415

    return with_properties(settings, spec.config)


def local_coordinator(spec: LocalSpec, cluster_id: str, on: LocalPorts) -> "CoordinatorService":
    # Loaded when the brokers are up: nobody who connects should wait for it.
    from barnabas.local_coordinator import group_coordinator  # noqa: PLC0415
    from barnabas_coordinator.service import CoordinatorPorts  # noqa: PLC0415

    identity = Identity(cluster_id, spec.node_id, "group", on.rng.randbytes(16))
    links = LocalLinks(on.network, identity, on.clock, on.log)
    ports = CoordinatorPorts(on.clock, on.rng, on.executor, links, on.log, on.metrics)
    controllers = (_CONTROLLER_LINKS,)
    return group_coordinator(spec.config, _COORDINATOR_LINKS, controllers, ports, spec.node_id)


def local_broker(
    spec: LocalSpec, on: LocalPorts, intercept: Callable[[Handler], Handler] | None
) -> BrokerService:
    meta = _meta(on.disk, spec.directory)
    assert meta is not None
    incarnation_id = on.rng.randbytes(16)
    identity = Identity(meta.cluster_id, meta.node_id, "broker", incarnation_id)
    config = BrokerConfig(
        node_id=spec.node_id,
        cluster_id=meta.cluster_id,
        log_dirs=(spec.directory,),
        listeners=(spec.listener,),
        advertised=(spec.listener._replace(host=spec.advertised_host),),
        internal=Address(f"broker-{spec.node_id}", _BROKER_LINKS_PORT),
        controllers=(_CONTROLLER_LINKS,),
        local_coordinator=_COORDINATOR_LINKS,
        static_configs={"offsets.topic.replication.factor": str(min(spec.broker_count, 3))},
    )
    if spec.config:
        from barnabas_broker.broker_settings import with_properties  # noqa: PLC0415

        config = with_properties(config, spec.config)
    links = LocalLinks(on.network, identity, on.clock, on.log)
    ports = BrokerPorts(
        on.clock, on.rng, on.disk, on.executor, links, on.new_listener, on.log, intercept,
        on.metrics, on.need_coordinator,
    )  # fmt: skip
    return BrokerService(config, incarnation_id, ports)
