"""Since when a record has been there, from log ends that were seen now and then. Pure.

A log's end is looked at every few seconds. The record at an offset came, at the latest, when the
end was first seen beyond it; of what was there before anybody looked only that can be said. Few
ends are kept: when there are too many, every other one of the older is forgotten, so that what is
long ago is known less exactly.
"""

from typing import Final

_KEPT: Final = 16


class LagHistory:
    """Of one partition."""

    __slots__ = ("_ends",)

    def __init__(self) -> None:
        self._ends: list[tuple[int, int]] = []
        """(log end, when it was first seen), both rising."""

    def see(self, log_end: int, now_ms: int) -> None:
        ends = self._ends
        if ends and log_end < ends[-1][0]:
            ends.clear()  # another topic of the name, or a leader that lost records
        if ends and log_end == ends[-1][0]:
            return
        ends.append((log_end, now_ms))
        if len(ends) > _KEPT:
            del ends[1:-1:2]

    def age_ms(self, offset: int, now_ms: int) -> int:
        """For how long, at least, the record at `offset` has been there; 0: it is not there yet."""
        for log_end, seen_ms in self._ends:
            if log_end > offset:
                return max(now_ms - seen_ms, 0)
        return 0
