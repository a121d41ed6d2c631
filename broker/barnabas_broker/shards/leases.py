"""The leases of this broker's shards: to which coordinator each, as `placement` decides.

There is a stream to every coordinator that lives, so that another one can take over at once. A
stream to one that is no longer in the list is closed when no session is left on it.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from barnabas_broker.shards.coordinator_stream import CoordinatorStream
from barnabas_broker.shards.coordinator_view import CoordinatorView
from barnabas_broker.shards.placement import (
    USUAL_TIMES,
    Candidate,
    Move,
    PlacedShard,
    PlacementTimes,
    Reach,
    Scene,
    plan_moves,
)
from barnabas_broker.shards.session_failures import SessionFailures
from barnabas_broker.shards.shard_owner import Phase, ShardOwner
from barnabas_core.links.coordinator_message import LiveCoordinator
from barnabas_core.ports import Clock
from barnabas_core.ports.link import Address, Links
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.runtime.supervisor import TaskList
from barnabas_core.wire.error_code import ErrorCode

_WANTING_S: Final = 0.1
_WATCHING_S: Final = 1.0
_LOADING_COUNT_MAX: Final = 8
_CONNECTING_MS: Final = 500


@dataclass(frozen=True, slots=True)
class LeaseParts:
    coordinators: CoordinatorView
    role: str
    rack: str | None
    links: Links
    need_coordinator: Callable[[], None]
    """Called once, before anybody is looked for."""
    clock: Clock
    log: EventLog
    times: PlacementTimes = USUAL_TIMES


class _Reached(NamedTuple):
    stream: CoordinatorStream
    opened_at_ms: int


class _Lease(NamedTuple):
    owner: ShardOwner
    at: Address
    since_ms: int


class Leases:
    def __init__(self, owners: Mapping[int, ShardOwner], on: LeaseParts) -> None:
        """There is something to lease. `owners` changes as partitions come and go: then `wake`."""
        self._owners = owners
        self._on = on
        self._streams: dict[Address, _Reached] = {}
        self._leases: dict[int, _Lease] = {}
        self._failures = SessionFailures()
        self._opening = TaskList(on.log)
        self._changed = asyncio.Event()
        self._seen: list[tuple[LiveCoordinator, bool]] = []
        self._seen_at_ms = 0
        self._balanced_at_ms = on.clock.monotonic_ms()
        on.coordinators.watch(self.wake)

    @property
    def reached(self) -> list[Address]:
        """Coordinators to which there is a stream, or is to be one."""
        return list(self._streams)

    def wake(self) -> None:
        self._changed.set()

    async def run(self) -> None:
        self._on.need_coordinator()
        try:
            while True:
                await self._turn()
                self._changed.clear()
                try:
                    async with asyncio.timeout(self._wait_s()):
                        await self._changed.wait()
                except TimeoutError:
                    pass
        finally:
            await self._close()

    async def _close(self) -> None:
        await self._opening.stop()
        for index in sorted(self._owners):
            self._owners[index].end(ErrorCode.NOT_COORDINATOR)
        for reached in self._streams.values():
            await reached.stream.close()
        self._streams.clear()

    def _wait_s(self) -> float | None:
        owners, live = self._owners.values(), self._live()
        if any(owner.phase is not Phase.OPEN for owner in owners):
            return _WANTING_S
        if any(one.is_draining for one in live):
            return _WANTING_S
        return _WATCHING_S if len(live) > 1 else None

    def _live(self) -> list[LiveCoordinator]:
        return self._on.coordinators.of(self._on.role)

    # --- one turn

    async def _turn(self) -> None:
        now_ms = self._on.clock.monotonic_ms()
        self._note_ends(now_ms)
        self._reach_out(now_ms)
        self._note_changes(now_ms)
        for move in plan_moves(self._scene(now_ms), self._on.times):
            self._open(move, now_ms)
        await self._let_go()

    def _note_ends(self, now_ms: int) -> None:
        for index, lease in list(self._leases.items()):
            if self._owners.get(index) is not lease.owner:
                del self._leases[index]
            elif lease.owner.phase is Phase.CLOSED:
                del self._leases[index]
                self._failures.note(index, lease.at, now_ms - lease.since_ms, now_ms)

    def _reach_out(self, now_ms: int) -> None:
        for one in self._live():
            if one.address not in self._streams:
                stream = CoordinatorStream(
                    self._on.links, one.address, self._on.log, self._changed.set
                )
                self._streams[one.address] = _Reached(stream, now_ms)

    def _note_changes(self, now_ms: int) -> None:
        seen = [(one, self._streams[one.address].stream.is_connected) for one in self._live()]
        if seen != self._seen:
            known = [one.incarnation_id for one, _ in self._seen]
            for one, _ in seen:
                if one.incarnation_id not in known:
                    self._failures.forget(one.address)
            self._seen = seen
            self._seen_at_ms = now_ms

    def _scene(self, now_ms: int) -> Scene:
        on = self._on
        loading = sum(owner.phase is Phase.LOADING for owner in self._owners.values())
        return Scene(
            shards=[
                self._placed(index, self._owners[index])
                for index in sorted(self._owners)
                if self._owners[index].is_current
            ],
            candidates=[self._candidate(one, now_ms) for one in self._live()],
            rack=on.rack,
            is_full=on.coordinators.is_full,
            unchanged_ms=now_ms - self._seen_at_ms,
            since_balance_ms=now_ms - self._balanced_at_ms,
            room=_LOADING_COUNT_MAX - loading,
            avoided=self._failures.avoided(now_ms),
        )

    def _placed(self, index: int, owner: ShardOwner) -> PlacedShard:
        lease = self._leases.get(index)
        at = None if lease is None else lease.at
        return PlacedShard(index, owner.name, at, owner.phase is Phase.OPEN, owner.is_busy)

    def _candidate(self, one: LiveCoordinator, now_ms: int) -> Candidate:
        reached = self._streams[one.address]
        reach = Reach.AWAY
        if reached.stream.is_connected:
            reach = Reach.CONNECTED
        elif now_ms - reached.opened_at_ms < _CONNECTING_MS:
            reach = Reach.CONNECTING
        return Candidate(one.node_id, one.address, one.rack, one.is_draining, reach)

    def _open(self, move: Move, now_ms: int) -> None:
        owner, before = self._owners[move.number], self._leases.get(move.number)
        if before is not None:
            self._on.log.info(
                "a shard is taken elsewhere", shard=owner.name, at=str(before.at), to=str(move.to)
            )
            # Clients try it again at the same place, and find it loaded there.
            owner.end(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
            self._balanced_at_ms = now_ms
        self._on.log.debug("a session begins", shard=owner.name, at=str(move.to))
        owner.phase = Phase.LOADING
        self._leases[move.number] = _Lease(owner, move.to, now_ms)
        self._opening.start(self._load(owner, self._streams[move.to].stream))

    async def _load(self, owner: ShardOwner, stream: CoordinatorStream) -> None:
        try:
            await owner.open(stream)
        finally:
            self._changed.set()

    async def _let_go(self) -> None:
        """Close streams that are of no more use."""
        used = [one.address for one in self._live()] + [it.at for it in self._leases.values()]
        for address in [one for one in self._streams if one not in used]:
            self._failures.forget(address)
            await self._streams.pop(address).stream.close()
