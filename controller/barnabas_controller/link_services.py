"""What a controller serves to other nodes: Membership and Forward, both calls of Kafka's messages.

Membership is what a broker or coordinator says for itself, so its calls are cluster actions;
Forward carries a client's request with the client's name, takes none of those, and only from whom
is registered as a broker: it is believed who the client is. Both answer `NotActive`, with the
address of the active controller, where this is another one.
"""

from collections.abc import Callable

from barnabas_controller.managers.view import Context
from barnabas_controller.requests import Requests
from barnabas_core.ports.disk import Buffer
from barnabas_core.ports.link import (
    Address,
    Call,
    Caller,
    CallFailed,
    CallRefused,
    Identity,
    Loss,
    NotActive,
)
from barnabas_core.wire.api import API_BY_KEY, ApiKey
from barnabas_core.wire.codec import decode, encode
from barnabas_core.wire.error import DecodeError, EncodeError

FindActive = Callable[[], tuple[int | None, Address | None]]
"""(node id, address of its links) of the active controller, as far as they are known."""


class CallService:
    """Decodes, handles, encodes."""

    def __init__(
        self,
        requests: Requests,
        find_active: FindActive,
        *,
        cluster_actions: bool,
        is_admitted: Callable[[Identity], bool] = lambda _: True,
        on_closed: Callable[[Identity], None] | None = None,
    ) -> None:
        self._requests = requests
        self._find_active = find_active
        self._cluster_actions = cluster_actions
        self._is_admitted = is_admitted
        self._on_closed = on_closed
        self._keys = frozenset(
            key for key in requests.keys if requests.is_cluster_action(key) == cluster_actions
        )

    async def on_call(self, caller: Caller, call: Call) -> Buffer:
        if not self._is_admitted(caller.identity):
            raise CallRefused(f"{caller.identity.role} {caller.identity.node_id} is not registered")
        return await self.answer(call, self._context(caller, call))

    async def answer(self, call: Call, context: Context) -> Buffer:
        key, version = self._check(call)
        info = API_BY_KEY[key]
        try:
            request = decode(info.request, version, bytes(call.body))
        except DecodeError as error:
            raise CallRefused(f"malformed {info.name} v{version}: {error}") from error
        try:
            response = await self._requests.handle(key, request, context)
        except NotActive as error:
            raise NotActive(*self._find_active()) from error
        try:
            return encode(response, version)
        except EncodeError as error:
            # It was carried out all the same.
            raise CallFailed(f"no answer to {info.name} v{version}: {error}") from error

    def on_lost(self, caller: Caller, loss: Loss) -> None:
        if self._on_closed is not None and loss is Loss.CLOSED:
            self._on_closed(caller.identity)

    def _check(self, call: Call) -> tuple[ApiKey, int]:
        info = API_BY_KEY.get(call.api_key)
        if info is None or info.key not in self._keys:
            raise CallRefused(f"api key {call.api_key} is not served on this link")
        if not info.supports(call.api_version):
            raise CallRefused(f"{info.name} v{call.api_version} is not served")
        return info.key, call.api_version

    def _context(self, caller: Caller, call: Call) -> Context:
        origin = call.origin
        if self._cluster_actions:
            return Context(call.api_version, f"Node:{caller.identity.node_id}")
        return Context(
            call.api_version,
            origin.principal or "User:ANONYMOUS",
            origin.client_host,
            origin.client_id,
        )
