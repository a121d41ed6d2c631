"""The half of a broker that controllers see: it registers, sends heartbeats, follows the feed.

Several of them in a thread of their own, so that tests that block can have topics placed.
"""

import asyncio
import contextlib
import io
import threading
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Self, TypeVar

import uvloop

from barnabas_core.links.controller_client import ControllerClient
from barnabas_core.links.grpc_links import GrpcLinks
from barnabas_core.links.metadata_feed import MetadataFeed
from barnabas_core.metadata.feature import FEATURES
from barnabas_core.metadata.image import Image
from barnabas_core.metadata.loader import MetadataLoader
from barnabas_core.ports.link import Address, Call, Identity, LinkError, Purpose
from barnabas_core.runtime.clock import SystemClock
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.security.tls import InternalTls
from barnabas_core.wire.api import API_BY_KEY
from barnabas_core.wire.codec import decode, encode
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from barnabas_core.wire.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from barnabas_core.wire.messages.broker_registration_request import (
    BrokerRegistrationRequest,
    Feature,
    Listener,
)
from barnabas_core.wire.messages.broker_registration_response import BrokerRegistrationResponse
from barnabas_core.wire.schema import Message
from tests.support.controller_process import CLUSTER_ID, HOST, until

M = TypeVar("M", bound=Message)

_HEARTBEAT_S = 0.3
_TIMEOUT_MS = 5_000


class FakeBroker:
    def __init__(
        self,
        broker_id: int,
        cluster_id: str,
        controllers: Sequence[Address],
        tls: InternalTls | None,
    ) -> None:
        self.id = broker_id
        self.is_fenced = True
        self._cluster_id = cluster_id
        self._incarnation_id = f"incarnation-{broker_id:04}".encode()
        identity = Identity(cluster_id, broker_id, "broker", self._incarnation_id)
        self.log = EventLog(stream=io.StringIO())
        links = GrpcLinks(identity, SystemClock(), self.log, tls=tls)
        self._client = ControllerClient(links, controllers, Purpose.MEMBERSHIP, SystemClock())
        self.loader = MetadataLoader(lambda _delta, _image: None)
        self._feed = MetadataFeed(links, controllers, self.loader, SystemClock(), self.log)
        self._epoch = -1

    async def run(self) -> None:
        """Until cancelled."""
        feed = asyncio.create_task(self._feed.run())
        try:
            while True:
                await self._step()
                await asyncio.sleep(_HEARTBEAT_S)
        finally:
            feed.cancel()
            await self._client.close()

    async def _step(self) -> None:
        try:
            if self._epoch < 0:
                await self._register()
            await self._heartbeat()
        except LinkError as error:
            self.log.info("no answer", reason=str(error))

    async def _register(self) -> None:
        request = BrokerRegistrationRequest(
            broker_id=self.id,
            cluster_id=self._cluster_id,
            incarnation_id=self._incarnation_id,
            listeners=[Listener("PLAINTEXT", HOST, 10_000 + self.id)],
            features=[Feature(one.name, one.minimum, one.maximum()) for one in FEATURES.values()],
            rack=None,
            log_dirs=[f"directory-{self.id:06}".encode()],
        )
        answer = await self._ask(request, BrokerRegistrationResponse)
        if answer.error_code == ErrorCode.NONE:
            self._epoch = answer.broker_epoch
            self._feed.require(answer.broker_epoch)

    async def _heartbeat(self) -> None:
        request = BrokerHeartbeatRequest(self.id, self._epoch, max(self._feed.offset - 1, 0))
        answer = await self._ask(request, BrokerHeartbeatResponse)
        if answer.error_code in (ErrorCode.STALE_BROKER_EPOCH, ErrorCode.BROKER_ID_NOT_REGISTERED):
            self._epoch = -1
        elif answer.error_code == ErrorCode.NONE:
            self.is_fenced = answer.is_fenced

    async def _ask(self, request: Message, response: type[M]) -> M:
        key = type(request).KEY
        assert key is not None
        version = API_BY_KEY[key].max_version
        call = Call(key, version, encode(request, version))
        body = await self._client.call(call, _TIMEOUT_MS, is_idempotent=True)
        return decode(response, version, bytes(body))


class FakeBrokers:
    """Runs while it is entered; then all of them are registered and unfenced."""

    def __init__(
        self,
        controllers: Sequence[Address],
        count: int = 3,
        *,
        cluster_id: str = CLUSTER_ID,
        tls: InternalTls | None = None,
    ) -> None:
        self._make: Callable[[int], FakeBroker] = lambda broker_id: FakeBroker(
            broker_id, cluster_id, controllers, tls
        )
        self._ids = range(101, 101 + count)
        self._brokers: list[FakeBroker] = []
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="fake brokers", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(30), "the brokers' thread does not start"
        try:
            until(lambda: not any(one.is_fenced for one in self._brokers), "brokers are unfenced")
        except AssertionError:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop()

    @property
    def image(self) -> Image:
        """What the first of them has heard of the cluster."""
        return self._brokers[0].loader.image

    def wait_image(self, condition: Callable[[Image], bool], what: str) -> Image:
        until(lambda: condition(self.image), what)
        return self.image

    def _stop(self) -> None:
        assert self._loop is not None
        assert self._end is not None
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(30)
        assert not self._thread.is_alive(), "the brokers' thread does not end"

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._end = asyncio.Event()
        self._brokers = [self._make(broker_id) for broker_id in self._ids]
        tasks = [asyncio.create_task(one.run()) for one in self._brokers]
        self._ready.set()
        await self._end.wait()
        for task in tasks:
            task.cancel()
            await _seen(task)


async def _seen(task: Awaitable[None]) -> None:
    with contextlib.suppress(asyncio.CancelledError):
        await task
