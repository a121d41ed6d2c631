"""How long things took: counts by powers of two, so that finding the bucket is one instruction.

A duration of n nanoseconds is counted at `(n >> UNIT_SHIFT).bit_length()`: place k holds what took
less than 2**k units of 1.024 µs. Hot paths do that by themselves, without a call.
"""

from collections.abc import Sequence
from typing import Final

UNIT_SHIFT: Final = 10
PLACE_COUNT: Final = 64 - UNIT_SHIFT
_FIRST_SHOWN: Final = 7  # less than 131 µs
_LAST_SHOWN: Final = 25  # less than 34 s
NS_PER_S: Final = 1_000_000_000

BOUNDS_S: Final = tuple(
    (1 << (place + UNIT_SHIFT)) / NS_PER_S for place in range(_FIRST_SHOWN, _LAST_SHOWN + 1)
)
"""Upper bounds of the buckets that are shown, but for the last, which has none."""


class Histogram:
    """Durations of one kind."""

    __slots__ = ("counts", "total_ns")

    def __init__(self) -> None:
        self.counts = [0] * PLACE_COUNT
        self.total_ns = 0

    def observe(self, duration_ns: int) -> None:
        self.counts[(duration_ns >> UNIT_SHIFT).bit_length()] += 1
        self.total_ns += duration_ns

    @property
    def count(self) -> int:
        return sum(self.counts)

    @property
    def total_s(self) -> float:
        return self.total_ns / NS_PER_S

    def cumulative(self) -> Sequence[int]:
        """How many took less than each of `BOUNDS_S`."""
        below = sum(self.counts[:_FIRST_SHOWN])
        found = []
        for place in range(_FIRST_SHOWN, _LAST_SHOWN + 1):
            below += self.counts[place]
            found.append(below)
        return found
