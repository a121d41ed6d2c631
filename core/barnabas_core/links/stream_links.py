"""`Links` over any network that carries frames."""

from barnabas_core.links.calling_link import CallingLink
from barnabas_core.links.link_config import LinkConfig, LinkParts
from barnabas_core.links.serving_end import ServingEnd
from barnabas_core.links.transport import Listening, Network
from barnabas_core.ports import Clock
from barnabas_core.ports.link import (
    NO_EVENTS,
    Address,
    Identity,
    Link,
    LinkEvents,
    LinkServer,
    Purpose,
    Service,
)
from barnabas_core.runtime.log_setup import EventLog


class StreamLinks:
    def __init__(
        self,
        network: Network,
        identity: Identity,
        clock: Clock,
        log: EventLog,
        config: LinkConfig | None = None,
    ) -> None:
        self._network = network
        self._parts = LinkParts(identity, clock, log, config or LinkConfig())

    @property
    def identity(self) -> Identity:
        """Who we are, as streams say when they are opened. A node may learn it later."""
        return self._parts.identity

    @identity.setter
    def identity(self, identity: Identity) -> None:
        self._parts.identity = identity

    def open(self, purpose: Purpose, address: Address, events: LinkEvents = NO_EVENTS) -> Link:
        return CallingLink(purpose, address, self._network, self._parts, events)

    async def serve(self, address: Address, services: dict[Purpose, Service]) -> LinkServer:
        end = ServingEnd(services, self._parts)
        listening = await self._network.listen(address, tuple(services), end.accept)
        return _Server(listening, end)


class _Server:
    def __init__(self, listening: Listening, end: ServingEnd) -> None:
        self._listening = listening
        self._end = end

    @property
    def address(self) -> Address:
        return self._listening.address

    async def close(self) -> None:
        await self._listening.close()
        await self._end.close()
