"""A broker as a process of its own: from `server.properties` to a running service.

It waits for a controller as long as `initial.broker.registration.timeout.ms` says. SIGTERM is a
controlled shutdown: leadership moves away, the directories are left as after a clean stop. Told to
stop before it has started, it gives up starting.
"""

import asyncio
import sys
from functools import partial
from typing import Final

from barnabas_broker.broker_ports import BrokerPorts
from barnabas_broker.service import BrokerService
from barnabas_broker.start import node_broker_config, start_broker, start_unless, until_lost
from barnabas_core.config.node_properties import NodeProperties
from barnabas_core.links.grpc_links import GrpcLinks
from barnabas_core.ports.link import Identity
from barnabas_core.runtime.clock import SystemClock
from barnabas_core.runtime.executor import SystemExecutor
from barnabas_core.runtime.listener import SocketOptions, SystemListener
from barnabas_core.runtime.log_setup import EventLog, LogFormat
from barnabas_core.runtime.metrics.registry import Registry
from barnabas_core.runtime.node_home import NodeHome, load_node, node_home
from barnabas_core.runtime.observation import observed
from barnabas_core.runtime.process import run_process, settle
from barnabas_core.runtime.rng import SystemRng
from barnabas_core.security.node_security import internal_tls

_NAME: Final = "barnabas-broker"


def run(path: str, *, log_format: LogFormat = "console", log_level: str = "info") -> int:
    """The exit status."""
    log = EventLog(form=log_format, level=log_level)
    properties = load_node(_NAME, path, log)
    if properties is None:
        return 1
    if properties.process_roles != ("broker",):
        print(
            f"{_NAME}: {path}: process.roles is {','.join(properties.process_roles)}, not broker; "
            "`barnabas serve` runs what it says",
            file=sys.stderr,
        )
        return 1
    return run_process(_NAME, log, lambda end: serve_broker(properties, log, end))


async def serve_broker(properties: NodeProperties, log: EventLog, end: asyncio.Event) -> int:
    with node_home(properties, log) as home:
        clock, executor = SystemClock(), SystemExecutor()
        try:
            async with observed(properties.metrics_address, clock, executor, log) as metrics:
                service = _make_broker(properties, home, executor, log, metrics)
                if not await start_unless(end, start_broker(service, log)):
                    return 0
                settle()
                is_lost = await until_lost(service, end)
                await service.stop()
                return int(is_lost)
        finally:
            executor.close()


def _make_broker(
    properties: NodeProperties,
    home: NodeHome,
    executor: SystemExecutor,
    log: EventLog,
    metrics: Registry | None,
) -> BrokerService:
    if not properties.has_remote_coordinators:
        log.warning("no groups are served: this process has no coordinator, and is told of none")
    clock, rng = SystemClock(), SystemRng()
    incarnation_id = rng.randbytes(16)
    identity = Identity(home.cluster_id, properties.node_id, "broker", incarnation_id)
    links = GrpcLinks(identity, clock, log, tls=internal_tls(properties))
    new_listener = partial(SystemListener, SocketOptions.from_broker(properties.raw))
    ports = BrokerPorts(clock, rng, home.disk, executor, links, new_listener, log, metrics=metrics)
    return BrokerService(node_broker_config(properties, home), incarnation_id, ports)
