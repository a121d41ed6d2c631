"""Links between processes, passed in: in-process queues, gRPC, or a simulated network.

A link is one long-lived stream between two processes for one purpose. It carries calls, each with
one answer in any order, and pushes from the serving end. Bodies are bytes: Kafka's own messages,
encoded, wherever Kafka has a message for it.

A call that fails with `LinkFull`, `NotSent` or `CallRefused` was not carried out; after any other
`LinkBroken`, `CallTimedOut` or `CallFailed` nobody knows. A body may not be changed any more once
it was handed over.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Protocol

from barnabas_core.ports.disk import Buffer


class Purpose(Enum):
    """What a link is for; each has a stream of its own."""

    RAFT = "raft"
    METADATA_FEED = "metadata-feed"
    MEMBERSHIP = "membership"
    FORWARD = "forward"
    REPLICA = "replica"
    CATCH_UP = "replica-catch-up"
    """For replicas that are far behind, so that nobody who keeps up waits for their records."""
    SHARD = "shard"
    """Between the brokers that own shards and the coordinators that compute for them."""
    LOG_END = "log-end"
    """From a group coordinator to the brokers that lead what its groups read."""
    CLUSTER_HEALTH = "cluster-health"
    """From an operator to a controller."""
    BROKER_HEALTH = "broker-health"
    """From an operator to a broker: a node may be both, at one address."""
    COORDINATOR_HEALTH = "coordinator-health"
    """From an operator to a coordinator."""


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class LinkError(Exception):
    """A call got no answer."""


class LinkBroken(LinkError):
    """The stream ended, could not be opened, or was refused by the other end."""


class NotSent(LinkBroken):
    """There was no stream to send the call on: it could not be opened, or was refused, or ended
    before the call's turn came."""


class LinkFull(LinkError):
    """Too much is waiting on this link already; the call was not sent."""


class CallTimedOut(LinkError):
    pass


class CallRefused(LinkError):
    """The other end did not take the call: it serves no such thing, or has too much to do."""


class Busy(CallRefused):
    """It has too much to do at present: the call may be tried again."""


class CallFailed(LinkError):
    """The other end failed over the call, and nobody knows how far it got."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who is at the other end, as it said when the stream was opened."""

    cluster_id: str
    node_id: int
    role: str
    """broker, controller, group, transaction, share or operator."""
    incarnation_id: bytes = bytes(16)


@dataclass(frozen=True, slots=True)
class Origin:
    """For whom a call is made, where it is forwarded; of the caller itself it is all empty."""

    principal: str = ""
    client_host: str = ""
    client_id: str = ""
    listener: str = ""


NO_ORIGIN = Origin()


@dataclass(frozen=True, slots=True)
class Call:
    """A request: the body of Kafka's message at this version, without a header."""

    api_key: int
    api_version: int
    body: Buffer
    origin: Origin = NO_ORIGIN


class NotActive(CallRefused):
    """The controller that was called is not the active one: the call was not carried out."""

    def __init__(self, leader_id: int | None = None, address: Address | None = None) -> None:
        super().__init__(f"not the active controller; that is {leader_id} at {address}")
        self.leader_id = leader_id
        self.address = address


class Loss(Enum):
    """How a stream ended."""

    CLOSED = "closed"
    """The other end closed it, or its process is gone (EOF, reset): fencing early is safe."""
    SILENT = "silent"
    """Nothing was heard for too long: it may be stopped, cut off, or only slow."""


class Link(Protocol):
    """The calling end. It connects by itself, and again after a loss, with backoff."""

    @property
    def address(self) -> Address: ...

    @property
    def is_connected(self) -> bool: ...

    async def call(self, call: Call, timeout_ms: int) -> Buffer:
        """The body of the answer, at the version of the call. Raises `LinkError`.

        Calls wait for a connection that is being made, within their timeout: if that attempt
        fails, they fail with `NotSent`.
        """
        ...

    async def close(self) -> None:
        """Calls under way fail with `LinkBroken`."""
        ...


class Caller(Protocol):
    """The other end of a stream, as the serving end sees it."""

    @property
    def identity(self) -> Identity: ...

    @property
    def in_touch_ms(self) -> int:
        """How long both ends have heard of each other, if only by pings, without a pause of a
        second; 0 in one. By this process's clock: one that was stopped was out of touch."""
        ...

    async def push(self, kind: int, body: Buffer) -> None:
        """One message to the caller, in order; waits while the stream has no room.

        `LinkBroken` when the stream has ended.
        """
        ...

    def close(self) -> None: ...


class Service(Protocol):
    """What serves a purpose."""

    def on_call(self, caller: Caller, call: Call) -> Awaitable[Buffer]:
        """The body of the answer; `CallRefused` where there is none to give, `CallFailed` where
        nobody knows whether the call was carried out."""
        ...

    def on_lost(self, caller: Caller, loss: Loss) -> None: ...


@dataclass(frozen=True, slots=True)
class LinkEvents:
    """What the calling end is told besides answers; called on the event loop."""

    on_push: Callable[[int, Buffer], Awaitable[None]] | None = None
    """(kind, body); the next push waits until it returns."""
    on_connected: Callable[[], None] | None = None
    on_lost: Callable[[Loss], None] | None = None


NO_EVENTS = LinkEvents()


class LinkServer(Protocol):
    @property
    def address(self) -> Address:
        """Where it can be reached, with the port that was really bound."""
        ...

    async def close(self) -> None: ...


class Links(Protocol):
    """The network between our own processes, as one of them sees it."""

    def open(self, purpose: Purpose, address: Address, events: LinkEvents = NO_EVENTS) -> Link: ...

    async def serve(self, address: Address, services: dict[Purpose, Service]) -> LinkServer:
        """Port 0: a free one. `OSError` when the address cannot be bound."""
        ...
