"""Faults that a test of an application asks for: late answers, lost ones, errors, hang-ups.

    cluster.faults.fail(ApiKey.PRODUCE, ErrorCode.NOT_LEADER_OR_FOLLOWER, count=3)
    cluster.faults.delay(ApiKey.FETCH, 200)

A fault stands before the handlers of the brokers and looks at each request of its api; the first
one that is due takes it, the others do not see it. It is due `count` times (for ever if that is not
given), for the broker, the client id and the requests that it was asked for.

It may be set from any thread. What it counts, only the cluster's own thread changes.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeAlias, TypedDict, Unpack

from barnabas_core.server.deferred import Deferred
from barnabas_core.server.dispatch import Handler, Reply, RequestContext, RequestRefused, Response
from barnabas_core.wire.api import ApiKey
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.schema import Message

Handle: TypeAlias = Callable[[Any, RequestContext], Reply]
Action: TypeAlias = Callable[[Handle, Any, RequestContext], Reply]


class Scope(TypedDict, total=False):
    """Which requests a fault takes; all of its api, where nothing is said."""

    count: int | None
    """How many of them; None: all, until the fault is cancelled."""
    client_id: str | None
    broker: int | None
    """The id of the broker that got the request."""
    when: Callable[[Any, RequestContext], bool] | None
    """Asked with the request and its context, in the cluster's own thread."""


class Fault:
    """One fault. As a context manager, it is cancelled at the end."""

    def __init__(self, api: ApiKey, action: Action, scope: Scope, faults: "Faults") -> None:
        self.api = api
        self.fired = 0
        """How many requests it has taken."""
        self.action = action
        self._scope = scope
        self._faults = faults

    @property
    def is_spent(self) -> bool:
        count = self._scope.get("count")
        return count is not None and self.fired >= count

    def takes(self, broker_id: int, request: Message, context: RequestContext) -> bool:
        scope = self._scope
        if self.is_spent or scope.get("broker") not in (None, broker_id):
            return False
        if scope.get("client_id") not in (None, context.client_id):
            return False
        when = scope.get("when")
        return when is None or when(request, context)

    def cancel(self) -> None:
        self._faults.remove(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.cancel()


class Faults:
    """Those of one cluster."""

    def __init__(self) -> None:
        self._faults: tuple[Fault, ...] = ()
        self._changing = threading.Lock()
        self._unheard: dict[asyncio.Future[Response], None] = {}
        self._fired: dict[ApiKey, int] = {}

    # -- what a test asks for

    def delay(self, api: ApiKey, delay_ms: int, **scope: Unpack[Scope]) -> Fault:
        """Carried out, and answered, this much later."""

        def late(handle: Handle, request: object, context: RequestContext) -> Reply:
            return _after(delay_ms, handle, request, context)

        return self._add(api, late, scope)

    def drop(self, api: ApiKey, **scope: Unpack[Scope]) -> Fault:
        """Not carried out and never answered; the connection stays, and is served no more."""
        return self._add(api, lambda *_: Deferred(), scope)

    def drop_answer(self, api: ApiKey, **scope: Unpack[Scope]) -> Fault:
        """Carried out, and never answered: what a client sends again, it sends twice."""
        return self._add(api, self._unanswered, scope)

    def close(self, api: ApiKey, **scope: Unpack[Scope]) -> Fault:
        """Not carried out; the connection is closed instead of an answer."""
        return self._add(api, _hang_up, scope)

    def fail(self, api: ApiKey, error: ErrorCode, **scope: Unpack[Scope]) -> Fault:
        """Not carried out; all that was asked for is answered with the error.

        `ValueError` if a response of this api has no room for one.
        """
        # Loaded with the first of them: these are a dozen message classes more.
        from barnabas.fault_response import can_fail, fault_response  # noqa: PLC0415

        if not can_fail(api):
            raise ValueError(f"{api.name} cannot be answered with an error: close it instead")
        return self._add(api, lambda _, request, __: fault_response(api, request, error), scope)

    def clear(self) -> None:
        """No more faults. What was dropped before stays unanswered."""
        with self._changing:
            self._faults = ()

    @property
    def active(self) -> tuple[Fault, ...]:
        """Those that are set and not spent."""
        return tuple(fault for fault in self._faults if not fault.is_spent)

    def fired(self, api: ApiKey | None = None) -> int:
        """How many requests met a fault: of one api, or of all; those of ended faults too."""
        counts = dict(self._fired)
        return sum(counts.values()) if api is None else counts.get(api, 0)

    def remove(self, fault: Fault) -> None:
        with self._changing:
            self._faults = tuple(one for one in self._faults if one is not fault)

    def _add(self, api: ApiKey, action: Action, scope: Scope) -> Fault:
        fault = Fault(ApiKey(api), action, scope, self)
        with self._changing:
            self._faults = (*self._faults, fault)
        return fault

    # -- what the brokers ask

    def before(self, broker_id: int) -> Callable[[Handler], Handler]:
        """What stands before each handler of a broker."""
        return lambda handler: Handler(
            handler.api, partial(self._handle, broker_id, handler.api, handler.handle)
        )

    def _handle(
        self,
        broker_id: int,
        api: ApiKey,
        handle: Handle,
        request: Any,  # noqa: ANN401 - of the class that the api has
        context: RequestContext,
    ) -> Reply:
        for fault in self._faults:
            if fault.api is api and fault.takes(broker_id, request, context):
                fault.fired += 1
                self._fired[api] = self._fired.get(api, 0) + 1
                return fault.action(handle, request, context)
        return handle(request, context)

    def _unanswered(self, handle: Handle, request: object, context: RequestContext) -> Reply:
        reply = handle(request, context)
        if isinstance(reply, Awaitable):
            carried_out = asyncio.ensure_future(reply)
            self._unheard[carried_out] = None
            carried_out.add_done_callback(self._on_carried_out)
        return Deferred()

    def _on_carried_out(self, done: "asyncio.Future[Response]") -> None:
        self._unheard.pop(done, None)
        if not done.cancelled():
            done.exception()  # noted as seen


async def _after(
    delay_ms: int, handle: Handle, request: object, context: RequestContext
) -> Response:
    await asyncio.sleep(delay_ms / 1000)
    reply = handle(request, context)
    if isinstance(reply, Deferred):
        return await _settled(reply)
    return await reply if isinstance(reply, Awaitable) else reply


async def _settled(reply: Deferred[Response]) -> Response:
    answered: asyncio.Future[Response] = asyncio.get_running_loop().create_future()

    def on_answer(response: Response) -> None:
        with suppress(asyncio.InvalidStateError):  # nobody waits any more
            answered.set_result(response)

    reply.then(on_answer)
    try:
        return await answered
    finally:
        reply.cancel()


def _hang_up(_: Handle, __: object, context: RequestContext) -> Reply:
    raise RequestRefused(f"a fault was asked for, client id {context.client_id!r}")
