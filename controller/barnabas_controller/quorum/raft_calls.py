"""Requests of this node to its peers: one task each, over one link per address.

The core has one request of a kind under way to each node; a new one means that the answer to the
old is not waited for any more, so its task ends.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from barnabas_core.ports.link import Address, Call, Link, LinkBroken, LinkError, Links, Purpose
from barnabas_core.raft import NodeId
from barnabas_core.raft.message import Request, Response
from barnabas_core.raft.wire_mapping import BadMessage, WireMapping

LINK_COUNT_MAX = 64


@dataclass(frozen=True, slots=True)
class CallEvents:
    address_of: Callable[[NodeId], Address | None]
    on_answer: Callable[[NodeId, Response], None]
    on_lost: Callable[[NodeId], None]
    """There will be no answer."""
    on_failure: Callable[[BaseException], None]
    """The core did not survive an answer."""


class RaftCalls:
    def __init__(
        self, links: Links, mapping: WireMapping, timeout_ms: int, events: CallEvents
    ) -> None:
        self._links = links
        self._mapping = mapping
        self._timeout_ms = timeout_ms
        self._events = events
        self._open: dict[Address, Link] = {}
        self._tasks: dict[tuple[NodeId, type[Request]], asyncio.Task[None]] = {}
        self._ended = asyncio.Event()

    def send(self, target: NodeId, request: Request) -> None:
        key = (target, type(request))
        former = self._tasks.pop(key, None)
        if former is not None:
            former.cancel()
        task = asyncio.get_running_loop().create_task(self._run(target, request))
        self._tasks[key] = task
        task.add_done_callback(lambda done: self._on_done(key, done))

    def _on_done(self, key: tuple[NodeId, type[Request]], task: asyncio.Task[None]) -> None:
        self._ended.set()
        if self._tasks.get(key) is task:
            del self._tasks[key]
        if not task.cancelled() and (error := task.exception()) is not None:
            self._events.on_failure(error)

    async def _run(self, target: NodeId, request: Request) -> None:
        try:
            response = await self._ask(target, request)
        except (LinkError, BadMessage):
            self._events.on_lost(target)
        else:
            self._events.on_answer(target, response)

    async def _ask(self, target: NodeId, request: Request) -> Response:
        address = self._events.address_of(target)
        if address is None:
            raise LinkBroken(f"nobody knows where node {target} is")
        link = await self._link(address)
        body = await link.call(Call(*self._mapping.encode_request(request)), self._timeout_ms)
        return self._mapping.decode_response(request, body)

    async def _link(self, address: Address) -> Link:
        link = self._open.pop(address, None)
        if link is None:
            link = self._links.open(Purpose.RAFT, address)
        self._open[address] = link  # in the order of their last use
        while len(self._open) > LINK_COUNT_MAX:
            oldest = next(iter(self._open))
            await self._open.pop(oldest).close()
        return link

    async def drain(self, timeout_ms: int) -> None:
        """Wait for the answers under way, but not for ever."""
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                while self._tasks:
                    self._ended.clear()
                    await self._ended.wait()
        except TimeoutError:
            pass

    def cancel(self) -> None:
        for task in list(self._tasks.values()):
            task.cancel()

    async def close(self) -> None:
        self.cancel()
        links, self._open = self._open, {}
        for link in links.values():
            await link.close()
