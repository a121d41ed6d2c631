"""After a rush, memory goes back to the system.

The C library keeps what was freed for the next time. That suits a busy process, which would pay for
each page again; but the buffers of some hundred clients that once read slowly would be held for
good. So a process that has grown and has nothing to do gives back what it does not use.
"""

import asyncio
import os
import time
from collections.abc import Callable
from typing import Final

LOOK_EVERY_S: Final = 5.0
GROWTH_BYTES: Final = 8 * 1024 * 1024
LOOKS_BETWEEN: Final = 5
"""Left out after it was done: what is in use stays, however often it is asked for."""
# More CPU than that between two looks, and the pages are wanted again at once.
IDLE_CPU_SHARE: Final = 0.1


class HeapWatch:
    """Decides: told now and then what the process holds and has used."""

    def __init__(self, resident_bytes: int, cpu_s: float) -> None:
        self._least_bytes = resident_bytes
        self._cpu_s = cpu_s
        self._looks_left_out = 0

    def is_due(self, resident_bytes: int, cpu_s: float, elapsed_s: float) -> bool:
        """Whether it holds more than it once did, and is idle."""
        used_s, self._cpu_s = cpu_s - self._cpu_s, cpu_s
        self._least_bytes = min(self._least_bytes, resident_bytes)
        if self._looks_left_out > 0:
            self._looks_left_out -= 1
            return False
        has_grown = resident_bytes - self._least_bytes > GROWTH_BYTES
        if not has_grown or used_s >= elapsed_s * IDLE_CPU_SHARE:
            return False
        self._looks_left_out = LOOKS_BETWEEN
        return True


async def keep_heap_small() -> None:
    """Until cancelled."""
    watch = HeapWatch(_resident_bytes(), time.process_time())
    while True:
        await asyncio.sleep(LOOK_EVERY_S)
        if watch.is_due(_resident_bytes(), time.process_time(), LOOK_EVERY_S):
            await asyncio.to_thread(_trim())


def _resident_bytes() -> int:
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _trim() -> Callable[[], object]:
    """Only glibc has it, and needs it."""
    import ctypes  # noqa: PLC0415 - most processes never get here

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return (lambda: None) if trim is None else (lambda: trim(0))
