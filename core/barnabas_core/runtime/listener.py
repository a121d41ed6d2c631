"""Connections from a real socket."""

import asyncio
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from barnabas_core.config.definition import Kind, definition

_BACKLOG: Final = "socket.listen.backlog.size"
_RECEIVE: Final = "socket.receive.buffer.bytes"
_SEND: Final = "socket.send.buffer.bytes"


@dataclass(frozen=True, slots=True)
class SocketOptions:
    """Of a listening socket, and of the connections that it accepts."""

    backlog: int = 128
    receive_buffer_bytes: int = -1
    """Negative: as the system sees fit, connection by connection."""
    send_buffer_bytes: int = -1

    @classmethod
    def from_broker(cls, properties: Mapping[str, str]) -> "SocketOptions":
        """Only what is set counts: Kafka's default buffers would keep the system from growing its
        own with the distance, and its backlog of 50 is short for one process that accepts.
        """
        values = [
            definition(Kind.BROKER, name).parse(properties[name]) if name in properties else default
            for name, default in ((_BACKLOG, cls().backlog), (_RECEIVE, -1), (_SEND, -1))
        ]
        backlog, receive, send = values
        assert isinstance(backlog, int)
        assert isinstance(receive, int)
        assert isinstance(send, int)
        return cls(backlog, receive, send)


class SystemListener:
    def __init__(self, options: SocketOptions | None = None) -> None:
        self._options = options or SocketOptions()
        self._server: asyncio.Server | None = None
        self._reserved: socket.socket | None = None

    async def reserve(self, host: str, port: int) -> tuple[str, int]:
        """Bind and not listen yet: whoever connects is refused until `listen`.

        Only where the port has to be known beforehand, so only for port 0.
        """
        if port:
            return host, port
        loop = asyncio.get_running_loop()
        family, kind, protocol, _, address = (
            await loop.getaddrinfo(host or "0.0.0.0", 0, type=socket.SOCK_STREAM)  # noqa: S104
        )[0]
        self._reserved = socket.socket(family, kind, protocol)
        self._reserved.setblocking(False)
        self._reserved.bind(address)
        return host, self._reserved.getsockname()[1]

    async def listen(
        self, host: str, port: int, accept: Callable[[], asyncio.BaseProtocol]
    ) -> tuple[str, int]:
        assert self._server is None
        loop = asyncio.get_running_loop()
        backlog = self._options.backlog
        if self._reserved is not None:
            reserved, self._reserved = self._reserved, None
            self._set_buffers(reserved)
            self._server = await loop.create_server(accept, sock=reserved, backlog=backlog)
        else:
            self._server = await loop.create_server(
                accept, host, port, backlog=backlog, family=socket.AF_UNSPEC, start_serving=False
            )
            for one in self._server.sockets:
                self._set_buffers(one)
            await self._server.start_serving()
        bound = self._server.sockets[0].getsockname()
        return bound[0], bound[1]

    async def close(self) -> None:
        if self._reserved is not None:
            self._reserved.close()
            self._reserved = None
        if self._server is not None:
            self._server.close()
            self._server = None

    def _set_buffers(self, listening: socket.socket) -> None:
        """Before it listens: what it accepts inherits them, and the window is agreed on then."""
        options = self._options
        if options.receive_buffer_bytes > 0:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, options.receive_buffer_bytes)
        if options.send_buffer_bytes > 0:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, options.send_buffer_bytes)
