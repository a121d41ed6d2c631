"""Connections from a real socket."""

import asyncio
import socket
from collections.abc import Callable


class SystemListener:
    def __init__(self, backlog: int = 128) -> None:
        self._backlog = backlog
        self._server: asyncio.Server | None = None

    async def listen(
        self, host: str, port: int, accept: Callable[[], asyncio.BaseProtocol]
    ) -> tuple[str, int]:
        assert self._server is None
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            accept, host, port, backlog=self._backlog, family=socket.AF_UNSPEC
        )
        bound = self._server.sockets[0].getsockname()
        return bound[0], bound[1]

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
