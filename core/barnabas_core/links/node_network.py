"""The links of a node with two roles: one address for both, and none between them.

Both roles serve at the node's internal listener, each the purposes that are its own. A role that
calls the other one stays within the process. Where the node is its own cluster there is no outer
network: everybody it calls is itself.
"""

import asyncio
from collections.abc import Iterable

from barnabas_core.links.local_links import LocalNetwork
from barnabas_core.links.transport import Accept, Listening, Network, StreamEnded, Transport
from barnabas_core.ports.link import Address, Purpose


class NodeNetwork:
    def __init__(self, local: LocalNetwork, outer: Network | None, hosts: Iterable[str]) -> None:
        """`hosts`: by which names this node may be called."""
        self._local = local
        self._outer = outer
        self._hosts = frozenset(hosts)
        self._roles: list[_Role] = []
        self._listening: Listening | None = None

    async def connect(self, purpose: Purpose, address: Address) -> Transport:
        if self._outer is not None and not self._is_own(address):
            return await self._outer.connect(purpose, address)
        role = self._role_of(purpose)
        if role is None:
            raise StreamEnded(f"this node does not serve {purpose.value} at present")
        return await self._local.connect(purpose, role.inner.address)

    async def listen(
        self, address: Address, purposes: tuple[Purpose, ...], accept: Accept
    ) -> "_Role":
        if self._outer is not None and self._listening is None:
            self._listening = await self._outer.listen(address, tuple(Purpose), self._accept)
        bound = address if self._listening is None else self._listening.address
        inner = await self._local.listen(Address("this node", 0), purposes, accept)
        role = _Role(self, bound, purposes, accept, inner)
        self._roles.append(role)
        return role

    async def forget(self, role: "_Role") -> None:
        self._roles.remove(role)
        if not self._roles and self._listening is not None:
            listening, self._listening = self._listening, None
            await listening.close()

    def _is_own(self, address: Address) -> bool:
        own = self._listening
        if own is None or address.port != own.address.port:
            return False
        return address.host == own.address.host or address.host in self._hosts

    def _role_of(self, purpose: Purpose) -> "_Role | None":
        return next((role for role in self._roles if purpose in role.purposes), None)

    async def _accept(self, purpose: Purpose, transport: Transport) -> None:
        role = self._role_of(purpose)
        if role is not None:  # otherwise it has not started yet, and the stream ends at once
            await role.serve(purpose, transport)


class _Role:
    """What one role serves, from inside and from outside."""

    def __init__(
        self,
        network: NodeNetwork,
        address: Address,
        purposes: tuple[Purpose, ...],
        accept: Accept,
        inner: Listening,
    ) -> None:
        self._network = network
        self._address = address
        self._accept = accept
        self._streams: dict[asyncio.Future[None], asyncio.Event] = {}
        self._is_closed = False
        self.purposes = purposes
        self.inner = inner

    @property
    def address(self) -> Address:
        return self._address

    async def serve(self, purpose: Purpose, transport: Transport) -> None:
        # A task of its own: the outer network's is to end the stream in order when it is cancelled.
        stream = asyncio.ensure_future(self._accept(purpose, transport))
        ended = self._streams[stream] = asyncio.Event()
        stream.add_done_callback(lambda _: ended.set())
        try:
            await stream
        except asyncio.CancelledError:
            if not self._is_closed:
                raise
        finally:
            del self._streams[stream]

    async def close(self) -> None:
        self._is_closed = True
        streams = dict(self._streams)
        for stream in streams:
            stream.cancel()
        for ended in streams.values():
            await ended.wait()
        await self.inner.close()
        await self._network.forget(self)
