"""What a controller is told at its start, from the properties of its node."""

from dataclasses import dataclass

from barnabas_controller.duties import DutyIntervals
from barnabas_controller.managers.view import ControllerSettings
from barnabas_controller.quorum.quorum_config import QuorumConfig
from barnabas_core.config.advertised import advertised_controllers, internal_host
from barnabas_core.config.listener import Listener
from barnabas_core.config.node_properties import NodeProperties
from barnabas_core.ports.link import Address
from barnabas_core.raft import NodeId, RaftConfig, ReplicaKey, Voter, VoterSet
from barnabas_core.raft.identity import Endpoint
from barnabas_core.raft.internal_address import INTERNAL_LISTENER
from barnabas_core.server.connection_quota import ConnectionLimits
from barnabas_core.server.endpoint import EndpointConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerConfig:
    settings: ControllerSettings
    quorum: QuorumConfig
    listeners: tuple[Listener, ...]
    """CONTROLLER listeners, as bound."""
    advertised: tuple[Listener, ...]
    """The same, as others reach them."""
    internal: Address
    """Where links are served."""
    intervals: DutyIntervals
    endpoint: EndpointConfig


def controller_config(
    properties: NodeProperties, cluster_id: str, directory_id: bytes, host_name: str = ""
) -> ControllerConfig:
    """`cluster_id` and `directory_id` are those of meta.properties in the metadata directory.

    `host_name`: what others call this machine, where no property says it.
    """
    advertised = advertised_controllers(properties, lambda: host_name)
    internal = properties.internal_listener
    return ControllerConfig(
        settings=_settings(properties, cluster_id),
        quorum=_quorum(properties, cluster_id, directory_id, _endpoints(properties, advertised)),
        listeners=properties.controller_listeners,
        advertised=advertised,
        internal=Address(internal.host, internal.port),
        intervals=_intervals(properties),
        endpoint=EndpointConfig(
            frame_bytes_max=properties.number("socket.request.max.bytes"),
            limits=ConnectionLimits.from_broker(properties.raw),
            idle_ms_max=properties.number("connections.max.idle.ms"),
        ),
    )


def _settings(properties: NodeProperties, cluster_id: str) -> ControllerSettings:
    number, flag = properties.number, properties.flag
    return ControllerSettings(
        node_id=properties.node_id,
        cluster_id=cluster_id,
        default_replication_factor=number("default.replication.factor"),
        partition_count=number("num.partitions"),
        min_insync_replicas=number("min.insync.replicas"),
        unclean_leader_election=flag("unclean.leader.election.enable"),
        delete_topics=flag("delete.topic.enable"),
        broker_session_timeout_ms=number("broker.session.timeout.ms"),
        broker_heartbeat_interval_ms=number("broker.heartbeat.interval.ms"),
        leader_imbalance_check_interval_ms=number("leader.imbalance.check.interval.seconds") * 1000,
        auto_leader_rebalance=flag("auto.leader.rebalance.enable"),
        static_configs=properties.raw,
    )


def _intervals(properties: NodeProperties) -> DutyIntervals:
    seconds = properties.number("leader.imbalance.check.interval.seconds")
    return DutyIntervals(
        idle_ms=properties.number("metadata.max.idle.interval.ms"),
        balance_ms=seconds * 1000 if properties.flag("auto.leader.rebalance.enable") else 0,
        unclean_election_ms=properties.number("unclean.leader.election.interval.ms"),
    )


def _quorum(
    properties: NodeProperties,
    cluster_id: str,
    directory_id: bytes,
    endpoints: tuple[Endpoint, ...],
) -> QuorumConfig:
    number = properties.number
    return QuorumConfig(
        node_id=properties.node_id,
        cluster_id=cluster_id,
        metadata_dir=properties.metadata_log_dir,
        directory_id=directory_id,
        endpoints=endpoints,
        static_voters=_static_voters(properties),
        bootstrap_servers=tuple(Address(*server) for server in properties.bootstrap_servers),
        raft=RaftConfig(
            election_timeout_ms=number("controller.quorum.election.timeout.ms"),
            fetch_timeout_ms=number("controller.quorum.fetch.timeout.ms"),
            request_timeout_ms=number("controller.quorum.request.timeout.ms"),
            retry_backoff_ms=number("controller.quorum.retry.backoff.ms"),
            fetch_max_bytes=_fetch_bytes_max(properties),
            snapshot_max_bytes=number("controller.quorum.fetch.snapshot.max.bytes"),
            auto_join=properties.flag("controller.quorum.auto.join.enable"),
        ),
        segment_bytes=_segment_bytes(properties),
        segment_ms=number("metadata.log.segment.ms"),
        snapshot_bytes=number("metadata.log.max.record.bytes.between.snapshots"),
        snapshot_interval_ms=number("metadata.log.max.snapshot.interval.ms"),
        retention_bytes=number("metadata.max.retention.bytes"),
        retention_ms=number("metadata.max.retention.ms"),
        batch_bytes_max=number("internal.metadata.max.batch.size.in.bytes"),
        file_delete_delay_ms=number("internal.metadata.delete.delay.millis"),
    )


def _fetch_bytes_max(properties: NodeProperties) -> int:
    """Kafka's default is smaller than a batch may be; ours is as large, so one call will do."""
    name = "controller.quorum.fetch.max.bytes"
    return properties.number(name) if name in properties.raw else RaftConfig().fetch_max_bytes


def _segment_bytes(properties: NodeProperties) -> int:
    """The internal property has no lower bound, for tests."""
    small = properties.values["internal.metadata.log.segment.bytes"]
    return small if isinstance(small, int) else properties.number("metadata.log.segment.bytes")


def _endpoints(
    properties: NodeProperties, advertised: tuple[Listener, ...]
) -> tuple[Endpoint, ...]:
    """As the voters record has them: every host is one that others can reach."""
    endpoints = [Endpoint(listener.name, listener.host, listener.port) for listener in advertised]
    if properties.has_internal_listener:
        host, port = internal_host(properties, advertised), properties.internal_listener.port
        endpoints.append(Endpoint(INTERNAL_LISTENER, host, port))
    return tuple(endpoints)


def _static_voters(properties: NodeProperties) -> VoterSet | None:
    if not properties.quorum_voters:
        return None
    name = properties.controller_listener_names[0]
    return VoterSet.of(
        Voter(ReplicaKey(NodeId(node_id)), (Endpoint(name, host, port),))
        for node_id, host, port in properties.quorum_voters
    )
