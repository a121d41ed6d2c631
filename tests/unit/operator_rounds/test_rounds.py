"""Rounds by key: one at a time, again when poked, later and later when they fail."""

import asyncio
from collections.abc import Awaitable, Callable
from io import StringIO

from barnabas_core.runtime.log_setup import EventLog
from barnabas_operator.reconcile.rounds import Rounds
from tests.support.manual_clock import ManualClock

DEADLINE_S = 30


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    async def go() -> None:
        async with asyncio.timeout(DEADLINE_S):
            await scenario()

    asyncio.run(go())


def made(work: Callable[[str], Awaitable[int | None]]) -> Rounds[str]:
    return Rounds(work, ManualClock(), EventLog(level="error", stream=StringIO()))


def test_pokes_of_one_moment_make_one_round_and_never_two_at_once() -> None:
    async def scenario() -> None:
        running = counted = 0

        async def work(_: str) -> int:
            nonlocal running, counted
            running += 1
            assert running == 1
            counted += 1
            await asyncio.sleep(0.05)
            running -= 1
            return 60_000

        rounds = made(work)
        for _ in range(50):
            rounds.poke("a")
        while counted < 1:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        rounds.poke("a")
        while rounds.count < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.01)

        assert counted == 2
        await rounds.stop()

    run(scenario)


def test_what_is_gone_is_forgotten_and_may_come_back() -> None:
    async def scenario() -> None:
        async def work(_: str) -> None:
            return None

        rounds = made(work)
        for expected in (1, 2):
            rounds.poke("a")
            while rounds.keys:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            assert rounds.count == expected

    run(scenario)


def test_a_round_that_fails_comes_again_and_harms_no_other() -> None:
    async def scenario() -> None:
        tries: list[str] = []

        async def work(key: str) -> int:
            tries.append(key)
            if key == "bad" and tries.count("bad") < 3:
                raise OSError("not now")
            return 60_000

        rounds = made(work)
        rounds.poke("bad")
        rounds.poke("good")
        while tries.count("bad") < 3:  # noqa: ASYNC110
            await asyncio.sleep(0.01)

        assert rounds.failure_count == 2
        assert tries.count("good") == 1
        await rounds.stop()

    run(scenario)
