"""Where partitions end, told to group coordinators: ListOffsets without a client.

Of it they make the lag of groups. Only whoever is a coordinator is answered.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from barnabas_core.ports.disk import Buffer
from barnabas_core.ports.link import Call, Caller, CallRefused, Loss
from barnabas_core.server.dispatch import Peer, RequestContext
from barnabas_core.wire.api import ApiKey
from barnabas_core.wire.codec import decode, encode
from barnabas_core.wire.error import DecodeError
from barnabas_core.wire.messages.list_offsets_request import ListOffsetsRequest
from barnabas_core.wire.messages.list_offsets_response import ListOffsetsResponse

_COORDINATOR: Final = "group"
Answer = Callable[
    [ListOffsetsRequest, RequestContext], ListOffsetsResponse | Awaitable[ListOffsetsResponse]
]


class LogEndService:
    """A `Service` for `Purpose.LOG_END`."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    async def on_call(self, caller: Caller, call: Call) -> Buffer:
        if caller.identity.role != _COORDINATOR or call.api_key != ApiKey.LIST_OFFSETS:
            raise CallRefused("this stream is for coordinators that ask where partitions end")
        try:
            request = decode(ListOffsetsRequest, call.api_version, bytes(call.body))
        except DecodeError as error:
            raise CallRefused(str(error)) from error
        answer = self._answer(request, RequestContext(call.api_version, 0, None, Peer("", 0, "")))
        response = answer if isinstance(answer, ListOffsetsResponse) else await answer
        return encode(response, call.api_version)

    def on_lost(self, caller: Caller, loss: Loss) -> None:
        """Nothing is kept for anybody."""
