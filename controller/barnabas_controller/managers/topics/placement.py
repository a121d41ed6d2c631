"""Where the replicas of new partitions go.

Rules first, then aims in this order:

- no two replicas of a partition on one broker, and the first, which will lead, on an unfenced one;
- racks share each partition as evenly as they can: none has two replicas more than another that
  still has a free broker (brokers that name no rack share one);
- in a rack, and between racks that have equally many, unfenced brokers come first;
- leaders take turns, so that unfenced brokers lead equally many, give or take one;
- followers go where the fewest replicas are. Ties are broken at random, anew for each round of
  leaders, so that the partitions of one broker have their other replicas on many.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from barnabas_core.ports import Rng

T = TypeVar("T")


class CannotPlace(Exception):
    """There are not the brokers for it."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A broker that takes new replicas."""

    id: int
    rack: str | None
    is_fenced: bool


@dataclass(slots=True, eq=False)
class _Broker:
    id: int
    is_fenced: bool
    replica_count: int = 0
    rank: int = 0
    """Orders equally loaded ones, in this round."""
    is_taken: bool = False
    """By the partition at hand."""


@dataclass(slots=True, eq=False)
class _Rack:
    brokers: list[_Broker]
    replica_count: int = 0
    rank: int = 0
    taken_count: int = 0

    @property
    def is_full(self) -> bool:
        return self.taken_count == len(self.brokers)

    def order(self) -> tuple[int, bool, float, int]:
        only_fenced = all(broker.is_fenced for broker in self.brokers if not broker.is_taken)
        return self.taken_count, only_fenced, self.replica_count / len(self.brokers), self.rank

    def best(self) -> _Broker:
        free = [broker for broker in self.brokers if not broker.is_taken]
        return min(free, key=lambda each: (each.is_fenced, each.replica_count, each.rank))

    def take(self, broker: _Broker) -> int:
        broker.is_taken = True
        broker.replica_count += 1
        self.taken_count += 1
        self.replica_count += 1
        return broker.id

    def release(self) -> None:
        self.taken_count = 0
        for broker in self.brokers:
            broker.is_taken = False


def place(
    candidates: Iterable[Candidate], partition_count: int, replication_factor: int, rng: Rng
) -> list[tuple[int, ...]]:
    """The replicas of each partition, the leader first; `CannotPlace` if there are too few."""
    known = sorted(candidates, key=lambda each: each.id)
    _check(known, replication_factor)
    placer = _Placer(known, rng)
    return [placer.next_partition(replication_factor) for _ in range(partition_count)]


def _check(candidates: Sequence[Candidate], replication_factor: int) -> None:
    if replication_factor <= 0:
        raise CannotPlace(
            f"Invalid replication factor {replication_factor}: "
            "the replication factor must be positive."
        )
    if all(each.is_fenced for each in candidates):
        raise CannotPlace(
            "All brokers are currently fenced, or have all their log directories cordoned."
        )
    if replication_factor > len(candidates):
        raise CannotPlace(
            f"The target replication factor of {replication_factor} cannot be reached because "
            f"only {len(candidates)} broker(s) are registered or some brokers have all their log "
            "directories cordoned."
        )


class _Placer:
    def __init__(self, candidates: Sequence[Candidate], rng: Rng) -> None:
        self._rng = rng
        by_name: dict[str | None, _Rack] = {}
        for each in candidates:
            rack = by_name.setdefault(each.rack, _Rack([]))
            rack.brokers.append(_Broker(each.id, each.is_fenced))
        self._racks = list(by_name.values())
        self._leaders: Iterator[tuple[_Rack, _Broker]] = iter(())

    def next_partition(self, replication_factor: int) -> tuple[int, ...]:
        rack, leader = self._next_leader()
        replicas = [rack.take(leader)]
        while len(replicas) < replication_factor:
            free = [each for each in self._racks if not each.is_full]
            rack = min(free, key=_Rack.order)
            replicas.append(rack.take(rack.best()))
        for rack in self._racks:
            rack.release()
        return tuple(replicas)

    def _next_leader(self) -> tuple[_Rack, _Broker]:
        following = next(self._leaders, None)
        if following is None:
            self._leaders = self._new_round()
            following = next(self._leaders)
        return following

    def _new_round(self) -> Iterator[tuple[_Rack, _Broker]]:
        brokers = [(rack, broker) for rack in self._racks for broker in rack.brokers]
        _shuffle(brokers, self._rng)
        for rank, (_, broker) in enumerate(brokers):
            broker.rank = rank
        racks = list(self._racks)
        _shuffle(racks, self._rng)
        for rank, rack in enumerate(racks):
            rack.rank = rank
        return iter([each for each in brokers if not each[1].is_fenced])


def _shuffle(items: list[T], rng: Rng) -> None:
    for last in range(len(items) - 1, 0, -1):
        chosen = rng.randrange(last + 1)
        items[last], items[chosen] = items[chosen], items[last]
