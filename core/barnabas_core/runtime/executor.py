"""Threads for calls that release the GIL, and niced worker processes for work that would hold it.

Both start on first use. A worker is a fresh `python -m <module>`: forking a process that runs an
event loop and grpc breaks both, and `multiprocessing` wants a main guard in the user's script.

A loop's own way to start a program will not do: uvloop forks, and what grpc has registered for a
fork runs in the child, which dies of it now and then. `subprocess` uses vfork, which runs nothing.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

WORKER_NICENESS = 10


class WorkerFailed(Exception):
    """A worker process ended with an error: its status, and the end of what it printed."""


class SystemExecutor:
    __slots__ = ("_pool", "_thread_count", "_waiters", "_worker_count", "_worker_slots")

    def __init__(self, thread_count: int = 4, worker_count: int = 1) -> None:
        self._thread_count = thread_count
        self._worker_count = worker_count
        self._pool: ThreadPoolExecutor | None = None
        self._waiters: ThreadPoolExecutor | None = None
        self._worker_slots = asyncio.Semaphore(worker_count)

    def in_thread(self, call: Callable[[], T]) -> Awaitable[T]:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._thread_count, thread_name_prefix="disk")
        return asyncio.get_running_loop().run_in_executor(self._pool, call)

    async def in_worker(self, job: str, arguments: Sequence[str]) -> bytes:
        async with self._worker_slots:
            # Here and not in a thread: a worker asks to die with the thread that started it.
            process = _started([sys.executable, "-m", job, *arguments])
            if self._waiters is None:
                self._waiters = ThreadPoolExecutor(self._worker_count, "worker")
            loop = asyncio.get_running_loop()
            return await _end_of(process, loop.run_in_executor(self._waiters, process.communicate))

    def close(self) -> None:
        for pool in (self._pool, self._waiters):
            if pool is not None:
                pool.shutdown(wait=True)
        self._pool = self._waiters = None


def _started(command: Sequence[str]) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(  # noqa: S603 - a module of ours
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    os.setpriority(os.PRIO_PROCESS, process.pid, WORKER_NICENESS)
    return process


async def _end_of(
    process: subprocess.Popen[bytes], ended: asyncio.Future[tuple[bytes, bytes]]
) -> bytes:
    try:
        output, complaint = await asyncio.shield(ended)
    except asyncio.CancelledError:
        process.kill()
        await ended
        raise
    if process.returncode:
        said = complaint.decode(errors="replace")[-2000:].strip()
        raise WorkerFailed(f"status {process.returncode}: {said}")
    return output
