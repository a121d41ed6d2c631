"""One broker of an embedded cluster, through all its lives: started, stopped, killed, restarted.

It keeps its directory and its port: a port that the system chose is held while the broker is down,
or a client's connection could be given it. Each life has threads of its own: nobody may open the
directory again while a thread of the last life is still in the middle of a write.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from barnabas.cluster_error import ClusterError
from barnabas.local_node import LocalPorts, LocalSpec, local_broker
from barnabas_core.runtime.executor import SystemExecutor
from barnabas_core.server.dispatch import Handler

if TYPE_CHECKING:
    from barnabas_broker.service import BrokerService


class Member:
    def __init__(
        self, spec: LocalSpec, on: LocalPorts, intercept: Callable[[Handler], Handler] | None
    ) -> None:
        self._spec = spec
        self._on = on
        self._intercept = intercept
        self._executor: SystemExecutor | None = None
        self._service: BrokerService | None = None
        self._held_port: socket.socket | None = None
        self.addresses: list[str] = []
        """Where clients reach it, or would if it ran."""

    @property
    def id(self) -> int:
        return self._spec.node_id

    @property
    def service(self) -> "BrokerService | None":
        """None while it does not run."""
        return self._service

    @property
    def running(self) -> "BrokerService":
        if self._service is None:
            raise ClusterError(f"broker {self.id} is not running")
        return self._service

    async def start(self) -> None:
        if self._executor is not None:
            raise ClusterError(f"broker {self.id} is running already")
        if self._spec.listener.port == 0:
            await self._hold_port()
        executor = self._executor = SystemExecutor()
        service = local_broker(self._spec, replace(self._on, executor=executor), self._intercept)
        try:
            await service.start()
        except BaseException:
            await self._end_threads()
            raise
        self._service = service
        self.addresses = [
            f"[{at.host}]:{at.port}" if ":" in at.host else f"{at.host}:{at.port}"
            for at in service.advertised
        ]

    async def stop(self) -> None:
        """In order: leadership moves away first."""
        await self._end(self.running.stop)

    async def kill(self) -> None:
        await self._end(self.running.kill)

    def forget(self) -> None:
        """It will not be started again."""
        if self._held_port is not None:
            self._held_port.close()
            self._held_port = None

    async def _hold_port(self) -> None:
        """Bound and never listening: it refuses connections, and the broker may still bind it."""
        listener = self._spec.listener
        host = listener.host or "0.0.0.0"  # noqa: S104 - what no host means
        found = await asyncio.get_running_loop().getaddrinfo(host, 0, type=socket.SOCK_STREAM)
        family, kind, protocol, _, address = found[0]
        held = self._held_port = socket.socket(family, kind, protocol)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(address)
        self._spec = replace(self._spec, listener=listener._replace(port=held.getsockname()[1]))

    async def _end(self, end: Callable[[], Awaitable[None]]) -> None:
        self._service = None
        try:
            await end()
        finally:
            await self._end_threads()

    async def _end_threads(self) -> None:
        executor, self._executor = self._executor, None
        assert executor is not None
        # Not here: whoever waits for a thread must not hold up the other brokers.
        await asyncio.to_thread(executor.close)
