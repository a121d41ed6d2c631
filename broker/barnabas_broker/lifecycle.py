"""A broker's standing in its cluster: registered, caught up, unfenced, and orderly out again.

    REGISTERING  ──registered──>  CATCHING_UP  ──feed has passed its registration──>  RUNNING
    RUNNING      ──leave──>       LEAVING      ──"you may shut down", or time is up──>  LEFT

A broker that the controller fences meanwhile is still RUNNING: it goes on sending heartbeats, and
is unfenced when they arrive. Heartbeats are every `broker.heartbeat.interval.ms`; those that bring
a change about (caught up, leaving, a directory lost) go at once.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from barnabas_core.links.controller_client import ControllerClient
from barnabas_core.ports import Clock
from barnabas_core.ports.link import Call, LinkError
from barnabas_core.runtime.log_setup import EventLog, FloodLimit
from barnabas_core.wire.api import API_BY_KEY, ApiKey
from barnabas_core.wire.codec import decode, encode
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from barnabas_core.wire.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from barnabas_core.wire.messages.broker_registration_request import BrokerRegistrationRequest
from barnabas_core.wire.messages.broker_registration_response import BrokerRegistrationResponse

_RETRY_MS: Final = 200
_LEAVING_INTERVAL_MS: Final = 50
NO_EPOCH: Final = -1

# What no retry can mend: the broker must not run.
_FATAL: Final = (
    ErrorCode.INCONSISTENT_CLUSTER_ID,
    ErrorCode.UNSUPPORTED_VERSION,
    ErrorCode.INVALID_REGISTRATION,
    ErrorCode.INVALID_REQUEST,
)


class Standing(Enum):
    REGISTERING = "registering"
    CATCHING_UP = "catching up"
    RUNNING = "running"
    LEAVING = "leaving"
    LEFT = "left"


class RegistrationRefused(Exception):
    """The cluster will not have this broker; the message says why."""


@dataclass(frozen=True, slots=True)
class LifecycleConfig:
    heartbeat_interval_ms: int = 2_000
    session_timeout_ms: int = 9_000
    registration_timeout_ms: int = 60_000
    """`initial.broker.registration.timeout.ms`."""


@dataclass(frozen=True, slots=True)
class LifecycleParts:
    client: ControllerClient
    clock: Clock
    log: EventLog
    applied_offset: Callable[[], int]
    """Of the last metadata record that this broker has applied."""
    offline_dirs: Callable[[], Sequence[bytes]]
    cordoned_dirs: Callable[[], Sequence[bytes]] = tuple
    """Those that are to take no new partitions (`cordoned.log.dirs`)."""


class Lifecycle:
    def __init__(
        self, request: BrokerRegistrationRequest, config: LifecycleConfig, on: LifecycleParts
    ) -> None:
        self._request = request
        self._config = config
        self._on = on
        self._complaints = FloodLimit(on.log, on.clock)
        self._hurry = asyncio.Event()
        self._changed = asyncio.Condition()
        self.standing = Standing.REGISTERING
        self.broker_epoch = NO_EPOCH
        self.is_fenced = True

    # --- what others ask of it

    async def wait_unfenced(self) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: not self.is_fenced)

    def hurry(self) -> None:
        """Something changed that the controller should hear of now."""
        self._hurry.set()

    async def leave(self, timeout_ms: int) -> bool:
        """Ask to go, and wait for leave to be given: then nobody follows this broker any more."""
        if self.broker_epoch == NO_EPOCH:
            return False
        self.standing = Standing.LEAVING
        self.hurry()
        try:
            async with asyncio.timeout(timeout_ms / 1000), self._changed:
                await self._changed.wait_for(lambda: self.standing is Standing.LEFT)
        except TimeoutError:
            return False
        return True

    # --- registration

    async def register(self) -> None:
        """`RegistrationRefused` if that is final, or not done in time."""
        deadline_ms = self._on.clock.monotonic_ms() + self._config.registration_timeout_ms
        while True:
            error = await self._try_register()
            if error is ErrorCode.NONE:
                return
            if error in _FATAL:
                raise RegistrationRefused(f"the controller refuses this broker: {error.name}")
            if self._on.clock.monotonic_ms() >= deadline_ms:
                raise RegistrationRefused(f"not registered in time, last error: {error.name}")
            self._complaints.warning("not registered yet", error=error.name)
            await asyncio.sleep(_RETRY_MS / 1000)

    async def _try_register(self) -> ErrorCode:
        version = API_BY_KEY[ApiKey.BROKER_REGISTRATION].max_version
        call = Call(ApiKey.BROKER_REGISTRATION, version, encode(self._request, version))
        try:
            body = await self._on.client.call(
                call, self._config.session_timeout_ms, is_idempotent=True
            )
        except LinkError as error:
            self._complaints.warning("no controller answers", reason=str(error))
            return ErrorCode.BROKER_NOT_AVAILABLE
        response = decode(BrokerRegistrationResponse, version, bytes(body))
        error_code = ErrorCode(response.error_code)
        if error_code is ErrorCode.NONE:
            self.broker_epoch = response.broker_epoch
            self.standing = Standing.CATCHING_UP
            self._on.log.info(
                "registered",
                broker_epoch=response.broker_epoch,
                previous_broker_epoch=self._request.previous_broker_epoch,
            )
        return error_code

    # --- heartbeats

    async def run(self) -> None:
        """Until it has left."""
        while self.standing is not Standing.LEFT:
            response = await self._beat()
            if response is not None:
                await self._take(response)
            await self._pause()

    async def _beat(self) -> BrokerHeartbeatResponse | None:
        version = API_BY_KEY[ApiKey.BROKER_HEARTBEAT].max_version
        request = BrokerHeartbeatRequest(
            broker_id=self._request.broker_id,
            broker_epoch=self.broker_epoch,
            current_metadata_offset=self._on.applied_offset(),
            want_fence=self.standing is Standing.CATCHING_UP and not self._has_caught_up,
            want_shut_down=self.standing is Standing.LEAVING,
            offline_log_dirs=list(self._on.offline_dirs()),
            cordoned_log_dirs=list(self._on.cordoned_dirs()),
        )
        call = Call(ApiKey.BROKER_HEARTBEAT, version, encode(request, version))
        try:
            body = await self._on.client.call(
                call, self._config.session_timeout_ms, is_idempotent=True
            )
        except LinkError as error:
            # The whole quorum may be gone: what this broker leads, it goes on serving.
            self._complaints.warning("heartbeat not answered", reason=str(error))
            return None
        return decode(BrokerHeartbeatResponse, version, bytes(body))

    @property
    def _has_caught_up(self) -> bool:
        return self._on.applied_offset() >= self.broker_epoch

    async def _take(self, response: BrokerHeartbeatResponse) -> None:
        error = ErrorCode(response.error_code)
        if error is ErrorCode.STALE_BROKER_EPOCH:
            # Unregistered by an administrator, or another process took this broker's id.
            self._on.log.warning("registration lost, registering again")
            await self.register()
            return
        if error is not ErrorCode.NONE:
            self._complaints.warning("heartbeat refused", error=error.name)
            return
        async with self._changed:
            if self.is_fenced != response.is_fenced:
                self._on.log.info("fenced" if response.is_fenced else "unfenced")
            self.is_fenced = response.is_fenced
            if self.standing is Standing.CATCHING_UP and not response.is_fenced:
                self.standing = Standing.RUNNING
            if self.standing is Standing.LEAVING and response.should_shut_down:
                self.standing = Standing.LEFT
            self._changed.notify_all()

    async def _pause(self) -> None:
        interval_ms = self._config.heartbeat_interval_ms
        if self.standing is Standing.LEAVING:
            interval_ms = _LEAVING_INTERVAL_MS
        try:
            async with asyncio.timeout(interval_ms / 1000):
                await self._hurry.wait()
        except TimeoutError:
            pass
        self._hurry.clear()
