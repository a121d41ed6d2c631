"""Calls to the active controller, whichever it is.

A controller that is not active says who is, as far as it knows; otherwise the known addresses are
tried in turn. A call that was not carried out is tried again elsewhere, within its timeout. One of
which nobody knows (the stream broke, or no answer came) is tried again only if carrying it out
twice does no harm.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from barnabas_core.ports import Clock
from barnabas_core.ports.disk import Buffer
from barnabas_core.ports.link import (
    NO_EVENTS,
    Address,
    Busy,
    Call,
    CallFailed,
    CallTimedOut,
    Link,
    LinkBroken,
    LinkError,
    LinkEvents,
    LinkFull,
    Links,
    NotActive,
    NotSent,
    Purpose,
)

_RETRY_MS_MIN: Final = 50
_RETRY_MS_MAX: Final = 1_000
# Not carried out, so that it may be tried again.
_HARMLESS: Final = (NotSent, LinkFull, NotActive, Busy)
_UNCERTAIN: Final = (LinkBroken, CallTimedOut, CallFailed)


@dataclass(slots=True, eq=False)
class _Target:
    """A link and how many calls are under way on it."""

    link: Link
    call_count: int = 0


class ControllerClient:
    def __init__(
        self,
        links: Links,
        bootstrap: Sequence[Address],
        purpose: Purpose,
        clock: Clock,
        events: LinkEvents = NO_EVENTS,
    ) -> None:
        """`events` are those of whichever link is in use."""
        self._links = links
        self.know(bootstrap)
        self._purpose = purpose
        self._clock = clock
        self._events = events
        self._next = 0
        self._target: _Target | None = None
        self._retired: list[_Target] = []
        self._closing: dict[asyncio.Task[None], None] = {}
        self._is_closed = False

    def know(self, controllers: Sequence[Address]) -> None:
        """From now on these are tried in turn: a quorum may outlive all that it began with."""
        assert controllers, "somebody has to be asked first"
        self._bootstrap = list(controllers)

    @property
    def address(self) -> Address | None:
        """Of the controller that is asked at present."""
        return None if self._target is None else self._target.link.address

    async def call(self, call: Call, timeout_ms: int, *, is_idempotent: bool = False) -> Buffer:
        """The answer of the active controller. Raises the last `LinkError` at the end of time."""
        attempts = _Attempts(self._clock.monotonic_ms() + timeout_ms)
        while True:
            target = self._current()
            left_ms = attempts.deadline_ms - self._clock.monotonic_ms()
            try:
                return await self._call_at(target, call, max(left_ms, 1))
            except (*_HARMLESS, *_UNCERTAIN) as error:
                self._leave(target, error)
                if not is_idempotent and not isinstance(error, _HARMLESS):
                    raise
                delay_ms = attempts.delay_ms(target.link.address, error)
                if self._clock.monotonic_ms() + delay_ms >= attempts.deadline_ms:
                    raise
            await asyncio.sleep(delay_ms / 1000)

    async def close(self) -> None:
        self._is_closed = True
        targets = [*self._retired, *([self._target] if self._target else [])]
        self._target = None
        self._retired.clear()
        for target in targets:
            await target.link.close()
        for task in list(self._closing):
            await task

    def _current(self) -> _Target:
        if self._is_closed:
            raise NotSent("the client was closed")
        if self._target is None:
            self._next += 1
            self._open(self._bootstrap[(self._next - 1) % len(self._bootstrap)])
        assert self._target is not None
        return self._target

    def _open(self, address: Address) -> None:
        self._target = _Target(self._links.open(self._purpose, address, self._events))

    async def _call_at(self, target: _Target, call: Call, timeout_ms: int) -> Buffer:
        target.call_count += 1
        try:
            return await target.link.call(call, timeout_ms)
        finally:
            target.call_count -= 1
            self._close_retired()

    def _leave(self, target: _Target, error: LinkError) -> None:
        """Turn to another controller, unless this one may be the right one, or another call did."""
        if target is self._target and isinstance(error, NotActive | LinkBroken):
            # Calls of others may be under way on it, and may yet be answered.
            self._retired.append(target)
            self._target = None
            if isinstance(error, NotActive) and error.address is not None:
                self._open(error.address)
        self._close_retired()

    def _close_retired(self) -> None:
        idle = [target for target in self._retired if target.call_count == 0]
        self._retired = [target for target in self._retired if target.call_count > 0]
        for target in idle:
            # Nobody's answer waits for it.
            task = asyncio.get_running_loop().create_task(_close(target.link))
            self._closing[task] = None
            task.add_done_callback(self._closing.pop)


async def _close(link: Link) -> None:
    await link.close()


class _Attempts:
    """When to try again: at once where there is somebody new to ask, else ever more slowly."""

    def __init__(self, deadline_ms: int) -> None:
        self.deadline_ms = deadline_ms
        self._asked: list[Address] = []
        self._retry_ms = _RETRY_MS_MIN

    def delay_ms(self, asked: Address, error: LinkError) -> int:
        self._asked.append(asked)
        if isinstance(error, NotActive) and error.address not in (None, *self._asked):
            return 0
        delay_ms = self._retry_ms
        self._retry_ms = min(2 * delay_ms, _RETRY_MS_MAX)
        self._asked.clear()
        return delay_ms
