"""An asyncio event loop whose time jumps to the next timer, for many processes in one thread.

Nothing here sleeps, and no socket or thread is opened. Callbacks run in the order in which they
were asked for; timers in the order of their time, and of asking where that is equal. So a run is
the same each time, as long as what runs in it asks only the ports for time and chance.

Code runs in the context of a `Process` (or of none: the world outside). Whatever it schedules
belongs to that process: it stays undone when the process is killed, and waits while the process is
stopped. A killed process gets no chance to tidy up: its tasks are not cancelled, they just never go
on. They are kept until the loop is closed, because a coroutine that is collected runs its `finally`
blocks. Each process has its own pace of time, too.
"""

import asyncio
import zlib
from asyncio import BaseEventLoop
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from contextvars import Context, ContextVar, copy_context
from heapq import heappop, heappush
from typing import Any, TypeVar

from tests.support.fake_disk import Crash

T = TypeVar("T")

STEPS_AT_ONCE_MAX = 100_000
"""So many steps without any time passing are a loop that waits for nothing."""


class SimulationStuck(AssertionError):
    """Nothing will ever happen again, or things happen without end."""


class Process:
    """What runs together and dies together."""

    def __init__(self, loop: "VirtualLoop", number: int) -> None:
        self.number = number
        self.is_alive = True
        self.is_stopped = False
        self._loop = loop
        self._context = copy_context()
        self._context.run(PROCESS.set, self)
        self._backlog: list[_Handle | _TimerHandle] = []
        self._rate = 1.0
        self._anchor = (loop.now, loop.now)
        """(world's time, own time) when the rate was last set."""

    def run(self, call: Callable[..., T], *arguments: object) -> T:
        """Call it as this process."""
        return self._context.copy().run(call, *arguments)

    def start(self, work: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
        return self._loop.create_task(work, name=name, context=self._context.copy())

    # --- its time

    @property
    def now(self) -> float:
        world, own = self._anchor
        return own + (self._loop.now - world) * self._rate

    def in_world_time(self, when: float) -> float:
        return self._loop.now + (when - self.now) / self._rate

    def set_rate(self, rate: float) -> None:
        self._anchor = (self._loop.now, self.now)
        self._rate = rate

    # --- its end

    def kill(self) -> None:
        self.is_alive = False
        self._backlog.clear()

    def stop(self) -> None:
        """SIGSTOP: it knows nothing of it."""
        self.is_stopped = True

    def resume(self) -> None:
        self.is_stopped = False
        backlog, self._backlog = self._backlog, []
        if self.is_alive:
            self._loop.run_soon(backlog)

    def takes(self, handle: "_Handle | _TimerHandle") -> bool:
        """May this callback run now?"""
        if self.is_alive and self.is_stopped:
            self._backlog.append(handle)
        return self.is_alive and not self.is_stopped


PROCESS: ContextVar[Process | None] = ContextVar("PROCESS", default=None)


def current_process() -> Process:
    process = PROCESS.get()
    assert process is not None, "this runs in a process"
    return process


class _Handle(asyncio.Handle):
    process: Process | None


class _TimerHandle(asyncio.TimerHandle):
    process: Process | None


class VirtualLoop(BaseEventLoop):
    def __init__(self, steps_max: int = 20_000_000) -> None:
        super().__init__()
        self.now = 0.0
        self.trace = 0
        self.step_count = 0
        self.is_over = False
        self._first_error: BaseException | None = None
        self._steps_max = steps_max
        self._step_of_last_jump = 0
        self._soon: deque[_Handle | _TimerHandle] = deque()
        self._timers: list[tuple[float, int, _TimerHandle]] = []
        self._timer_count = 0
        self._all_tasks: list[asyncio.Task[Any]] = []
        self._sweep_at = 1_000
        self.set_task_factory(_new_task)
        self.set_exception_handler(_on_failure)

    # --- what asyncio asks of a loop

    def time(self) -> float:
        process = PROCESS.get()
        return self.now if process is None else process.now

    def call_soon(
        self, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> asyncio.Handle:
        if context is None:
            context = copy_context()
        handle = _Handle(callback, args, self, context)
        handle.process = context.get(PROCESS)
        self._soon.append(handle)
        return handle

    def call_soon_threadsafe(
        self, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> asyncio.Handle:
        return self.call_soon(callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[..., object],
        *args: object,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        if context is None:
            context = copy_context()
        handle = _TimerHandle(when, callback, args, self, context)
        handle.process = context.get(PROCESS)
        if handle.process is not None:
            when = handle.process.in_world_time(when)
        self._timer_count += 1
        heappush(self._timers, (when, self._timer_count, handle))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """It stays in the heap until its time has come."""

    def _run_once(self) -> None:
        if not self._soon:
            self._jump()
        for _ in range(len(self._soon)):
            handle = self._soon.popleft()
            if handle.cancelled():
                continue
            if handle.process is None or handle.process.takes(handle):
                self.step_count += 1
                handle._run()
        if self._first_error is not None:
            error, self._first_error = self._first_error, None
            raise error
        self._check_progress()

    def _jump(self) -> None:
        """To the next moment at which something happens."""
        while self._timers and self._timers[0][2].cancelled():
            heappop(self._timers)
        if not self._timers:
            raise SimulationStuck(f"nothing is left to happen after {self.now:.3f} s")
        when = self._timers[0][0]
        if when > self.now:
            self.now = when
            self._step_of_last_jump = self.step_count
        while self._timers and self._timers[0][0] <= self.now:
            self._soon.append(heappop(self._timers)[2])

    def _check_progress(self) -> None:
        if self.step_count - self._step_of_last_jump > STEPS_AT_ONCE_MAX:
            raise SimulationStuck(f"time stands still at {self.now:.3f} s")
        if self.step_count > self._steps_max:
            raise SimulationStuck(f"no end after {self.step_count} steps, at {self.now:.3f} s")

    # --- what the simulation asks of it

    def run_soon(self, handles: "list[_Handle | _TimerHandle]") -> None:
        self._soon.extend(handles)

    def note(self, *what: int) -> None:
        """Fold what happens into the trace: equal seeds must give equal traces.

        Numbers only: their hash is the same in every process.
        """
        self.trace = hash((self.trace, self.now, what))

    def note_bytes(self, data: bytes, *what: int) -> None:
        self.note(len(data), zlib.crc32(data), *what)

    def keep(self, task: asyncio.Task[Any]) -> None:
        self._all_tasks.append(task)
        if len(self._all_tasks) > self._sweep_at:
            self._all_tasks = [one for one in self._all_tasks if not one.done()]
            self._sweep_at = max(1_000, 2 * len(self._all_tasks))

    def fail(self, error: BaseException) -> None:
        """End the run with this error: raised from whatever runs the loop."""
        if self._first_error is None:
            self._first_error = error

    def close(self) -> None:
        """Drop every task that is left, without a step of its own being seen any more."""
        self.is_over = True
        self.set_exception_handler(_ignore)
        tasks, self._all_tasks = self._all_tasks, []
        for task in tasks:
            if not task.done():
                task._log_destroy_pending = False  # type: ignore[attr-defined]
                _close(task.get_coro())
        self._soon.clear()
        self._timers.clear()
        super().close()


def _new_task(
    loop: asyncio.AbstractEventLoop,
    work: Coroutine[Any, Any, T] | Generator[Any, None, T],
    **options: Any,  # noqa: ANN401 - asyncio hands on what create_task was given
) -> asyncio.Task[T]:
    assert isinstance(loop, VirtualLoop)
    task: asyncio.Task[T] = asyncio.Task(work, loop=loop, **options)
    loop.keep(task)
    return task


def _on_failure(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    assert isinstance(loop, VirtualLoop)
    error = context.get("exception")
    if isinstance(error, Crash):
        return  # its process is dead, and so is whoever would have handled it
    loop.fail(error if error is not None else SimulationStuck(context["message"]))


def _ignore(_: asyncio.AbstractEventLoop, __: dict[str, Any]) -> None:
    pass


def _close(work: Any) -> None:  # noqa: ANN401 - a coroutine in whatever state it was left
    """Its process is dead or the run is over: whatever it says on its way out is of no interest."""
    with suppress(BaseException):
        work.close()
