"""Requests that only the active controller can answer: passed on as they are (KIP-590).

The answer comes back as the controller gave it. One that cannot be had in time is an error in the
place where the response has room for it; a request that may have been carried out is not sent
twice, so what the client then hears is that nobody knows.
"""

from typing import Final

from barnabas_core.links.controller_client import ControllerClient
from barnabas_core.ports.link import (
    Call,
    CallRefused,
    CallTimedOut,
    LinkBroken,
    LinkError,
    NotSent,
    Origin,
)
from barnabas_core.server.dispatch import RequestContext
from barnabas_core.wire.api import API_BY_KEY, ApiKey
from barnabas_core.wire.codec import decode, encode
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.schema import Message

_ANONYMOUS: Final = "User:ANONYMOUS"


class Forwarder:
    def __init__(self, client: ControllerClient, timeout_ms: int = 30_000) -> None:
        self._client = client
        self._timeout_ms = timeout_ms

    async def forward(self, key: ApiKey, request: Message, context: RequestContext) -> Message:
        version = context.api_version
        origin = Origin(
            _ANONYMOUS, context.peer.host, context.client_id or "", context.peer.listener
        )
        call = Call(key, version, encode(request, version), origin)
        try:
            body = await self._client.call(call, self._timeout_ms)
        except LinkError as error:
            return _failed(key, request, error)
        return decode(API_BY_KEY[key].response, version, bytes(body))


def _failed(key: ApiKey, request: Message, error: LinkError) -> Message:
    # Loaded when it is first needed.
    from barnabas_core.server.error_response import error_response  # noqa: PLC0415

    return error_response(key, request, _code(error), str(error))


def _code(error: LinkError) -> ErrorCode:
    if isinstance(error, CallRefused | NotSent):
        return ErrorCode.NOT_CONTROLLER  # not carried out: clients look again and repeat it
    if isinstance(error, LinkBroken | CallTimedOut):
        return ErrorCode.REQUEST_TIMED_OUT
    return ErrorCode.UNKNOWN_SERVER_ERROR
