"""An event loop in a thread of its own, for those who have none."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    def __init__(self) -> None:
        import uvloop  # noqa: PLC0415 - only here, where the loop is ours

        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="barnabas", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run to its end, from any other thread."""
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("the cluster's own thread cannot wait for the cluster")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
        finally:
            self._loop.close()
