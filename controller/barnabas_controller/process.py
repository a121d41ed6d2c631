"""A controller as a process of its own: from `server.properties` to a running service."""

import asyncio
import sys
from functools import partial
from typing import Final

from barnabas_controller.service import ControllerPorts, ControllerService
from barnabas_controller.start import node_controller_config, start_controller
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

_NAME: Final = "barnabas-controller"


def run(path: str, *, log_format: LogFormat = "console", log_level: str = "info") -> int:
    """The exit status."""
    log = EventLog(form=log_format, level=log_level)
    properties = load_node(_NAME, path, log)
    if properties is None:
        return 1
    if not properties.is_controller:
        print(f"{_NAME}: {path}: process.roles does not name controller", file=sys.stderr)
        return 1
    return run_process(_NAME, log, lambda end: serve_controller(properties, log, end))


async def serve_controller(properties: NodeProperties, log: EventLog, end: asyncio.Event) -> int:
    with node_home(properties, log) as home:
        clock, executor = SystemClock(), SystemExecutor()
        try:
            async with observed(properties.metrics_address, clock, executor, log) as metrics:
                service = await _start(properties, home, executor, log, metrics)
                settle()
                log.info("started", node=properties.node_id, links=str(service.internal_address))
                return await _run(service, end)
        finally:
            executor.close()


async def _start(
    properties: NodeProperties,
    home: NodeHome,
    executor: SystemExecutor,
    log: EventLog,
    metrics: Registry | None,
) -> ControllerService:
    clock, rng = SystemClock(), SystemRng()
    meta = home.meta(properties.metadata_log_dir)
    incarnation_id = rng.randbytes(16)
    identity = Identity(meta.cluster_id, meta.node_id, "controller", incarnation_id)
    links = GrpcLinks(identity, clock, log, tls=internal_tls(properties))
    new_listener = partial(SystemListener, SocketOptions.from_broker(properties.raw))
    ports = ControllerPorts(clock, rng, home.disk, executor, links, new_listener, log, metrics)
    return await start_controller(node_controller_config(properties, meta), incarnation_id, ports)


async def _run(service: ControllerService, end: asyncio.Event) -> int:
    fatal = asyncio.get_running_loop().create_task(service.wait_fatal())
    fatal.add_done_callback(lambda _: end.set())
    await end.wait()
    is_lost = fatal.done()
    fatal.cancel()
    await service.stop()
    return int(is_lost)
