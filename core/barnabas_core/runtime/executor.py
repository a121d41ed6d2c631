"""Threads for calls that release the GIL, and niced worker processes for work that would hold it.

Both start on first use. A worker is a fresh `python -m <module>`: forking a process that runs an
event loop and grpc breaks both, and `multiprocessing` wants a main guard in the user's script.
"""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

WORKER_NICENESS = 10


class WorkerFailed(Exception):
    """A worker process ended with an error; the message is the end of what it printed."""


class SystemExecutor:
    __slots__ = ("_pool", "_thread_count", "_worker_slots")

    def __init__(self, thread_count: int = 4, worker_count: int = 1) -> None:
        self._thread_count = thread_count
        self._pool: ThreadPoolExecutor | None = None
        self._worker_slots = asyncio.Semaphore(worker_count)

    def in_thread(self, call: Callable[[], T]) -> Awaitable[T]:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._thread_count, thread_name_prefix="disk")
        return asyncio.get_running_loop().run_in_executor(self._pool, call)

    async def in_worker(self, job: str, arguments: Sequence[str]) -> bytes:
        async with self._worker_slots:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                job,
                *arguments,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            os.setpriority(os.PRIO_PROCESS, process.pid, WORKER_NICENESS)
            return await _communicate(process)

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True)
            self._pool = None


async def _communicate(process: asyncio.subprocess.Process) -> bytes:
    try:
        output, complaint = await process.communicate()
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    if process.returncode:
        raise WorkerFailed(complaint.decode(errors="replace")[-2000:].strip())
    return output
