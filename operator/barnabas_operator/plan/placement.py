"""Where replicas go when brokers come or leave: racks first, then evenly."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from barnabas_operator.plan.actions import Move
from barnabas_operator.plan.observed import BrokerState, PartitionState

MOVES_MAX: Final = 50
"""Reassignments under way at a time: the rest of the cluster has its own work."""


def replica_counts(partitions: Iterable[PartitionState]) -> Counter[int]:
    return Counter(one for partition in partitions for one in partition.replicas)


def replace_replicas(
    partition: PartitionState,
    leaving: frozenset[int],
    brokers: Mapping[int, BrokerState],
    loads: Counter[int],
) -> Move | None:
    """Others in the places of those that leave; None if there are too few. `loads` follows."""
    replicas = list(partition.replicas)
    for place, node_id in enumerate(replicas):
        if node_id not in leaving:
            continue
        staying = [one for one in replicas if one not in leaving]
        target = _best_target(staying, leaving, brokers, loads)
        if target is None:
            return None
        replicas[place] = target
        loads[target] += 1
        loads[node_id] -= 1
    return Move(partition.topic, partition.number, tuple(replicas))


def _best_target(
    staying: Sequence[int],
    leaving: frozenset[int],
    brokers: Mapping[int, BrokerState],
    loads: Counter[int],
) -> int | None:
    racks = Counter(brokers[one].rack for one in staying if one in brokers)
    free = [
        one
        for one in brokers.values()
        if one.node_id not in leaving and one.node_id not in staying and not one.is_fenced
    ]
    if not free:
        return None
    best = min(free, key=lambda one: (racks[one.rack], loads[one.node_id], one.node_id))
    return best.node_id


def spread_moves(
    partitions: Sequence[PartitionState],
    targets: frozenset[int],
    brokers: Mapping[int, BrokerState],
) -> tuple[Move, ...]:
    """Replicas for the new brokers, from the fullest, until they have their share.

    A replica moves within its rack, or into one where its partition has none: racks that hold a
    partition are never fewer afterwards.
    """
    loads = replica_counts(partitions)
    share = sum(loads.values()) // max(len(brokers), 1)
    moves: list[Move] = []
    for partition in sorted(partitions, key=lambda one: (one.number, one.topic)):
        lacking = [one for one in sorted(targets) if loads[one] < share and one in brokers]
        if not lacking or len(moves) == MOVES_MAX:
            break
        move = _spread_one(partition, lacking, brokers, loads)
        if move is not None:
            moves.append(move)
    return tuple(moves)


def _spread_one(
    partition: PartitionState,
    lacking: Sequence[int],
    brokers: Mapping[int, BrokerState],
    loads: Counter[int],
) -> Move | None:
    free = [one for one in lacking if one not in partition.replicas]
    givers = [one for one in partition.replicas if one not in lacking]
    for target in sorted(free, key=lambda one: (loads[one], one)):
        for giver in sorted(givers, key=lambda one: (-loads[one], one)):
            # Within one rack two share what is there, however much others have.
            is_fuller = loads[giver] > loads[target] + 1
            if not is_fuller or not _keeps_racks(partition, giver, target, brokers):
                continue
            loads[target] += 1
            loads[giver] -= 1
            replicas = tuple(target if one == giver else one for one in partition.replicas)
            return Move(partition.topic, partition.number, replicas)
    return None


def _keeps_racks(
    partition: PartitionState, giver: int, target: int, brokers: Mapping[int, BrokerState]
) -> bool:
    def racks(ids: Iterable[int]) -> int:
        return len({brokers[one].rack for one in ids if one in brokers})

    after = [target if one == giver else one for one in partition.replicas]
    return racks(after) >= racks(partition.replicas)
