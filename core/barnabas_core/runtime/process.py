"""A process that serves until it is told to stop: event loop, signals, exit status.

What cannot be done is one line on standard error and status 1, without a traceback: whoever started
the process has to change something. SIGTERM and SIGINT stop it in order; a second one kills it.
"""

import asyncio
import gc
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Any, Final

import uvloop

from barnabas_core.runtime.disk import raise_file_limit
from barnabas_core.runtime.heap import keep_heap_small
from barnabas_core.runtime.log_setup import EventLog

# A thread that waits for the interpreter gets it after this long, not after 5 ms: the loop shares
# it with threads that read and write files.
_SWITCH_INTERVAL_S: Final = 0.0005
_LAST_TURNS_S: Final = 1.0
_TURN_S: Final = 0.005


class CannotStart(Exception):
    """Says in one line what has to change."""


def run_process(name: str, log: EventLog, serve: Callable[[asyncio.Event], Awaitable[int]]) -> int:
    """The exit status. `serve` starts what there is to start, waits for the event, and stops it."""
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
    raise_file_limit()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            return runner.run(_serve(log, serve))
        except CannotStart as error:
            print(f"{name}: {error}", file=sys.stderr)
            return 1


def settle() -> None:
    """What was loaded at the start stays for good: the collector need not look at it again."""
    gc.collect()
    gc.freeze()


def heed_signals(end: asyncio.Event) -> None:
    """Ctrl-C and SIGTERM set the event, once: a second one ends the process at once.

    There is one handler for each signal. Where a library puts its own in the place of ours, this is
    called again afterwards.
    """
    loop = asyncio.get_running_loop()

    def on_signal(number: int) -> None:
        loop.remove_signal_handler(number)
        end.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, on_signal, number)


async def _serve(log: EventLog, serve: Callable[[asyncio.Event], Awaitable[int]]) -> int:
    end = asyncio.Event()
    loop = asyncio.get_running_loop()
    heed_signals(end)
    loop.set_exception_handler(lambda _, context: _report(log, context))
    heap = loop.create_task(keep_heap_small())
    try:
        return await serve(end)
    finally:
        heap.cancel()
        await _last_turns()


async def _last_turns() -> None:
    """All is stopped, but gRPC has to note the end of its calls: cut off, it prints tracebacks."""
    own = asyncio.current_task()
    try:
        async with asyncio.timeout(_LAST_TURNS_S):
            while any(task is not own for task in asyncio.all_tasks()):  # noqa: ASYNC110
                await asyncio.sleep(_TURN_S)
    except TimeoutError:
        pass  # cut off with the loop


def _report(log: EventLog, context: dict[str, Any]) -> None:
    """What the event loop caught and nobody else did: a defect."""
    error = context.get("exception")
    if isinstance(error, BaseException):
        log.failure(context["message"], error)
    else:
        log.error(context["message"])
