"""Every background task has an owner, and the owner has a fixed order.

`Supervisor` starts tasks by name, keeps them in the order of starting and stops them in the reverse
one, waiting for each. It is the one place that catches whatever a task raises: an operating failure
is dealt with where it happens, so what arrives here is a defect. It is logged with its traceback
and the task runs again after `retry_ms`, because a broker that has lost its retention or flush task
looks well until its disk is full.

`asyncio.TaskGroup` is not used: it holds a set, whose order no simulation can repeat.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from barnabas_core.runtime.log_setup import EventLog


class Supervisor:
    def __init__(self, log: EventLog, *, retry_ms: int = 1_000) -> None:
        self._log = log
        self._retry_ms = retry_ms
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def start(self, name: str, run: Callable[[], Awaitable[None]]) -> None:
        """Run until it returns; when it raises, log and run it again."""
        assert name not in self._tasks, name
        self._tasks[name] = asyncio.get_running_loop().create_task(
            self._keep_running(name, run), name=name
        )

    def every(self, name: str, interval_ms: int, run: Callable[[], Awaitable[None]]) -> None:
        """Run again `interval_ms` after the last run ended; the first run is after one interval."""

        async def repeat() -> None:
            while True:
                await asyncio.sleep(interval_ms / 1000)
                await run()

        self.start(name, repeat)

    async def stop(self) -> None:
        """Cancel the tasks one by one, the last started first, and see each of them end."""
        while self._tasks:
            _, task = self._tasks.popitem()
            task.cancel()
            await _see_end(task)

    async def _keep_running(self, name: str, run: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await run()
            except Exception as error:
                self._log.failure("a background task failed", error, task=name)
            else:
                return
            await asyncio.sleep(self._retry_ms / 1000)


async def _see_end(task: asyncio.Task[None]) -> None:
    """Wait for a cancelled task; what it raises is for whoever watches it.

    Not by awaiting it: a `CancelledError` of its own could not be told from one of the caller's,
    who may be cancelled in the same moment and must hear of it.
    """
    ended = asyncio.Event()
    task.add_done_callback(lambda _: ended.set())
    await ended.wait()
    if not task.cancelled():
        task.exception()  # noted as seen


class TaskList:
    """Short tasks that nobody waits for, such as requests under way, owned until they end."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._tasks: dict[asyncio.Task[None], None] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks[task] = None
        task.add_done_callback(self._on_done)

    async def stop(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        for task in list(self._tasks):
            await _see_end(task)

    def _on_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._log.failure("a task failed", error)
