"""Work off the event loop, passed in."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")


class Executor(Protocol):
    def in_thread(self, call: Callable[[], T]) -> Awaitable[T]:
        """Run a call that releases the GIL for its length (fsync, pwritev, pread, compression)."""
        ...

    def in_worker(self, job: str, arguments: Sequence[str]) -> Awaitable[bytes]:
        """Output of `python -m <job> <arguments>`: CPU-bound work, in a niced worker process."""
        ...
