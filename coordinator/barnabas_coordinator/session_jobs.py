"""The jobs of one session: each in a thread, its outcome kept until the session has a turn."""

import asyncio
from collections import deque
from collections.abc import Callable

from barnabas_coordinator.shard.decision import Job
from barnabas_core.ports import Executor


class SessionJobs:
    def __init__(self, executor: Executor, wake: Callable[[], None]) -> None:
        self._executor = executor
        self._wake = wake
        self._running: dict[asyncio.Future[None], None] = {}
        self.done: deque[tuple[Job, object]] = deque()
        self.failure: BaseException | None = None
        """Whoever waits for the outcome would wait for ever: the session is to end."""

    def start(self, job: Job) -> None:
        task = asyncio.ensure_future(self._do(job))
        self._running[task] = None
        task.add_done_callback(self._on_ended)

    def cancel(self) -> None:
        for task in self._running:
            task.cancel()

    async def _do(self, job: Job) -> None:
        outcome = await self._executor.in_thread(job.run)
        self.done.append((job, outcome))
        self._wake()

    def _on_ended(self, task: "asyncio.Future[None]") -> None:
        self._running.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.failure = error
            self._wake()
