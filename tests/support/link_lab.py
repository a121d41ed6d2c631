"""Links of one kind or the other, between nodes that a test makes up, all in one event loop."""

import asyncio
import io
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import uvloop

from barnabas_core.links.link_config import LinkConfig
from barnabas_core.links.local_links import LocalLinks, LocalNetwork
from barnabas_core.links.stream_links import StreamLinks
from barnabas_core.ports.disk import Buffer
from barnabas_core.ports.link import (
    NO_EVENTS,
    Address,
    Call,
    Caller,
    CallRefused,
    Identity,
    Link,
    LinkEvents,
    LinkServer,
    Loss,
    NotActive,
    Purpose,
    Service,
)
from barnabas_core.runtime.clock import SystemClock
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.security.tls import InternalTls

KINDS = ["grpc", "local"]
LOCALHOST = Address("127.0.0.1", 0)
DEADLINE_S = 60

# What the stand-in for a service does with a call, by its api key.
ECHO, WAIT, REFUSE, NOT_ACTIVE, CRASH = range(5)


class Lab:
    """The nodes of a test. Everything opened through it is closed with it."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.lines = io.StringIO()
        self.log = EventLog(stream=self.lines)
        self._network = LocalNetwork(self.log)
        self._open = AsyncExitStack()

    async def close(self) -> None:
        await self._open.aclose()

    def links(
        self,
        node_id: int,
        cluster_id: str = "cluster",
        config: LinkConfig | None = None,
        tls: InternalTls | None = None,
        role: str | None = None,
    ) -> StreamLinks:
        named = role or ("controller" if node_id == 1 else "broker")
        identity = Identity(cluster_id, node_id, named)
        if self.kind == "local":
            return LocalLinks(self._network, identity, SystemClock(), self.log, config)
        from barnabas_core.links.grpc_links import GrpcLinks

        return GrpcLinks(identity, SystemClock(), self.log, tls=tls, config=config)

    async def serve(
        self,
        service: Service,
        address: Address = LOCALHOST,
        *,
        links: StreamLinks | None = None,
        purpose: Purpose = Purpose.FORWARD,
    ) -> LinkServer:
        server = await (links or self.links(1)).serve(address, {purpose: service})
        self._open.push_async_callback(server.close)
        return server

    def open(
        self,
        address: Address,
        events: LinkEvents = NO_EVENTS,
        *,
        links: StreamLinks | None = None,
        purpose: Purpose = Purpose.FORWARD,
    ) -> Link:
        link = (links or self.links(2)).open(purpose, address, events)
        self._open.push_async_callback(link.close)
        return link


def in_lab(kind: str, scenario: Callable[[Lab], Awaitable[None]]) -> None:
    async def run() -> None:
        lab = Lab(kind)
        try:
            async with asyncio.timeout(DEADLINE_S):
                await scenario(lab)
        finally:
            await lab.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())


async def until(condition: Callable[[], bool]) -> None:
    """The scenario's deadline is the limit."""
    while not condition():  # noqa: ASYNC110 - what is waited for knows nothing of the test
        await asyncio.sleep(0.005)


@dataclass(eq=False)
class Servant:
    """A service that does what the call's api key says."""

    gate: asyncio.Event = field(default_factory=asyncio.Event)
    calls: list[Call] = field(default_factory=list)
    callers: list[Caller] = field(default_factory=list)
    losses: list[tuple[int, Loss]] = field(default_factory=list)

    async def on_call(self, caller: Caller, call: Call) -> Buffer:
        self.calls.append(call)
        self.callers.append(caller)
        if call.api_key == WAIT:
            await self.gate.wait()
        if call.api_key == REFUSE:
            raise CallRefused("not this one")
        if call.api_key == NOT_ACTIVE:
            raise NotActive(7, Address("elsewhere", 9))
        if call.api_key == CRASH:
            raise ZeroDivisionError("a defect")
        return call.body

    def on_lost(self, caller: Caller, loss: Loss) -> None:
        self.losses.append((caller.identity.node_id, loss))


@dataclass(eq=False)
class Witness:
    """What the calling end was told."""

    connected_count: int = 0
    losses: list[Loss] = field(default_factory=list)

    def events(self, on_push: Callable[[int, Buffer], Awaitable[None]] | None = None) -> LinkEvents:
        return LinkEvents(on_push, self._on_connected, self.losses.append)

    def _on_connected(self) -> None:
        self.connected_count += 1


def echo(body: bytes = b"") -> Call:
    return Call(ECHO, 0, body)


def wait(body: bytes = b"") -> Call:
    return Call(WAIT, 0, body)
