"""The bytes that large requests of all connections may hold together.

Small frames are bounded per connection and not counted here. A connection asks before a large
frame grows; when there is no room it stops reading and is called, in the order of asking, once
there is. Bytes are given back when the request has been answered or its connection is lost.
"""

from collections import deque
from collections.abc import Callable


class ByteBudget:
    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._used_bytes = 0
        self._waiting: deque[tuple[int, Callable[[], None]]] = deque()

    @property
    def used_bytes(self) -> int:
        return self._used_bytes

    @property
    def is_short(self) -> bool:
        """Somebody waits."""
        return bool(self._waiting)

    def take_or_wait(self, count: int, on_granted: Callable[[], None]) -> bool:
        """True: taken. False: `on_granted` is called when it has been taken for the caller.

        Whoever came first is served first: a small wish behind a large one waits, or a stream of
        small ones would starve it.
        """
        if not self._waiting and self._has_room(count):
            self._used_bytes += count
            return True
        self._waiting.append((count, on_granted))
        return False

    def give_back(self, count: int) -> None:
        assert count <= self._used_bytes
        self._used_bytes -= count
        while self._waiting and self._has_room(self._waiting[0][0]):
            wanted, on_granted = self._waiting.popleft()
            self._used_bytes += wanted
            on_granted()

    def forget(self, on_granted: Callable[[], None]) -> None:
        """The one to be called is gone."""
        self._waiting = deque(entry for entry in self._waiting if entry[1] != on_granted)
        self.give_back(0)

    def _has_room(self, count: int) -> bool:
        # A request larger than the whole budget is served alone rather than never.
        return self._used_bytes == 0 or self._used_bytes + count <= self._limit_bytes
