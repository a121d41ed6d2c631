"""From a request frame to the parts of its answer.

A `Handler` serves one api. It gets the typed request and a `RequestContext` and returns

- the response, or None where the request is to have none (Produce with acks=0): answered at once;
- a `Deferred` of that: answered from within `resolve`, without a task;
- an awaitable of that: run as a task. The decision is carried out even when the client has gone.

The response may also be `Encoded`: bytes that somebody else made of it, at the same version.

What the client did wrong is an error code in the response. `RequestRefused` is for what cannot be
answered: an unknown api or version, or bytes that are not the message they claim to be. It closes
the connection. ApiVersions alone is answered in a version that is not served (KIP-511): at v0,
with UNSUPPORTED_VERSION and the range, so that a newer client can fall back.

Decoders and encoders are looked up once per (api, version): the first four bytes of a request,
key and version, are the key of the route.
"""

import struct
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, cast

from barnabas_core.runtime.log_setup import EventLog, FloodLimit
from barnabas_core.runtime.supervisor import TaskList
from barnabas_core.server.answer import Part
from barnabas_core.server.deferred import Deferred
from barnabas_core.wire.api import API_BY_KEY, ApiInfo, ApiKey
from barnabas_core.wire.codec import decode, decoder, encoder
from barnabas_core.wire.error import DecodeError
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.frame import decode_request_header, encode_response
from barnabas_core.wire.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from barnabas_core.wire.schema import Message

if TYPE_CHECKING:
    from barnabas_core.server.error_count import CountErrors
    from barnabas_core.server.request_meter import RequestMeter, RequestTrace

_HEAD: Final = struct.Struct(">Iih")  # key and version in one, correlation id, length of client id
_ANSWER_HEAD: Final = struct.Struct(">ii").pack  # size, correlation id
_FLEXIBLE_ANSWER_HEAD: Final = struct.Struct(">iix").pack  # and no tagged fields


class RequestRefused(Exception):
    """There is no answer to this request: the connection is to be closed."""


@dataclass(slots=True)
class Peer:
    """The other end of a connection."""

    host: str
    port: int
    listener: str
    software_name: str = ""
    """As it says itself, when it asks for versions."""
    software_version: str = ""

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(slots=True)
class RequestContext:
    """What a handler knows of a request beside its content."""

    api_version: int
    correlation_id: int
    client_id: str | None
    peer: Peer
    frame: bytearray | bytes = b""
    body_start: int = 0
    body_end: int = 0

    @property
    def body(self) -> bytes:
        """The request as it came, without its header: to be passed on untouched."""
        return bytes(self.frame[self.body_start : self.body_end])


class Encoded(NamedTuple):
    """A response of the request's api and version, as bytes."""

    body: bytes


Response: TypeAlias = Message | Encoded | None
Reply: TypeAlias = Response | Deferred[Any] | Awaitable[Response]
# The parts of the answer; empty: nothing is sent; None: a defect, the connection is to be closed.
OnAnswer: TypeAlias = Callable[[list[Part] | None], None]


@dataclass(frozen=True, slots=True)
class Handler:
    """Serves one api, at the versions of the protocol table."""

    api: ApiKey
    handle: Callable[[Any, RequestContext], Reply]
    on_answered: Callable[[Any, Any], None] | None = None
    """(request, response): told of every answer before it leaves; not of one that failed."""

    @property
    def info(self) -> ApiInfo:
        return API_BY_KEY[self.api]


class _Route:
    """One (api, version): everything a request of it needs."""

    __slots__ = (
        "count_errors",
        "decode",
        "decode_answer",
        "encode",
        "handle",
        "has_flexible_answer",
        "has_flexible_head",
        "meter",
        "name",
        "on_answered",
    )

    def __init__(self, handler: Handler, version: int, meter: "RequestMeter | None") -> None:
        info = handler.info
        self.handle = handler.handle
        self.on_answered = handler.on_answered
        self.decode = decoder(info.request, version)
        self.encode = encoder(info.response, version)
        self.decode_answer = partial(decode, info.response, version)
        self.has_flexible_head = info.request_header_version(version) == 2
        self.has_flexible_answer = info.response_header_version(version) == 1
        self.name = f"{info.name} v{version}"
        self.meter = None if meter is None else meter.of(info.key)
        self.count_errors = None if meter is None else _error_counter(info.response)

    def answer(self, correlation_id: int, request: Message, message: Response) -> list[Part]:
        if self.on_answered is not None:
            self.on_answered(request, message)
        if message is None:
            return []
        if self.count_errors is not None and self.meter is not None:
            told = self.decode_answer(message.body) if isinstance(message, Encoded) else message
            self.count_errors(told, self.meter.errors)
        parts: list[Part]
        if isinstance(message, Encoded):
            parts = [message.body]
        else:
            parts = cast("list[Part]", self.encode(message))
        if self.has_flexible_answer:
            size = 5 + sum(map(len, parts))
            head = _FLEXIBLE_ANSWER_HEAD(size, correlation_id)
        else:
            size = 4 + sum(map(len, parts))
            head = _ANSWER_HEAD(size, correlation_id)
        # The first part is always bytes of the encoder's own.
        parts[0] = head + cast("bytes", parts[0])
        return parts


def _error_counter(response: type[Message]) -> "CountErrors":
    # Loaded where errors are counted.
    from barnabas_core.server.error_count import error_counter  # noqa: PLC0415

    return error_counter(response)


class _Pending(NamedTuple):
    """A request whose answer comes later."""

    route: _Route
    correlation_id: int
    request: Message
    on_answer: OnAnswer
    trace: "RequestTrace | None"


class Dispatcher:
    """The apis of one listener. Stateless between requests, shared by all connections."""

    def __init__(
        self,
        handlers: Sequence[Handler],
        log: EventLog,
        meter: "RequestMeter | None" = None,
        complaints: FloodLimit | None = None,
    ) -> None:
        """Without a meter nothing is timed or counted; `complaints` are what clients provoke."""
        self._handlers = {int(handler.api): handler for handler in handlers}
        self._routes: dict[int, _Route] = {}
        self._complaints = complaints or log
        self._tasks = TaskList(log)
        self.meter = meter

    def dispatch(
        self,
        frame: bytearray,
        peer: Peer,
        on_answer: OnAnswer,
        trace: "RequestTrace | None" = None,
    ) -> Deferred[Any] | None:
        """Handle one request. `on_answer` is called once, now or later.

        The answer that comes later, if there is one, is returned for the connection to cancel.
        """
        try:
            route_key, correlation_id, client_id_length = _HEAD.unpack_from(frame)
        except struct.error:
            raise RequestRefused(f"a request of {len(frame)} bytes has no header") from None
        route = self._routes.get(route_key)
        if route is None:
            route = self._find_route(route_key)
            if route is None:
                on_answer(self._unsupported_api_versions(correlation_id))
                return None
        request, client_id, start, end = _decode(route, frame, client_id_length)
        context = RequestContext(
            route_key & 0xFFFF, correlation_id, client_id, peer, frame, start, end
        )
        reply = route.handle(request, context)
        if trace is not None and route.meter is not None:
            trace.on_handled(route.meter)
        if reply is None or isinstance(reply, Message | Encoded):
            on_answer(route.answer(correlation_id, request, reply))
            return None
        pending = _Pending(route, correlation_id, request, on_answer, trace)
        if isinstance(reply, Deferred):
            reply.then(lambda response: self._answer(pending, response))
            return reply
        self._tasks.start(self._await(pending, reply))
        return None

    async def close(self) -> None:
        """Give up the requests that are still under way."""
        await self._tasks.stop()

    def _find_route(self, route_key: int) -> _Route | None:
        """None for an ApiVersions request of an unknown version: that has an answer even so."""
        key, version = route_key >> 16, route_key & 0xFFFF
        handler = self._handlers.get(key)
        if handler is None:
            raise RequestRefused(f"api key {key} (version {version}) is not served here")
        info = handler.info
        if not info.supports(version):
            if info.key is ApiKey.API_VERSIONS:
                return None
            raise RequestRefused(
                f"{info.name} v{version} is not served, only "
                f"v{info.min_version} to v{info.max_version}"
            )
        route = self._routes[route_key] = _Route(handler, version, self.meter)
        return route

    def _unsupported_api_versions(self, correlation_id: int) -> list[Part]:
        info = API_BY_KEY[ApiKey.API_VERSIONS]
        own = ApiVersion(info.key, info.advertised_min, info.advertised_max)
        response = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[own])
        return cast("list[Part]", encode_response(response, 0, correlation_id))

    async def _await(self, pending: _Pending, reply: Awaitable[Response]) -> None:
        try:
            response = await reply
        except RequestRefused as error:
            self._complaints.warning("connection closed: bad request", reason=str(error))
            pending.on_answer(None)
        except Exception as error:
            name = pending.route.name
            self._complaints.failure("a request handler failed", error, request=name)
            pending.on_answer(None)
        else:
            self._answer(pending, response)

    def _answer(self, pending: _Pending, response: Response) -> None:
        route, on_answer = pending.route, pending.on_answer
        if pending.trace is not None:
            pending.trace.on_ready()
        try:
            on_answer(route.answer(pending.correlation_id, pending.request, response))
        except Exception as error:
            # Whoever resolves a deferred answer serves other connections too: this one's defect
            # must not reach it.
            self._complaints.failure("an answer could not be sent", error, request=route.name)
            on_answer(None)


def _decode(
    route: _Route, frame: bytearray, client_id_length: int
) -> tuple[Message, str | None, int, int]:
    """(request, client id, where the request begins and ends)"""
    position = _HEAD.size
    client_id = None
    try:
        if client_id_length >= 0:
            stop = position + client_id_length
            client_id = frame[position:stop].decode()
            position = stop
        elif client_id_length != -1:
            raise RequestRefused(f"malformed header of {route.name}: negative length")
        if route.has_flexible_head:
            if frame[position]:  # tagged fields, which nobody sends today
                position = decode_request_header(frame)[1]
            else:
                position += 1
        request, end = route.decode(frame, position)
    except DecodeError as error:
        raise RequestRefused(f"malformed {route.name}: {error}") from error
    except (UnicodeDecodeError, IndexError) as error:
        raise RequestRefused(f"malformed header of {route.name}: {error}") from error
    # Bytes behind the message are ignored, as Kafka does: librdkafka 2.12 sends three of them with
    # a Metadata request for all topics.
    return request, client_id, position, end
