"""The seam below the links: whatever can carry frames, in order, between two processes.

gRPC, in-process queues and a simulated network each implement a `Network`; everything else
(greeting, calls, pings, reconnecting, flow control) is above and exists once.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias

from barnabas_core.links.item import Frame
from barnabas_core.ports.link import Address, Purpose


class StreamEnded(Exception):
    """Nothing more comes or goes: closed, reset, or never opened. The message says why."""


class Transport(Protocol):
    """One end of a stream of frames: FIFO, and cut short at any frame when it ends."""

    @property
    def peer(self) -> str:
        """For people."""
        ...

    async def send(self, frame: Frame) -> None:
        """`StreamEnded` when that is known; to return says nothing about arrival."""
        ...

    async def receive(self) -> Frame:
        """The next one; `StreamEnded` after the last, `BadFrame` for what is none."""
        ...

    async def close(self) -> None:
        """Once, from the task that owns the stream, when nobody sends or receives any more."""
        ...


Accept: TypeAlias = Callable[[Purpose, Transport], Awaitable[None]]
"""Serves a stream that was opened to us, until it ends; then the transport may go."""


class Listening(Protocol):
    @property
    def address(self) -> Address: ...

    async def close(self) -> None:
        """Accept no more, and cancel every `Accept` under way."""
        ...


class Network(Protocol):
    async def connect(self, purpose: Purpose, address: Address) -> Transport:
        """A stream to whoever listens there; `StreamEnded` if it cannot be had.

        May return before anybody has been reached: the first `receive` shows.
        """
        ...

    async def listen(
        self, address: Address, purposes: tuple[Purpose, ...], accept: Accept
    ) -> Listening:
        """Port 0: a free one. `OSError` when the address cannot be bound."""
        ...
