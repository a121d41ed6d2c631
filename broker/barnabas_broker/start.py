"""From a broker's properties to one that runs, and on to its end: what every process shares."""

import asyncio
import socket
from collections.abc import Coroutine

from barnabas_broker.broker_config import BrokerConfig
from barnabas_broker.lifecycle import RegistrationRefused
from barnabas_broker.node_config import broker_config
from barnabas_broker.service import BrokerService
from barnabas_core.config.error import ConfigError
from barnabas_core.config.node_properties import NodeProperties
from barnabas_core.log.error import LogError
from barnabas_core.ports import DiskError
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.runtime.node_home import NodeHome
from barnabas_core.runtime.process import CannotStart


def node_broker_config(properties: NodeProperties, home: NodeHome) -> BrokerConfig:
    # Asking for it may take a while, where names are not served well.
    is_asked = any(not one.host for one in properties.advertised_broker_listeners)
    try:
        return broker_config(properties, home.cluster_id, socket.getfqdn() if is_asked else "")
    except ConfigError as error:
        raise CannotStart(str(error)) from error


async def start_broker(service: BrokerService, log: EventLog) -> None:
    """`CannotStart` with whatever has to change."""
    try:
        await service.start()
    except (RegistrationRefused, LogError, DiskError) as error:
        raise CannotStart(str(error)) from error
    except OSError as error:
        raise CannotStart(f"cannot listen: {error}") from error
    log.info(
        "started",
        node=service.view.node_id,
        listeners=",".join(map(str, service.advertised)),
        links=str(service.internal_address),
    )


async def start_unless(end: asyncio.Event, starting: Coroutine[None, None, None]) -> bool:
    """Whether it has started; False if the end came first, and it was given up."""
    loop = asyncio.get_running_loop()
    start = loop.create_task(starting)
    ended = loop.create_task(_wait(end))
    ended.add_done_callback(lambda _: start.cancel())
    try:
        await start
    except asyncio.CancelledError:
        if not end.is_set():
            raise
        return False
    finally:
        ended.cancel()
    return True


async def until_lost(service: BrokerService, end: asyncio.Event) -> bool:
    """Wait for the end; whether it came because no log directory is left."""
    lost = asyncio.get_running_loop().create_task(service.wait_lost())
    lost.add_done_callback(lambda _: end.set())
    await end.wait()
    is_lost = lost.done()
    lost.cancel()
    return is_lost


async def _wait(event: asyncio.Event) -> None:
    await event.wait()
