"""Rounds by key: one at a time for each, again after a while, and at once when something happened.

A poke during a round leads to another one right after it. What fails is tried again, later and
later. There is one task for each key that is known, and none for one that is gone.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Final, Generic, TypeVar

from barnabas_core.ports import Clock
from barnabas_core.runtime.log_setup import EventLog
from barnabas_operator.kube.client import KubeError

K = TypeVar("K", bound=Hashable)
_GATHER_S: Final = 0.2
"""Events come in swarms: those of one moment make one round."""
_FIRST_RETRY_MS: Final = 500
_RETRY_MS_MAX: Final = 30_000
ROUND_S_MAX: Final = 300.0
_CONFLICT: Final = 409


class Rounds(Generic[K]):
    def __init__(
        self, run: Callable[[K], Awaitable[int | None]], clock: Clock, log: EventLog
    ) -> None:
        """`run` returns after how many ms it is to be run again; None: it is gone."""
        self._run = run
        self._clock = clock
        self._log = log
        self._tasks: dict[K, asyncio.Task[None]] = {}
        self._wakes: dict[K, asyncio.Event] = {}
        self.finished_at_ms = clock.monotonic_ms()
        """The last time that any round came to an end, good or bad."""
        self.failure_count = 0
        self.count = 0

    @property
    def keys(self) -> list[K]:
        return list(self._tasks)

    def poke(self, key: K) -> None:
        if key not in self._tasks:
            self._wakes[key] = asyncio.Event()
            self._tasks[key] = asyncio.get_running_loop().create_task(self._keep(key))
        self._wakes[key].set()

    async def stop(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _keep(self, key: K) -> None:
        retry_ms = _FIRST_RETRY_MS
        try:
            while True:
                await asyncio.sleep(_GATHER_S)
                self._wakes[key].clear()
                next_ms, is_good = await self._once(key)
                if next_ms is None and not self._wakes[key].is_set():
                    return
                retry_ms = _FIRST_RETRY_MS if is_good else min(retry_ms * 2, _RETRY_MS_MAX)
                await self._wait(key, next_ms if is_good else retry_ms)
        finally:
            del self._tasks[key], self._wakes[key]

    async def _once(self, key: K) -> tuple[int | None, bool]:
        """(when again, did it go well)"""
        try:
            async with asyncio.timeout(ROUND_S_MAX):
                return await self._run(key), True
        except KubeError as error:
            self.failure_count += 1
            # Somebody wrote meanwhile: the next round knows what.
            if error.status != _CONFLICT:
                self._log.warning("Kubernetes did not play along", key=str(key), reason=str(error))
            return _FIRST_RETRY_MS, False
        except Exception as error:
            self.failure_count += 1
            self._log.failure("a round failed", error, key=str(key))
            return _FIRST_RETRY_MS, False
        finally:
            self.count += 1
            self.finished_at_ms = self._clock.monotonic_ms()

    async def _wait(self, key: K, delay_ms: int | None) -> None:
        if delay_ms is None:
            return
        try:
            async with asyncio.timeout(delay_ms / 1000):
                await self._wakes[key].wait()
        except TimeoutError:
            pass
