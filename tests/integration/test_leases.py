"""Leases as lists and streams come and go; the coordinators at the other end only take what comes.

Owners of shards are stand-ins: a session is open as soon as its stream is.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import cast

from barnabas_broker.shards.coordinator_stream import CoordinatorStream
from barnabas_broker.shards.coordinator_view import CoordinatorView
from barnabas_broker.shards.leases import LeaseParts, Leases
from barnabas_broker.shards.placement import PlacementTimes
from barnabas_broker.shards.shard_owner import Phase, ShardOwner
from barnabas_core.links.coordinator_message import GROUP, LiveCoordinator, LiveList
from barnabas_core.ports.disk import Buffer
from barnabas_core.ports.link import Address, Call, Caller, LinkServer, Loss, Purpose
from barnabas_core.runtime.clock import SystemClock
from barnabas_core.runtime.supervisor import Supervisor
from barnabas_core.wire.error_code import ErrorCode
from tests.support.link_lab import Lab, in_lab, until

QUICK = PlacementTimes(quiet_ms=50, balance_interval_ms=20, patience_ms=10)
SLOW = PlacementTimes(quiet_ms=1_000_000)


@dataclass(eq=False)
class Owner:
    name: str
    phase: Phase = Phase.CLOSED
    is_current: bool = True
    is_busy: bool = False
    stream: CoordinatorStream | None = None
    session: int = 0
    opened: list[Address] = field(default_factory=list)
    ended: list[ErrorCode] = field(default_factory=list)

    async def open(self, stream: CoordinatorStream) -> None:
        self.opened.append(stream.address)
        self.stream = stream
        self.session = stream.open(self)
        self.phase = Phase.OPEN

    def end(self, error: ErrorCode) -> None:
        if self.stream is not None:
            self.stream.forget(self.session)
            self.ended.append(error)
        self.stream = None
        self.phase = Phase.CLOSED

    def on_stream_lost(self) -> None:
        self.end(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def on_loaded(self) -> None: ...

    def on_outcome(self, outcome: object) -> None: ...


class Coordinator:
    """A `Service` that takes whatever comes."""

    async def on_call(self, caller: Caller, call: Call) -> Buffer:
        return b""

    def on_lost(self, caller: Caller, loss: Loss) -> None: ...


class Stage:
    def __init__(self, lab: Lab, times: PlacementTimes, owner_count: int = 4) -> None:
        self.lab = lab
        self.view = CoordinatorView(lab.log)
        self.owners = {number: Owner(f"shard-{number}") for number in range(owner_count)}
        parts = LeaseParts(
            self.view, GROUP, None, lab.links(7), lambda: None, SystemClock(), lab.log, times
        )
        self.leases = Leases(cast("dict[int, ShardOwner]", self.owners), parts)
        self.servers: dict[int, LinkServer] = {}
        self._version = 0
        self._supervisor = Supervisor(lab.log)

    def start(self) -> None:
        self._supervisor.start("leases", self.leases.run)

    async def close(self) -> None:
        await self._supervisor.stop()

    async def serve(self, *numbers: int) -> None:
        for number in numbers:
            links = self.lab.links(number, role=GROUP)
            address = Address("coordinator", number)
            self.servers[number] = await self.lab.serve(
                Coordinator(), address, links=links, purpose=Purpose.SHARD
            )

    def tell(self, *numbers: int, draining: tuple[int, ...] = (), partial: bool = False) -> None:
        self._version += 1
        members = tuple(
            LiveCoordinator(
                GROUP, number, bytes([number]) * 16, Address("coordinator", number),
                is_draining=number in draining,
            )
            for number in numbers
        )  # fmt: skip
        self.view.take(LiveList(1, self._version, partial, members))

    async def take_turns(self) -> None:
        """Time and occasion enough to do something wrong."""
        for _ in range(30):
            self.leases.wake()
            await asyncio.sleep(0.01)

    def at(self, number: int) -> list[Owner]:
        """Those with a session there."""
        return [
            one
            for one in self.owners.values()
            if one.stream is not None and one.stream.address.port == number
        ]

    @property
    def ended(self) -> list[ErrorCode]:
        return [error for one in self.owners.values() for error in one.ended]


def on_stage(scenario: Callable[[Stage], Awaitable[None]], times: PlacementTimes = SLOW) -> None:
    async def run(lab: Lab) -> None:
        stage = Stage(lab, times)
        try:
            await scenario(stage)
        finally:
            await stage.close()

    in_lab("local", run)


def test_shards_are_shared_by_those_that_are_named() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.serve(1, 2)
        stage.start()
        stage.tell(1, 2)

        await until(lambda: len(stage.at(1)) == len(stage.at(2)) == 2)

        assert stage.ended == []

    on_stage(scenario)


def test_a_session_outlives_its_place_in_the_list_but_not_its_stream() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.serve(1, 2)
        stage.start()
        stage.tell(1, 2)
        await until(lambda: len(stage.at(1)) == 2)

        stage.tell(2)
        await stage.take_turns()
        assert len(stage.at(1)) == 2
        assert stage.ended == []

        await stage.servers[1].close()
        await until(lambda: len(stage.at(2)) == 4)
        assert stage.ended == [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2

    on_stage(scenario)


def test_a_stream_that_nobody_uses_is_closed_and_one_that_comes_back_is_opened() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.serve(1)
        stage.start()
        stage.tell(1, 3)  # nobody is at 3
        await until(lambda: len(stage.at(1)) == 4)

        stage.tell(1)
        await until(lambda: Address("coordinator", 3) not in stage.leases.reached)
        stage.tell(1, 3, partial=True)
        await until(lambda: Address("coordinator", 3) in stage.leases.reached)

    on_stage(scenario)


def test_a_drain_takes_sessions_elsewhere_with_an_error_that_is_tried_again_in_place() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.serve(1, 2)
        stage.start()
        stage.tell(1, 2)
        await until(lambda: len(stage.at(1)) == 2)
        stage.at(1)[0].is_busy = True  # for ever: it is taken along in the end

        stage.tell(1, 2, draining=(1,))

        await until(lambda: len(stage.at(2)) == 4)
        assert stage.ended == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 2

    on_stage(scenario, QUICK)


def test_one_that_comes_later_gets_its_share_in_quiet() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.serve(1, 2)
        stage.start()
        stage.tell(1)
        await until(lambda: len(stage.at(1)) == 4)

        stage.tell(1, 2, partial=True)
        await stage.take_turns()
        assert len(stage.at(1)) == 4
        stage.tell(1, 2)

        await until(lambda: len(stage.at(2)) == 2)
        assert stage.ended == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 2

    on_stage(scenario, QUICK)


def test_a_shard_whose_session_failed_goes_elsewhere_first() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.serve(1, 2)
        stage.start()
        stage.tell(1, 2)
        await until(lambda: len(stage.at(1)) == 2)
        failing = stage.at(1)[0]

        failing.end(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        stage.leases.wake()
        await until(lambda: failing.phase is Phase.OPEN)

        assert [at.port for at in failing.opened] == [1, 2]

    on_stage(scenario)


def test_an_end_ends_every_session() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.serve(1)
        stage.start()
        stage.tell(1)
        await until(lambda: len(stage.at(1)) == 4)

        await stage.close()

        assert stage.ended == [ErrorCode.NOT_COORDINATOR] * 4
        assert stage.leases.reached == []

    on_stage(scenario)
