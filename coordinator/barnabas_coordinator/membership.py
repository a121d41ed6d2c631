"""A coordinator's standing in its cluster: registered with the active controller, and out again.

    REGISTERING ──taken──> LIVE ──drain──> DRAINING
         ^                  │ not known any more (a new controller, a session that ended)
         └──────────────────┘

Heartbeats are every `broker.heartbeat.interval.ms`, the drain's first at once. While no controller
answers, the sessions that brokers have opened go on: only new brokers cannot find it.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from barnabas_core.links.controller_client import ControllerClient
from barnabas_core.links.coordinator_message import (
    HEARTBEAT,
    REGISTER,
    VERSION,
    ApiRange,
    BadCoordinatorMessage,
    Heartbeat,
    Registration,
    Standing,
    Verdict,
    decode_verdict,
    encode_heartbeat,
    encode_registration,
)
from barnabas_core.ports import Clock
from barnabas_core.ports.link import Address, Call, LinkError
from barnabas_core.runtime.log_setup import EventLog, FloodLimit

_RETRY_MS: Final = 200
_DRAINED_CHECK_MS: Final = 20


@dataclass(frozen=True, slots=True)
class MembershipConfig:
    advertised_host: str
    """By which brokers reach it; the port is the one that was bound."""
    rack: str | None = None
    apis: tuple[ApiRange, ...] = ()
    heartbeat_interval_ms: int = 2_000
    session_timeout_ms: int = 9_000
    drain_timeout_ms: int = 20_000
    """How long brokers have to take their sessions elsewhere, before it goes all the same."""


@dataclass(frozen=True, slots=True)
class MembershipParts:
    client: ControllerClient
    session_count: Callable[[], int]
    clock: Clock
    log: EventLog


class Membership:
    """Run `run` as a task."""

    def __init__(self, config: MembershipConfig, address: Address, on: MembershipParts) -> None:
        self._config = config
        self._address = address
        self._on = on
        self._complaints = FloodLimit(on.log, on.clock)
        self._hurry = asyncio.Event()
        self._is_draining = False
        self._is_alone = False
        self._standing = Standing.UNKNOWN

    def reason_not_ready(self) -> str | None:
        """Why no broker should lease a shard to it; None: they may."""
        if self._is_draining:
            return "on its way out"
        return None if self._standing is Standing.LIVE else "not registered"

    async def run(self) -> None:
        while True:
            is_live = self._standing is Standing.LIVE
            heartbeat = Heartbeat(self._on.session_count(), self._is_draining)
            verdict = await (self._beat(heartbeat) if is_live else self._register(heartbeat))
            if verdict is not None:
                self._take(verdict, heartbeat)
            await self._pause()

    async def drain(self) -> None:
        """Let brokers take their sessions elsewhere; returns when they have, or time is up."""
        self._is_draining = True
        self._hurry.set()
        self._on.log.info("draining", sessions=self._on.session_count())
        try:
            async with asyncio.timeout(self._config.drain_timeout_ms / 1000):
                while self._on.session_count() and not self._is_alone:  # noqa: ASYNC110
                    await asyncio.sleep(_DRAINED_CHECK_MS / 1000)
        except TimeoutError:
            left = self._on.session_count()
            self._on.log.warning("not all sessions were taken elsewhere", sessions=left)

    async def _register(self, heartbeat: Heartbeat) -> Verdict | None:
        config = self._config
        address = Address(config.advertised_host, self._address.port)
        registration = Registration(address, config.rack, config.apis)
        return await self._call(REGISTER, encode_registration(registration, heartbeat))

    async def _beat(self, heartbeat: Heartbeat) -> Verdict | None:
        return await self._call(HEARTBEAT, encode_heartbeat(heartbeat))

    async def _call(self, key: int, body: bytes) -> Verdict | None:
        timeout_ms = self._config.session_timeout_ms
        try:
            answer = await self._on.client.call(
                Call(key, VERSION, body), timeout_ms, is_idempotent=True
            )
            return decode_verdict(answer)
        except (LinkError, BadCoordinatorMessage) as error:
            # The whole quorum may be gone: brokers that have sessions here keep them.
            self._complaints.warning("no controller answers", reason=str(error))
            return None

    def _take(self, verdict: Verdict, heartbeat: Heartbeat) -> None:
        if verdict.standing is Standing.LIVE and self._standing is not Standing.LIVE:
            self._on.log.info("registered", port=self._address.port)
        elif verdict.standing is Standing.DUPLICATE:
            self._complaints.warning("another process is registered under this role and node id")
        self._standing = verdict.standing
        # Nobody would take anything from it: a drain has nothing to wait for.
        self._is_alone = heartbeat.is_draining and verdict.is_alone

    async def _pause(self) -> None:
        is_live = self._standing is Standing.LIVE
        interval_ms = self._config.heartbeat_interval_ms if is_live else _RETRY_MS
        try:
            async with asyncio.timeout(interval_ms / 1000):
                await self._hurry.wait()
        except TimeoutError:
            pass
        self._hurry.clear()
