"""Waiting for the disk where a position in a log can only be found by reading it."""

from collections.abc import Coroutine
from typing import Any

from barnabas_core.log.read import ReadPending
from barnabas_core.ports import Executor
from barnabas_core.runtime.supervisor import TaskList


class ColdReader:
    def __init__(self, executor: Executor, tasks: TaskList) -> None:
        self._executor = executor
        self._tasks = tasks

    async def warm(self, pending: ReadPending) -> None:
        """Bring what is missing into memory; then try again."""
        await self._executor.in_thread(pending.warm)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Go on in a task: the caller must not wait."""
        self._tasks.start(work)
