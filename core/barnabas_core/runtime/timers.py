"""The timing wheel, driven by one timer of the event loop, armed for its next deadline."""

import asyncio
from collections.abc import Callable

from barnabas_core.ports import Clock
from barnabas_core.runtime.timing_wheel import Timeout, TimingWheel


class Timers:
    """All timeouts of a process. `cancel` what is no longer wanted: it costs next to nothing."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._wheel = TimingWheel(clock.monotonic_ms())
        self._armed: asyncio.TimerHandle | None = None
        self._armed_for_ms = 0

    def after(self, delay_ms: int, call: Callable[[], None]) -> Timeout:
        """Call once, not before `delay_ms` have passed."""
        # One more: the present millisecond has begun already.
        timeout = self._wheel.add(self._clock.monotonic_ms() + delay_ms + 1, call)
        if self._armed is None or timeout.deadline_ms < self._armed_for_ms:
            self._arm(timeout.deadline_ms)
        return timeout

    def cancel(self, timeout: Timeout) -> None:
        self._wheel.cancel(timeout)

    def close(self) -> None:
        if self._armed is not None:
            self._armed.cancel()
            self._armed = None

    def _arm(self, at_ms: int) -> None:
        if self._armed is not None:
            self._armed.cancel()
        delay_ms = max(at_ms - self._clock.monotonic_ms(), 0)
        loop = asyncio.get_running_loop()
        self._armed = loop.call_later(delay_ms / 1000, self._on_time)
        self._armed_for_ms = at_ms

    def _on_time(self) -> None:
        self._armed = None
        due = self._wheel.advance(self._clock.monotonic_ms())
        next_ms = self._wheel.next_deadline_ms()
        if next_ms is not None:
            self._arm(next_ms)
        for timeout in due:
            timeout.call()
