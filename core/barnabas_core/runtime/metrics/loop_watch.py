"""Does the event loop turn, and how late is it?

A beat asks to be called after a while and notes by how much later it was. Whatever holds the loop
shows here: a step that is too long, a collection of garbage, a machine without a free core.
"""

import asyncio
from collections.abc import Iterator
from typing import Final

from barnabas_core.ports import Clock
from barnabas_core.runtime.metrics.definition import gauge, histogram
from barnabas_core.runtime.metrics.histogram import NS_PER_S, Histogram
from barnabas_core.runtime.metrics.registry import Figure

LAG: Final = histogram(
    "barnabas_event_loop_lag_seconds",
    "By how much a timer of the event loop was late.",
)
LAG_MAX: Final = gauge(
    "barnabas_event_loop_lag_max_seconds", "The worst of it since the last scrape."
)
METRICS: Final = (LAG, LAG_MAX)

_INTERVAL_MS: Final = 100
_STALE_MS: Final = 5_000


class LoopWatch:
    """`run` as a task."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lag = Histogram()
        self._max_ns = 0
        self._beat_at_ms = clock.monotonic_ms()

    async def run(self) -> None:
        while True:
            wanted_ns = self._clock.monotonic_ns() + _INTERVAL_MS * 1_000_000
            await asyncio.sleep(_INTERVAL_MS / 1000)
            late_ns = max(self._clock.monotonic_ns() - wanted_ns, 0)
            self._lag.observe(late_ns)
            self._max_ns = max(self._max_ns, late_ns)
            self._beat_at_ms = self._clock.monotonic_ms()

    def reason_not_alive(self) -> str | None:
        """None: the last beat was heard in time."""
        age_ms = self._clock.monotonic_ms() - self._beat_at_ms
        return None if age_ms <= _STALE_MS else f"the event loop was last seen {age_ms} ms ago"

    def __call__(self) -> Iterator[Figure]:
        max_ns, self._max_ns = self._max_ns, 0
        yield Figure(LAG, (), self._lag)
        yield Figure(LAG_MAX, (), max_ns / NS_PER_S)
