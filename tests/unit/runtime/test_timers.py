"""Timeouts on the event loop."""

import asyncio

from barnabas_core.runtime.clock import SystemClock
from barnabas_core.runtime.timers import Timers


def test_timeouts_fire_in_order_and_cancelled_ones_do_not() -> None:
    fired: list[str] = []

    async def scenario() -> None:
        timers = Timers(SystemClock())
        done = asyncio.Event()
        timers.after(30, lambda: fired.append("late"))
        timers.after(40, done.set)
        gone = timers.after(5, lambda: fired.append("gone"))
        timers.after(10, lambda: fired.append("early"))
        timers.cancel(gone)
        await done.wait()
        timers.close()

    asyncio.run(scenario())

    assert fired == ["early", "late"]


def test_a_timeout_never_fires_early() -> None:
    clock = SystemClock()

    async def scenario() -> list[int]:
        timers = Timers(clock)
        lengths: list[int] = []
        done = asyncio.Event()
        for delay_ms in (0, 1, 2, 7, 19):
            begun_ms = clock.monotonic_ms()

            def fire(delay_ms: int = delay_ms, begun_ms: int = begun_ms) -> None:
                lengths.append(clock.monotonic_ms() - begun_ms - delay_ms)
                if delay_ms == 19:
                    done.set()

            timers.after(delay_ms, fire)
        await done.wait()
        timers.close()
        return lengths

    assert min(asyncio.run(scenario())) >= 0
