"""Deadlines by key, the next of them first. Not durable: armed anew when a shard is loaded."""

from heapq import heappop, heappush
from typing import Generic, TypeVar

K = TypeVar("K")


class Deadlines(Generic[K]):
    def __init__(self) -> None:
        self._at_ms: dict[K, int] = {}
        self._heap: list[tuple[int, int, K]] = []
        self._count = 0

    def __len__(self) -> int:
        return len(self._at_ms)

    def __contains__(self, key: K) -> bool:
        return key in self._at_ms

    def set(self, key: K, at_ms: int) -> None:
        """In place of any other of that key."""
        if self._at_ms.get(key) == at_ms:
            return
        self._at_ms[key] = at_ms
        self._count += 1
        heappush(self._heap, (at_ms, self._count, key))
        if len(self._heap) > 64 + 4 * len(self._at_ms):
            self._heap = sorted(entry for entry in self._heap if self._is(entry[2], entry[0]))

    def cancel(self, key: K) -> None:
        self._at_ms.pop(key, None)

    def next_ms(self) -> int | None:
        while self._heap and not self._is(self._heap[0][2], self._heap[0][0]):
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def pop_due(self, now_ms: int) -> list[K]:
        """Those that have come, in order; they are not armed any more."""
        due = []
        while (at_ms := self.next_ms()) is not None and at_ms <= now_ms:
            key = heappop(self._heap)[2]
            del self._at_ms[key]
            due.append(key)
        return due

    def _is(self, key: K, at_ms: int) -> bool:
        return self._at_ms.get(key) == at_ms
