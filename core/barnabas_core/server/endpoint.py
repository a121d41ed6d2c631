"""The listening end: accepts connections within bounds, closes those that are idle or in the way.

Kafka's bounds, with its names and defaults: `socket.request.max.bytes`, `max.connections` and its
kin, `connections.max.idle.ms`, `queued.max.request.bytes` (where Kafka has no bound by default, we
have one: large requests of all connections together).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from barnabas_core.ports import Clock, DiskError, Executor
from barnabas_core.runtime.log_setup import EventLog, FloodLimit
from barnabas_core.runtime.timers import Timers
from barnabas_core.server.budget import ByteBudget
from barnabas_core.server.connection import Connection, ConnectionEnvironment
from barnabas_core.server.connection_meter import CloseReason, ConnectionMeter
from barnabas_core.server.connection_quota import ConnectionLimits, ConnectionQuota
from barnabas_core.server.dispatch import Dispatcher

if TYPE_CHECKING:
    from collections.abc import Iterator

    from barnabas_core.runtime.metrics.registry import Figure
    from barnabas_core.runtime.timing_wheel import Timeout

_MIB: Final = 1024 * 1024


class Listener(Protocol):
    """Where connections come from: a socket, or a simulated network."""

    async def reserve(self, host: str, port: int) -> tuple[str, int]:
        """The address that `listen` will have, where the port is to be chosen (0)."""
        ...

    async def listen(
        self, host: str, port: int, accept: Callable[[], Connection]
    ) -> tuple[str, int]:
        """Begin to accept; the address that was really bound. `OSError` when it cannot be."""
        ...

    async def close(self) -> None:
        """Accept no more."""
        ...


@dataclass(frozen=True, slots=True)
class EndpointConfig:
    listener_name: str = "PLAINTEXT"
    frame_bytes_max: int = 100 * _MIB
    large_bytes_max: int = 512 * _MIB
    limits: ConnectionLimits = field(default_factory=ConnectionLimits)
    """Of this endpoint alone, where `EndpointParts` has no quota for several."""
    idle_ms_max: int = 600_000
    """Negative: for ever."""
    # When large requests wait for room, a connection that has sent nothing of its own large request
    # for this long loses its place: it waits for room itself, or it may never send the rest.
    stalled_ms_max: int = 10_000


@dataclass(frozen=True, slots=True)
class EndpointParts:
    """What an endpoint stands on."""

    clock: Clock
    timers: Timers
    executor: Executor
    log: EventLog
    on_disk_error: Callable[[DiskError], None]
    """Told when reading a part of an answer failed."""
    quota: ConnectionQuota | None = None
    """What all endpoints of a node share."""


class Endpoint:
    """One listener and its connections."""

    def __init__(
        self, listener: Listener, dispatcher: Dispatcher, config: EndpointConfig, on: EndpointParts
    ) -> None:
        self._listener = listener
        self._config = config
        self._clock = on.clock
        self._timers = on.timers
        self._log = on.log.named("barnabas.server")
        self._refusals = FloodLimit(self._log, on.clock)
        self._quota = on.quota or ConnectionQuota(config.limits)
        self._budget = ByteBudget(config.large_bytes_max)
        self._environment = ConnectionEnvironment(
            dispatcher=dispatcher,
            clock=on.clock,
            executor=on.executor,
            log=self._log,
            frame_bytes_max=config.frame_bytes_max,
            budget=self._budget,
            on_disk_error=on.on_disk_error,
        )
        self._meter = ConnectionMeter(config.listener_name)
        self._connections: dict[Connection, Timeout | None] = {}
        self._shortage_check = self._plan_shortage_check()

    @property
    def connection_count(self) -> int:
        return len(self._connections)

    @property
    def large_bytes(self) -> int:
        """Bytes that large requests hold at present."""
        return self._budget.used_bytes

    def figures(self) -> "Iterator[Figure]":
        # Loaded where somebody looks.
        from barnabas_core.server.connection_figures import figures  # noqa: PLC0415

        return figures(self._meter, self.connection_count, self.large_bytes)

    async def reserve(self, host: str, port: int) -> tuple[str, int]:
        """To know the port before anybody can connect."""
        return await self._listener.reserve(host, port)

    async def open(self, host: str, port: int) -> tuple[str, int]:
        return await self._listener.listen(host, port, self._accept)

    async def close(self) -> None:
        await self._listener.close()
        self._timers.cancel(self._shortage_check)
        for connection in list(self._connections):
            connection.close(CloseReason.SHUTDOWN)

    def abort_connections(self) -> None:
        """After `close`: those that still have unread answers are cut off."""
        for connection in list(self._connections):
            connection.abort(CloseReason.SHUTDOWN)

    def _accept(self) -> Connection:
        return Connection(
            self._environment, self._config.listener_name, self._on_made, self._on_lost
        )

    def _on_made(self, connection: Connection) -> bool:
        limit = self._quota.admit(self._config.listener_name, connection.peer.host)
        if limit is not None:
            self._refusals.warning(
                "connection refused: too many", peer=str(connection.peer), limit=limit
            )
            self._meter.on_refused(limit)
            return False
        self._meter.accepted_count += 1
        delay_ms = self._quota.delay_ms(self._config.listener_name, self._clock.monotonic_ms())
        if delay_ms > 0:
            connection.hold()
            self._timers.after(delay_ms, connection.release)
        if self._config.idle_ms_max < 0:
            self._connections[connection] = None
        else:
            self._watch(connection, self._config.idle_ms_max)
        return True

    def _on_lost(self, connection: Connection) -> None:
        if connection not in self._connections:  # it was refused
            return
        self._meter.on_closed(connection.close_reason)
        self._quota.release(self._config.listener_name, connection.peer.host)
        timeout = self._connections.pop(connection)
        if timeout is not None:
            self._timers.cancel(timeout)

    def _watch(self, connection: Connection, delay_ms: int) -> None:
        timeout = self._timers.after(delay_ms, lambda: self._on_idle_check(connection))
        self._connections[connection] = timeout

    def _on_idle_check(self, connection: Connection) -> None:
        """Fires once per idle period, not per request: activity only moves `last_active_ms`."""
        idle_ms = self._clock.monotonic_ms() - connection.last_active_ms
        left_ms = self._config.idle_ms_max - idle_ms
        if left_ms > 0 or connection.is_awaited:
            self._watch(connection, max(left_ms, 1_000))
            return
        self._log.debug("idle connection closed", peer=str(connection.peer))
        connection.close(CloseReason.IDLE)

    def _plan_shortage_check(self) -> "Timeout":
        return self._timers.after(self._config.stalled_ms_max // 10, self._on_shortage_check)

    def _on_shortage_check(self) -> None:
        self._shortage_check = self._plan_shortage_check()
        if not self._budget.is_short:
            return
        now_ms = self._clock.monotonic_ms()
        stalled_ms_max = self._config.stalled_ms_max
        for connection in list(self._connections):
            if connection.holds_room and now_ms - connection.last_active_ms > stalled_ms_max:
                self._refusals.warning(
                    "connection closed: its large request stalled while others wait for memory",
                    peer=str(connection.peer),
                )
                connection.abort(CloseReason.STALLED)
