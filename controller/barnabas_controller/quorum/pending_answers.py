"""Requests that came to this node and wait for what its core says to them."""

import asyncio

from barnabas_core.ports.link import CallRefused
from barnabas_core.raft.message import Response

PENDING_COUNT_MAX = 1000


class PendingAnswers:
    def __init__(self) -> None:
        self._waiting: dict[int, asyncio.Future[Response]] = {}
        self._last_correlation = 0

    def open(self) -> int:
        """A correlation of our own: those of the askers may be the same."""
        if len(self._waiting) >= PENDING_COUNT_MAX:
            raise CallRefused("too many requests wait for this quorum")
        self._last_correlation += 1
        self._waiting[self._last_correlation] = asyncio.get_running_loop().create_future()
        return self._last_correlation

    async def wait(self, correlation: int, timeout_ms: int) -> Response:
        """`TimeoutError` if the core has nothing to say, `CallRefused` if it is gone."""
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                return await self._waiting[correlation]
        finally:
            del self._waiting[correlation]

    def drop(self, correlation: int) -> None:
        del self._waiting[correlation]

    def resolve(self, response: Response) -> None:
        waiting = self._waiting.get(response.correlation)
        if waiting is not None and not waiting.done():
            waiting.set_result(response)

    def refuse_all(self) -> None:
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(CallRefused("the quorum driver has stopped"))
                waiting.exception()  # whoever waits may itself be cancelled before it looks
