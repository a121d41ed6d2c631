"""Links within one process: frames handed over as they are, on queues.

`LocalNetwork` is what the nodes of an embedded cluster share. Bodies are made immutable on the way:
what arrives is not touched by what the sender does later. Neither gRPC nor protobuf is imported.
"""

import asyncio
import errno
import os
from collections import deque
from dataclasses import replace

from barnabas_core.links.item import Answer, CallItem, Frame, Item, Push, payload
from barnabas_core.links.link_config import LinkConfig
from barnabas_core.links.stream_links import StreamLinks
from barnabas_core.links.transport import Accept, StreamEnded
from barnabas_core.ports import Clock
from barnabas_core.ports.link import Address, Identity, Purpose
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.runtime.supervisor import TaskList

_PIPE_FRAMES = 8
"""More than the protocol has under way, with pings."""


class LocalNetwork:
    """Address to server, for everybody who shares it."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._servers: dict[Address, _LocalServer] = {}
        self._last_port = 0

    async def connect(self, purpose: Purpose, address: Address) -> "_LocalTransport":
        server = self._servers.get(address)
        if server is None:
            raise StreamEnded(f"nobody listens at {address}")
        return server.connect(purpose)

    async def listen(
        self, address: Address, purposes: tuple[Purpose, ...], accept: Accept
    ) -> "_LocalServer":
        if address.port == 0:
            self._last_port += 1
            address = Address(address.host, self._last_port)
        if address in self._servers:
            raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE), str(address))
        server = _LocalServer(self, address, purposes, accept, TaskList(self._log))
        self._servers[address] = server
        return server

    def forget(self, server: "_LocalServer") -> None:
        if self._servers.get(server.address) is server:
            del self._servers[server.address]


class LocalLinks(StreamLinks):
    def __init__(
        self,
        network: LocalNetwork,
        identity: Identity,
        clock: Clock,
        log: EventLog,
        config: LinkConfig | None = None,
    ) -> None:
        super().__init__(network, identity, clock, log, config)


class _LocalServer:
    def __init__(
        self,
        network: LocalNetwork,
        address: Address,
        purposes: tuple[Purpose, ...],
        accept: Accept,
        streams: TaskList,
    ) -> None:
        self._network = network
        self._address = address
        self._purposes = purposes
        self._accept = accept
        self._streams = streams

    @property
    def address(self) -> Address:
        return self._address

    def connect(self, purpose: Purpose) -> "_LocalTransport":
        if purpose not in self._purposes:
            raise StreamEnded(f"{self._address} does not serve {purpose.value}")
        up, down = _Pipe(), _Pipe()
        self._streams.start(self._serve(purpose, _LocalTransport(down, up, "a local link")))
        return _LocalTransport(up, down, str(self._address))

    async def close(self) -> None:
        self._network.forget(self)
        await self._streams.stop()

    async def _serve(self, purpose: Purpose, transport: "_LocalTransport") -> None:
        try:
            await self._accept(purpose, transport)
        finally:
            # Also when it was cancelled before it began.
            await transport.close()


class _Pipe:
    """Frames one way. What was sent before the end is received before it."""

    def __init__(self) -> None:
        self._frames: deque[Frame] = deque()
        self._changed = asyncio.Event()
        self._is_ended = False

    def end(self) -> None:
        self._is_ended = True
        self._changed.set()

    async def put(self, frame: Frame) -> None:
        while len(self._frames) >= _PIPE_FRAMES and not self._is_ended:
            await self._change()
        if self._is_ended:
            raise StreamEnded("the other end closed the stream")
        self._frames.append(frame)
        self._changed.set()

    async def get(self) -> Frame:
        while not self._frames:
            if self._is_ended:
                raise StreamEnded("the other end closed the stream")
            await self._change()
        self._changed.set()
        return self._frames.popleft()

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()


class _LocalTransport:
    def __init__(self, outgoing: _Pipe, incoming: _Pipe, peer: str) -> None:
        self._outgoing = outgoing
        self._incoming = incoming
        self._peer = peer

    @property
    def peer(self) -> str:
        return self._peer

    async def send(self, frame: Frame) -> None:
        await self._outgoing.put(replace(frame, items=tuple(map(_frozen, frame.items))))

    async def receive(self) -> Frame:
        return await self._incoming.get()

    async def close(self) -> None:
        self._outgoing.end()
        self._incoming.end()


def _frozen(item: Item) -> Item:
    if type(payload(item)) is bytes:
        return item
    if isinstance(item, CallItem):
        return replace(item, call=replace(item.call, body=bytes(item.call.body)))
    assert isinstance(item, Answer | Push)
    return replace(item, body=bytes(item.body))
