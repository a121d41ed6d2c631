"""Which coordinator each shard of this broker goes to, and when one is taken elsewhere. Pure.

A shard without a session goes to a coordinator of this broker's rack, if there is any, else to any
other: by rendezvous hashing among those that have not had their even share of this broker's shards
yet, so that whoever goes leaves the shards of others where they are.

A shard with a session stays. It is taken elsewhere if its coordinator drains, or, one at a time and
not before everything has been quiet for a while, if shares are uneven or it is in another rack.
"""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple

from barnabas_core.ports.link import Address

_SPREAD: Final = 0x9E3779B1


class Reach(Enum):
    """Whether a coordinator can be talked to."""

    CONNECTED = "connected"
    CONNECTING = "connecting"
    """Not yet, but its stream has only just been opened: it is worth a short wait."""
    AWAY = "away"


class Candidate(NamedTuple):
    """A coordinator that lives, as the controller says."""

    node_id: int
    address: Address
    rack: str | None = None
    is_draining: bool = False
    reach: Reach = Reach.CONNECTED


class PlacedShard(NamedTuple):
    number: int
    name: str
    at: Address | None = None
    """Where it has a session, or is about to have one."""
    is_open: bool = False
    is_busy: bool = False
    """Somebody waits for an answer."""


class Move(NamedTuple):
    """A session is opened at `to`; the one that the shard has elsewhere ends first."""

    number: int
    to: Address


@dataclass(frozen=True, slots=True)
class PlacementTimes:
    quiet_ms: int = 10_000
    """How long nothing must have changed before a session is moved for the sake of balance."""
    balance_interval_ms: int = 2_000
    """Between two such moves."""
    patience_ms: int = 3_000
    """How long a shard at which somebody waits for an answer is left alone."""


USUAL_TIMES: Final = PlacementTimes()


@dataclass(frozen=True, slots=True)
class Scene:
    """All that a decision rests on."""

    shards: Sequence[PlacedShard]
    candidates: Sequence[Candidate]
    rack: str | None
    """Of this broker."""
    is_full: bool
    """Whoever is not among the candidates does not live."""
    unchanged_ms: int
    """For how long the candidates have been the same."""
    since_balance_ms: int
    """Since a session was moved for the sake of balance."""
    room: int
    """How many sessions may begin to load now."""
    avoided: Mapping[int, Sequence[Address]] = field(default_factory=dict)
    """By shard: where a session failed not long ago."""


def plan_moves(scene: Scene, times: PlacementTimes) -> list[Move]:
    pool = _pool(scene)
    plan = _Plan(scene, pool)
    for shard in scene.shards:
        if shard.at is None:
            plan.open(shard)
    draining = [one.address for one in scene.candidates if one.is_draining]
    for shard in scene.shards:
        may_move = not shard.is_busy or scene.unchanged_ms >= times.patience_ms
        if shard.at in draining and shard.is_open and may_move:
            plan.open(shard)
    if not plan.moves and _is_quiet(scene, times):
        plan.balance(patient=scene.since_balance_ms < times.balance_interval_ms + times.patience_ms)
    return plan.moves


def _pool(scene: Scene) -> list[Candidate]:
    """Who may get shards: those in the same rack, if there are any."""
    able = [one for one in scene.candidates if not one.is_draining and one.reach is not Reach.AWAY]
    near = [one for one in able if scene.rack is not None and one.rack == scene.rack]
    return near or able


def _is_quiet(scene: Scene, times: PlacementTimes) -> bool:
    return (
        scene.is_full
        and scene.unchanged_ms >= times.quiet_ms
        and scene.since_balance_ms >= times.balance_interval_ms
        and all(shard.is_open for shard in scene.shards)
    )


class _Plan:
    def __init__(self, scene: Scene, pool: Sequence[Candidate]) -> None:
        self._scene = scene
        self._pool = pool
        self._counts = {one.address: 0 for one in pool}
        for shard in scene.shards:
            if shard.at in self._counts:
                self._counts[shard.at] += 1
        self.moves: list[Move] = []

    def open(self, shard: PlacedShard) -> None:
        if len(self.moves) >= self._scene.room:
            return
        chosen = self._choose(shard)
        if chosen is not None:
            # Also for one that is only being connected: others must not take its share.
            self._counts[chosen.address] += 1
            if chosen.reach is Reach.CONNECTED:
                self.moves.append(Move(shard.number, chosen.address))

    def _choose(self, shard: PlacedShard) -> Candidate | None:
        allowed = [one for one in self._pool if self._is_allowed(shard, one)]
        share = -(-len(self._scene.shards) // max(len(self._pool), 1))
        hungry = [one for one in allowed if self._counts[one.address] < share]
        return max(hungry or allowed, key=lambda one: weight(shard.name, one), default=None)

    def balance(self, *, patient: bool) -> None:
        """One shard: of another rack, or of whoever has two more than somebody else."""
        far = [one.address for one in self._scene.candidates if one.address not in self._counts]
        strays = [shard for shard in self._scene.shards if shard.at in far]
        for shard in self._movable(strays, patient=patient):
            self.open(shard)
            return
        if not self._pool:
            return
        least = min(self._pool, key=lambda one: (self._counts[one.address], one.node_id))
        most = max(self._pool, key=lambda one: (self._counts[one.address], one.node_id))
        if self._counts[most.address] - self._counts[least.address] < 2:
            return
        there = [shard for shard in self._scene.shards if shard.at == most.address]
        allowed = [
            shard
            for shard in self._movable(there, patient=patient)
            if self._is_allowed(shard, least) and least.reach is Reach.CONNECTED
        ]
        chosen = max(allowed, key=lambda shard: weight(shard.name, least), default=None)
        if chosen is not None and self._scene.room > 0:
            self.moves.append(Move(chosen.number, least.address))

    def _movable(self, shards: Iterable[PlacedShard], *, patient: bool) -> list[PlacedShard]:
        return [shard for shard in shards if not (patient and shard.is_busy)]

    def _is_allowed(self, shard: PlacedShard, one: Candidate) -> bool:
        return one.address not in self._scene.avoided.get(shard.number, ())


def weight(shard: str, coordinator: Candidate) -> int:
    """Rendezvous hashing: who goes takes only its own shards along, evenly."""
    checksum = zlib.crc32(f"{shard} {coordinator.node_id}".encode())
    # By itself it is linear: two coordinators would differ by the same bits for every shard.
    return (checksum ^ checksum >> 15) * _SPREAD % 2**32
