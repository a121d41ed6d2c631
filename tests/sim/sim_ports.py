"""Clock, chance, threads and log of one simulated process."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from random import Random
from typing import Any, TypeVar

from barnabas_core.log.worker import JOBS, JobContext
from barnabas_core.runtime.log_setup import EventLog
from tests.sim.sim_disk import SimDisk
from tests.sim.virtual_loop import Process, VirtualLoop
from tests.support.fake_disk import Crash

T = TypeVar("T")

EPOCH_MS = 1_800_000_000_000
"""Wall time when a run begins."""
FAST_DISK = (0.000_1, 0.003)
SLOW_DISK = (0.02, 0.4)
THREAD_COUNT = 4


class SimClock:
    """Wall time may be wrong by `skew_ms`; both times run at the pace of the process."""

    def __init__(self, process: Process, skew_ms: int = 0) -> None:
        self._process = process
        self.skew_ms = skew_ms

    def now_ms(self) -> int:
        return EPOCH_MS + self.skew_ms + int(self._process.now * 1000)

    def monotonic_ms(self) -> int:
        return int(self._process.now * 1000)

    def monotonic_ns(self) -> int:
        return int(self._process.now * 1_000_000_000)


class SimRng(Random):
    """Chance as the product sees it. Where it is tight, nodes time out together: split votes."""

    tightness = 1

    def randrange(self, *arguments: int) -> int:  # type: ignore[override]
        return super().randrange(*arguments) // self.tightness


class SimLog(EventLog):
    """A defect that a supervisor would log and live with ends the run instead."""

    def __init__(self, loop: VirtualLoop, process: Process, *, is_loud: bool = False) -> None:
        super().__init__()
        self._loop = loop
        self._process = process
        self._is_loud = is_loud

    def failure(self, event: str, error: BaseException, **fields: object) -> None:
        super().failure(event, error, **fields)
        if self._loop.is_over:
            return
        if self._process.is_alive and not isinstance(error, Crash):
            self._loop.fail(error)

    def _write(self, level: str, event: str, fields: dict[str, object]) -> None:
        if self._is_loud and not self._loop.is_over:
            shown = {name: value for name, value in fields.items() if name != "exc_info"}
            print(f"{self._loop.now:9.4f} node {self._process.number}: {level} {event} {shown}")


class SimExecutor:
    """Calls take effect some time after they are asked for, and answer some time after that.

    A process that dies leaves calls under way: of each, nothing, a part or all was done, and nobody
    hears of it.
    """

    def __init__(self, loop: VirtualLoop, disk: SimDisk, rng: Random, clock: SimClock) -> None:
        self._loop = loop
        self._disk = disk
        self._clock = clock
        self._rng = rng
        self._queued: deque[tuple[Callable[[], Any], asyncio.Future[Any]]] = deque()
        self._under_way: dict[int, Callable[[], Any]] = {}
        self._count = 0
        self.delay_s = FAST_DISK

    def in_thread(self, call: Callable[[], T]) -> Awaitable[T]:
        answer: asyncio.Future[T] = self._loop.create_future()
        self._queued.append((call, answer))
        self._start_next()
        return answer

    def in_worker(self, job: str, arguments: Sequence[str]) -> Awaitable[bytes]:
        """The work of a worker process, at once: it reads and writes files as a thread does."""
        name, parameters = arguments
        context = JobContext(self._disk, self._clock, lambda _: None)
        return self.in_thread(lambda: JOBS[name](context, parameters).encode())

    def crash(self) -> None:
        """The process is gone; what it had under way is cut short somewhere."""
        for call in self._under_way.values():
            if self._rng.random() < 0.5:
                self._disk.crash_after(1 + self._rng.randrange(8))
                with suppress(Exception, Crash):  # nobody is left to hear of it
                    call()
        self._under_way.clear()
        self._queued.clear()

    def _delay(self) -> float:
        return self._rng.uniform(*self.delay_s)

    def _start_next(self) -> None:
        if self._queued and len(self._under_way) < THREAD_COUNT:
            call, answer = self._queued.popleft()
            self._count += 1
            self._under_way[self._count] = call
            self._loop.call_later(self._delay(), self._run, self._count, answer)

    def _run(self, number: int, answer: asyncio.Future[Any]) -> None:
        call = self._under_way.pop(number)
        self._loop.note(number)
        try:
            outcome, error = call(), None
        except Crash:
            return  # with its process, while it was at it
        except Exception as raised:
            outcome, error = None, raised
        self._loop.call_later(self._delay() / 4, _settle, answer, outcome, error)
        self._start_next()


def _settle(answer: asyncio.Future[Any], outcome: object, error: Exception | None) -> None:
    if answer.done():
        return
    if error is not None:
        answer.set_exception(error)
    else:
        answer.set_result(outcome)
