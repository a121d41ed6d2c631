"""Peers' requests to this node's core, as they come over links."""

from typing import Protocol

from barnabas_core.ports.disk import Buffer
from barnabas_core.ports.link import Call, Caller, CallRefused, Loss
from barnabas_core.raft.message import AddVoterRequest, Request, Response
from barnabas_core.raft.wire_mapping import BadMessage, Refusal, WireMapping


class Core(Protocol):
    def open_request(self) -> int:
        """The correlation for a request that is to be asked."""
        ...

    async def ask(self, request: Request, timeout_ms: int) -> Response: ...

    def drop_request(self, correlation: int) -> None:
        """It is not asked after all."""
        ...


class RaftService:
    """Of `Purpose.RAFT`."""

    def __init__(self, core: Core, mapping: WireMapping, timeout_ms: int) -> None:
        self._core = core
        self._mapping = mapping
        self._timeout_ms = timeout_ms

    async def on_call(self, caller: Caller, call: Call) -> Buffer:
        del caller  # who may speak at all was decided when the stream was opened
        correlation = self._core.open_request()
        try:
            request = self._mapping.decode_request(
                call.api_key, call.api_version, call.body, correlation
            )
        except Refusal as refusal:
            self._core.drop_request(correlation)
            return refusal.body
        except BadMessage as error:
            self._core.drop_request(correlation)
            raise CallRefused(str(error)) from error
        try:
            response = await self._core.ask(request, self._timeout_of(request))
        except TimeoutError as error:
            # A fetch that a newer one of the same replica replaced is never answered.
            raise CallRefused("no answer in time") from error
        return self._mapping.encode_response(request, response)

    def _timeout_of(self, request: Request) -> int:
        if isinstance(request, AddVoterRequest):
            return max(request.timeout_ms, 0) + self._timeout_ms
        return self._timeout_ms

    def on_lost(self, caller: Caller, loss: Loss) -> None:
        """What the caller asked is answered into the void."""
