"""A group coordinator as a process of its own: from `server.properties` to a running service.

SIGTERM is a drain: brokers take their sessions to other coordinators, then it ends.
"""

import asyncio
import socket
import sys
from typing import Final

from barnabas_coordinator.group.group_settings import GroupSettings
from barnabas_coordinator.group.group_shard import SERVED, GroupShard
from barnabas_coordinator.membership import MembershipConfig
from barnabas_coordinator.observation_config import ObservationConfig
from barnabas_coordinator.service import CoordinatorConfig, CoordinatorPorts, CoordinatorService
from barnabas_core.config.advertised import advertised_listeners, internal_host
from barnabas_core.config.error import ConfigError
from barnabas_core.config.node_properties import NodeProperties
from barnabas_core.config.own_property import group_series_max
from barnabas_core.links.coordinator_message import GROUP, ApiRange
from barnabas_core.links.grpc_links import GrpcLinks
from barnabas_core.links.known_controllers import known_controllers
from barnabas_core.ports.link import Address, Identity
from barnabas_core.runtime.clock import SystemClock
from barnabas_core.runtime.executor import SystemExecutor
from barnabas_core.runtime.log_setup import EventLog, LogFormat
from barnabas_core.runtime.metrics.registry import Registry
from barnabas_core.runtime.node_home import load_node
from barnabas_core.runtime.observation import observed
from barnabas_core.runtime.process import CannotStart, run_process, settle
from barnabas_core.runtime.rng import SystemRng
from barnabas_core.security.node_security import internal_tls
from barnabas_core.wire.api import API_BY_KEY

_NAME: Final = "barnabas-coordinator"
# It has no directory that could say so: it serves the cluster whose controllers it is told of.
_ANY_CLUSTER: Final = ""


def run(path: str, *, log_format: LogFormat = "console", log_level: str = "info") -> int:
    """The exit status."""
    log = EventLog(form=log_format, level=log_level)
    properties = load_node(_NAME, path, log)
    if properties is None:
        return 1
    if not properties.has_internal_listener:
        print(f"{_NAME}: {path}: internal.listener is not set", file=sys.stderr)
        return 1
    return run_process(_NAME, log, lambda end: _serve(properties, log, end))


async def _serve(properties: NodeProperties, log: EventLog, end: asyncio.Event) -> int:
    executor = SystemExecutor()
    try:
        async with observed(properties.metrics_address, SystemClock(), executor, log) as metrics:
            service = _make(properties, executor, log, metrics)
            try:
                await service.start()
            except OSError as error:
                raise CannotStart(f"cannot listen: {error}") from error
            settle()
            log.info("started", node=properties.node_id, links=str(service.address))
            await end.wait()
            await service.drain()
            await service.stop()
            return 0
    finally:
        executor.close()


def _make(
    properties: NodeProperties, executor: SystemExecutor, log: EventLog, metrics: Registry | None
) -> CoordinatorService:
    clock, rng = SystemClock(), SystemRng()
    try:
        settings = GroupSettings.from_broker(properties.raw)
    except ConfigError as error:
        raise CannotStart(str(error)) from error
    internal = properties.internal_listener
    observation = ObservationConfig(properties.node_id, group_series_max(properties.raw))
    config = CoordinatorConfig(
        known_controllers(properties),
        Address(internal.host, internal.port),
        lambda: GroupShard(settings, observation.counts),
        _membership(properties),
        observation,
    )
    identity = Identity(_ANY_CLUSTER, properties.node_id, GROUP, rng.randbytes(16))
    links = GrpcLinks(identity, clock, log, tls=internal_tls(properties))
    return CoordinatorService(config, CoordinatorPorts(clock, rng, executor, links, log, metrics))


def _membership(properties: NodeProperties) -> MembershipConfig:
    advertised = advertised_listeners(properties, socket.getfqdn)
    decided = [API_BY_KEY[key] for key in SERVED]
    return MembershipConfig(
        advertised_host=internal_host(properties, advertised),
        rack=properties.text("broker.rack"),
        apis=tuple(ApiRange(one.key, one.min_version, one.max_version) for one in decided),
        heartbeat_interval_ms=properties.number("broker.heartbeat.interval.ms"),
        session_timeout_ms=properties.number("broker.session.timeout.ms"),
    )
