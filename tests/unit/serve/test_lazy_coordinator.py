"""A coordinator in the process is started when it is needed; that it cannot be is no secret."""

import asyncio
import io
from typing import Any

from barnabas.lazy_coordinator import LazyCoordinator
from barnabas_core.runtime.log_setup import EventLog


class Service:
    def __init__(self, failures: list[Exception]) -> None:
        self._failures = failures
        self.is_stopped = False

    async def start(self) -> None:
        if self._failures:
            raise self._failures.pop()

    async def stop(self) -> None:
        self.is_stopped = True


def test_a_coordinator_that_cannot_be_started_is_in_the_log_at_once_and_is_tried_again() -> None:
    said = io.StringIO()
    made: list[Any] = []
    failures: list[Exception] = [OSError("no such address")]

    async def scene() -> None:
        lazy = LazyCoordinator(make, EventLog(stream=said), retry_ms=1)
        assert made == []
        lazy.need()
        lazy.need()
        async with asyncio.timeout(10):
            while not lazy.is_started:  # noqa: ASYNC110 - as whoever uses it sees it
                await asyncio.sleep(0.001)
        assert "no such address" in said.getvalue()
        await lazy.stop()

    def make() -> Any:  # noqa: ANN401 - something that can be started and stopped
        made.append(Service(failures))
        return made[-1]

    asyncio.run(scene())

    assert [service.is_stopped for service in made] == [True, True]


def test_a_coordinator_that_never_starts_does_not_keep_anybody_from_stopping() -> None:
    said = io.StringIO()

    async def scene() -> None:
        lazy = LazyCoordinator(make, EventLog(stream=said), retry_ms=60_000)
        lazy.need()
        async with asyncio.timeout(10):
            while "broken" not in said.getvalue():  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.001)
        await lazy.stop()

    def make() -> Any:  # noqa: ANN401
        raise ImportError("broken")

    asyncio.run(scene())
