"""Brokers that come get their share of replicas; those that go are emptied before their pods go."""

from dataclasses import dataclass

from barnabas_operator.plan.actions import (
    Action,
    Cordon,
    MarkSpread,
    Move,
    Reassign,
    UnregisterBroker,
)
from barnabas_operator.plan.desired import Desired, PoolWish
from barnabas_operator.plan.observed import NodeState, Observed, PartitionState, Role
from barnabas_operator.plan.placement import (
    MOVES_MAX,
    replace_replicas,
    replica_counts,
    spread_moves,
)


@dataclass(frozen=True, slots=True)
class ScalePlan:
    actions: tuple[Action, ...] = ()
    blocked_by: tuple[str, ...] = ()


def plan_scale(desired: Desired, observed: Observed) -> ScalePlan:
    """Nothing is done on what could not be read."""
    if observed.brokers is None or observed.partitions is None:
        return ScalePlan()
    leaving = desired.leaving(Role.BROKER)
    cordons = _cordons(desired, observed, leaving)
    drain = _drain(observed, leaving)
    if drain.actions or drain.blocked_by or leaving:
        return ScalePlan((*cordons, *drain.actions), drain.blocked_by)
    spread = _spread(desired, observed)
    fresh = sorted(desired.ids(Role.BROKER) - observed.spread_to)
    # Pods are ready before the controllers know their brokers: that is not the end of it.
    waits = (f"brokers {fresh} wait for their share of replicas",) if fresh and not spread else ()
    return ScalePlan((*cordons, *_unregister(desired, observed), *spread), waits)


def places_to_keep(pool: PoolWish, observed: Observed) -> int:
    """How many places its StatefulSet has now: none is taken that still holds or votes."""
    keep = pool.replicas
    for ordinal in range(pool.replicas, pool.present_replicas):
        if not _is_free_to_go(pool.node_id(ordinal), pool, observed):
            keep = ordinal + 1
    return keep


def _is_free_to_go(node_id: int, pool: PoolWish, observed: Observed) -> bool:
    if Role.COORDINATOR in pool.roles and not pool.replicas:
        # Given up: brokers that have not restarted for it still lease their shards to these.
        brokers = [node for node in observed.nodes if Role.BROKER in node.roles]
        return all(node.is_current and node.is_ready for node in brokers)
    if Role.CONTROLLER in pool.roles and (
        observed.quorum is None or observed.quorum.voter(node_id) is not None
    ):
        return False
    return Role.BROKER not in pool.roles or _is_empty(node_id, observed)


def _is_empty(node_id: int, observed: Observed) -> bool:
    """Both the cluster and the broker itself say so, and nothing new can come."""
    if observed.partitions is None or observed.brokers is None:
        return False
    if any(node_id in one.replicas for one in observed.partitions):
        return False
    broker = observed.brokers.get(node_id)
    if broker is None:
        return True
    node = _node(node_id, observed)
    is_alive = node is not None and node.is_ready
    if is_alive and (node is None or node.standing is None or node.standing.replica_count):
        return False
    return broker.is_cordoned or broker.is_fenced


def _node(node_id: int, observed: Observed) -> NodeState | None:
    return next((one for one in observed.nodes if one.node_id == node_id), None)


def _cordons(desired: Desired, observed: Observed, leaving: frozenset[int]) -> list[Action]:
    assert observed.brokers is not None
    ours = desired.ids(Role.BROKER) | leaving
    return [
        Cordon(one.node_id, one.node_id in leaving)
        for one in observed.brokers.values()
        if one.node_id in ours and one.is_cordoned != (one.node_id in leaving)
    ]


def _drain(observed: Observed, leaving: frozenset[int]) -> ScalePlan:
    assert observed.partitions is not None
    assert observed.brokers is not None
    held = [one for one in observed.partitions if leaving.intersection(one.replicas)]
    if not held:
        return ScalePlan()
    moving = sum(one.is_moving for one in observed.partitions)
    loads, moves, stuck = replica_counts(observed.partitions), list[Move](), list[PartitionState]()
    for partition in held:
        if partition.is_moving or moving + len(moves) >= MOVES_MAX:
            continue
        move = replace_replicas(partition, leaving, observed.brokers, loads)
        if move is None:
            stuck.append(partition)
        else:
            moves.append(move)
    reasons = [f"{len(held)} partitions are still on brokers that are to go"]
    if stuck:
        one = stuck[0]
        reasons.append(
            f"{one.topic}-{one.number} has {len(one.replicas)} replicas, and too few brokers "
            f"would be left for it ({len(stuck)} such partitions)"
        )
    return ScalePlan((Reassign(tuple(moves)),) if moves else (), tuple(reasons))


def _unregister(desired: Desired, observed: Observed) -> list[Action]:
    """Only one of ours, without a place, without a pod, and that the controllers miss."""
    assert observed.brokers is not None
    if observed.leftover:
        return []
    places = {node.node_id for node in observed.nodes}
    return [
        UnregisterBroker(one.node_id)
        for one in observed.brokers.values()
        if one.is_fenced and one.node_id not in places and _is_ours(one.node_id, desired)
    ]


def _is_ours(node_id: int, desired: Desired) -> bool:
    """Within the fixed range of ids of a pool that has brokers."""
    return any(
        Role.BROKER in pool.roles and pool.first_node_id <= node_id < pool.end_node_id
        for pool in desired.pools
    )


def _spread(desired: Desired, observed: Observed) -> list[Action]:
    assert observed.brokers is not None
    assert observed.partitions is not None
    alive = {one.node_id for one in observed.brokers.values() if not one.is_fenced}
    wanted = desired.ids(Role.BROKER)
    fresh = frozenset(wanted - observed.spread_to)
    gone = observed.spread_to - wanted
    if not fresh:
        return [MarkSpread(observed.spread_to - gone)] if gone else []
    if not wanted <= alive or any(one.is_moving for one in observed.partitions):
        return []
    brokers = {one: observed.brokers[one] for one in wanted}
    moves = spread_moves(observed.partitions, fresh, brokers)
    if moves:
        return [Reassign(moves)]
    return [MarkSpread((observed.spread_to | fresh) - gone)]
