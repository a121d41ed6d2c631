"""What an active controller does unasked, each in a task of its own that sleeps while it is not.

fencing      brokers whose session ended, one per decision
balancing    leadership back to preferred replicas (`leader.imbalance.check.interval.seconds`)
uncleanness  leaders for partitions that may have one at a loss, where the topic allows it
idleness     a no-op record when nothing was written for `metadata.max.idle.interval.ms`, so
             that followers see a log that moves
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from barnabas_controller.engine import Engine
from barnabas_controller.managers.brokers.fencing import decide_fence_stale_brokers
from barnabas_controller.managers.partitions.elect_leaders import (
    decide_balance_leaders,
    decide_unclean_elections,
)
from barnabas_controller.managers.view import Result, View
from barnabas_core.ports import Clock
from barnabas_core.ports.link import CallFailed, LinkFull, NotActive
from barnabas_core.runtime.supervisor import Supervisor
from barnabas_core.wire.messages.no_op_record import NoOpRecord

_FENCING_STEP_MS: Final = 500
"""How long a session may have ended before it is noticed, at most."""
_FULL_TURN_PAUSE_MS: Final = 100


@dataclass(frozen=True, slots=True)
class DutyIntervals:
    idle_ms: int = 500
    """0: never."""
    balance_ms: int = 300_000
    """0: never."""
    unclean_election_ms: int = 300_000


class Duties:
    def __init__(self, engine: Engine, clock: Clock, intervals: DutyIntervals) -> None:
        self._engine = engine
        self._clock = clock
        self._intervals = intervals

    def start(self, supervisor: Supervisor) -> None:
        supervisor.start("fencing", self._fence)
        supervisor.every(
            "unclean elections", self._intervals.unclean_election_ms, self._elect_uncleanly
        )
        if self._intervals.balance_ms:
            supervisor.every("leader balance", self._intervals.balance_ms, self._balance)
        if self._intervals.idle_ms:
            supervisor.start("idle records", self._keep_moving)

    async def _fence(self) -> None:
        while True:
            liveness = self._engine.liveness
            now_ms = self._clock.monotonic_ms()
            if liveness is not None and liveness.stale(now_ms):
                await self._decide(decide_fence_stale_brokers)
                continue
            deadline_ms = None if liveness is None else liveness.next_deadline_ms()
            wait_ms = _FENCING_STEP_MS
            if deadline_ms is not None:
                wait_ms = min(max(deadline_ms - now_ms, 1), wait_ms)
            await asyncio.sleep(wait_ms / 1000)

    async def _balance(self) -> None:
        await self._decide_all(decide_balance_leaders)

    async def _elect_uncleanly(self) -> None:
        await self._decide_all(decide_unclean_elections)

    async def _decide_all(self, decide: Callable[[View], Result[bool]]) -> None:
        """One bounded decision after the other, until one finds nothing left to do."""
        has_more = True
        while has_more:
            has_more = await self._decide(decide)
            await asyncio.sleep(_FULL_TURN_PAUSE_MS / 1000)

    async def _keep_moving(self) -> None:
        interval_ms = self._intervals.idle_ms
        while True:
            if self._engine.is_active and self._engine.idle_ms >= interval_ms:
                await self._decide(_decide_no_op)
            left_ms = interval_ms - self._engine.idle_ms
            await asyncio.sleep(max(left_ms, 10) / 1000)

    async def _decide(self, decide: Callable[[View], Result[Any]]) -> bool:
        """Is there more to do than one decision took in?"""
        try:
            return bool(await self._engine.submit(decide))
        except (NotActive, LinkFull, CallFailed):
            # The next active controller does it, or this one when it has caught up.
            await asyncio.sleep(_FULL_TURN_PAUSE_MS / 1000)
            return False


def _decide_no_op(view: View) -> Result[bool]:
    return Result((NoOpRecord(),), response=False)
