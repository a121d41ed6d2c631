"""What an operator asks of a cluster: may this node restart, is it back, is the quorum well?

    PreRestart, Quorum, Drain, Inventory, Admin   the active controller
    PostRestart, Versions                         the node that they are about

Only whoever says to be an operator is answered. The bodies are protobuf messages, which are loaded
with the first call: a cluster within one process has no operator.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

from barnabas_core.links.controller_client import ControllerClient
from barnabas_core.ports import Clock
from barnabas_core.ports.disk import Buffer
from barnabas_core.ports.link import (
    Address,
    Call,
    Caller,
    CallFailed,
    CallRefused,
    Links,
    Loss,
    Purpose,
)

if TYPE_CHECKING:
    from barnabas_core.links.proto import cluster_health_pb2 as pb

OPERATOR: Final = "operator"
_VERSION: Final = 0
_TIMEOUT_MS: Final = 10_000
LISTED_MAX: Final = 100
"""Partitions of a class that are named; of the others only the number is told."""


class HealthCall(IntEnum):
    """The api keys of these links."""

    PRE_RESTART = 1
    POST_RESTART = 2
    QUORUM = 3
    DRAIN = 4
    VERSIONS = 5
    ADMIN = 6
    INVENTORY = 7


_MESSAGES: Final[Mapping[HealthCall, tuple[str, str]]] = {
    HealthCall.PRE_RESTART: ("PreRestartRequest", "PreRestartAnswer"),
    HealthCall.POST_RESTART: ("PostRestartRequest", "PostRestartAnswer"),
    HealthCall.QUORUM: ("QuorumRequest", "QuorumAnswer"),
    HealthCall.DRAIN: ("DrainRequest", "DrainAnswer"),
    HealthCall.VERSIONS: ("VersionsRequest", "VersionsAnswer"),
    HealthCall.ADMIN: ("AdminRequest", ""),
    HealthCall.INVENTORY: ("InventoryRequest", "InventoryAnswer"),
}


def request_class(call: HealthCall) -> Any:  # noqa: ANN401 - of the generated ones
    return _class(_MESSAGES[call][0])


def answer_class(call: HealthCall) -> Any:  # noqa: ANN401
    return _class(_MESSAGES[call][1])


def _class(name: str) -> Any:  # noqa: ANN401
    from barnabas_core.links.proto import cluster_health_pb2  # noqa: PLC0415 - see above

    return getattr(cluster_health_pb2, name)


def release() -> str:
    from importlib.metadata import version  # noqa: PLC0415 - it takes a while

    return version("barnabas")


Answer = Callable[[Any], Awaitable[Any]]
"""From a request's message to that of its answer, or to the bytes of one."""


class HealthService:
    """The serving end: decodes, asks whoever answers the call, encodes."""

    def __init__(self, answers: Mapping[HealthCall, Answer]) -> None:
        self._answers = answers

    async def on_call(self, caller: Caller, call: Call) -> Buffer:
        role = caller.identity.role
        if role != OPERATOR:
            raise CallRefused(f"a {role} is not answered here, only an {OPERATOR}")
        try:
            key = HealthCall(call.api_key)
            answer = self._answers[key]
        except (ValueError, KeyError):
            raise CallRefused(f"call {call.api_key} is not answered by this node") from None
        answered = await answer(_parse(key, call.body))
        return answered if isinstance(answered, bytes) else bytes(answered.SerializeToString())

    def on_lost(self, caller: Caller, loss: Loss) -> None:
        """Nothing is kept for a caller: permits are for nodes, and end by themselves."""


def _parse(call: HealthCall, body: Buffer) -> Any:  # noqa: ANN401
    from google.protobuf.message import DecodeError  # noqa: PLC0415 - see above

    try:
        return request_class(call).FromString(bytes(body))
    except DecodeError as error:
        raise CallRefused(f"malformed {call.name}: {error}") from error


class ClusterHealthClient:
    """The calling end. Everything ends within its timeout, by `LinkError` if need be."""

    def __init__(self, links: Links, controllers: Sequence[Address], clock: Clock) -> None:
        """The links are those of an operator: that is the role in their identity."""
        self._links = links
        self._active = ControllerClient(links, controllers, Purpose.CLUSTER_HEALTH, clock)

    def know(self, controllers: Sequence[Address]) -> None:
        self._active.know(controllers)

    async def close(self) -> None:
        await self._active.close()

    async def pre_restart_check(
        self,
        node_id: int,
        *,
        wants_permit: bool = False,
        coordinator_role: str = "",
        peer_count: int = 0,
        timeout_ms: int = _TIMEOUT_MS,
    ) -> "pb.PreRestartAnswer":
        """A permit that was asked for twice is one permit: it is for the node.

        `coordinator_role` and `peer_count`: of a coordinator, and how many others of its role there
        should be.
        """
        call = HealthCall.PRE_RESTART
        request = request_class(call)(
            node_id=node_id,
            wants_permit=wants_permit,
            coordinator_role=coordinator_role,
            peer_count=peer_count,
        )
        return await self._ask_active(call, request, timeout_ms)  # type: ignore[no-any-return]

    async def quorum_check(self, timeout_ms: int = _TIMEOUT_MS) -> "pb.QuorumAnswer":
        call = HealthCall.QUORUM
        return await self._ask_active(call, request_class(call)(), timeout_ms)  # type: ignore[no-any-return]

    async def drain(self, node_id: int, timeout_ms: int = _TIMEOUT_MS) -> "pb.DrainAnswer":
        call = HealthCall.DRAIN
        request = request_class(call)(node_id=node_id)
        return await self._ask_active(call, request, timeout_ms)  # type: ignore[no-any-return]

    async def inventory(
        self, after_topic: str = "", timeout_ms: int = _TIMEOUT_MS
    ) -> "pb.InventoryAnswer":
        """One page: brokers and topics as they are committed."""
        call = HealthCall.INVENTORY
        request = request_class(call)(after_topic=after_topic)
        return await self._ask_active(call, request, timeout_ms)  # type: ignore[no-any-return]

    async def admin(
        self, api_key: int, api_version: int, body: bytes, timeout_ms: int = _TIMEOUT_MS
    ) -> bytes:
        """A request of Kafka's admin protocol, and the body of its response.

        It is sent once: what may have been carried out is not tried again.
        """
        request = request_class(HealthCall.ADMIN)(
            api_key=api_key, api_version=api_version, body=body
        )
        call = Call(HealthCall.ADMIN, _VERSION, request.SerializeToString())
        return bytes(await self._active.call(call, timeout_ms))

    async def post_restart_check(
        self, node: Address, purpose: Purpose, timeout_ms: int = _TIMEOUT_MS
    ) -> "pb.PostRestartAnswer":
        """`purpose`: CLUSTER_, BROKER_ or COORDINATOR_HEALTH, by the role that is asked about."""
        return await self._ask_node(HealthCall.POST_RESTART, node, purpose, timeout_ms)  # type: ignore[no-any-return]

    async def versions(
        self, node: Address, purpose: Purpose, timeout_ms: int = _TIMEOUT_MS
    ) -> "pb.VersionsAnswer":
        return await self._ask_node(HealthCall.VERSIONS, node, purpose, timeout_ms)  # type: ignore[no-any-return]

    async def _ask_active(self, key: HealthCall, request: Any, timeout_ms: int) -> Any:  # noqa: ANN401
        call = Call(key, _VERSION, request.SerializeToString())
        body = await self._active.call(call, timeout_ms, is_idempotent=True)
        return _read(key, body)

    async def _ask_node(
        self, key: HealthCall, node: Address, purpose: Purpose, timeout_ms: int
    ) -> Any:  # noqa: ANN401
        link = self._links.open(purpose, node)
        try:
            call = Call(key, _VERSION, request_class(key)().SerializeToString())
            return _read(key, await link.call(call, timeout_ms))
        finally:
            await link.close()


def _read(call: HealthCall, body: Buffer) -> Any:  # noqa: ANN401
    from google.protobuf.message import DecodeError  # noqa: PLC0415 - see above

    try:
        return answer_class(call).FromString(bytes(body))
    except DecodeError as error:
        raise CallFailed(f"malformed answer to {call.name}: {error}") from error
