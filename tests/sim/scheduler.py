"""Virtual time: one queue of things to happen, in one thread, in an order that a seed decides."""

from collections.abc import Callable
from heapq import heappop, heappush


class Scheduler:
    __slots__ = ("_count", "_heap", "now_us", "trace")

    def __init__(self) -> None:
        self.now_us = 0
        self.trace = 0
        self._count = 0
        self._heap: list[tuple[int, int, Callable[..., None], tuple[object, ...]]] = []

    def after(self, delay_us: int, call: Callable[..., None], *arguments: object) -> None:
        self._count += 1
        heappush(self._heap, (self.now_us + delay_us, self._count, call, arguments))

    def run_one(self) -> None:
        self.now_us, _, call, arguments = heappop(self._heap)
        call(*arguments)

    @property
    def next_us(self) -> int:
        return self._heap[0][0] if self._heap else 1 << 62

    def note(self, *what: int) -> None:
        """Fold what happens into the trace: equal seeds must give equal traces.

        Numbers only: their hash is the same in every process.
        """
        self.trace = hash((self.trace, self.now_us, what))
