"""Leaders: away from hosts that are to go, and back where they are preferred when all is well."""

from collections.abc import Iterable
from typing import Final

from barnabas_operator.plan.actions import ElectPreferred, MoveLeaders
from barnabas_operator.plan.observed import Observed, PartitionState, Role

ELECTIONS_MAX: Final = 1_000


def plan_drains(observed: Observed) -> tuple[MoveLeaders, ...]:
    """Brokers on hosts that Kubernetes will empty, as long as they lead what others could.

    Not what would end up on a host that is to go as well: it would be sent back and forth.
    """
    if observed.partitions is None:
        return ()
    draining = {
        node.node_id
        for node in observed.nodes
        if Role.BROKER in node.roles and node.is_host_draining
    }
    movable = {
        one.leader
        for one in observed.partitions
        if one.leader in draining and _next_leader(one) not in {None, *draining}
    }
    return tuple(MoveLeaders(node_id) for node_id in sorted(movable))


def _next_leader(partition: PartitionState) -> int | None:
    """Whom the controller elects when the leader goes: the first in sync, in their order."""
    others = (one for one in partition.replicas if one != partition.leader)
    return next((one for one in others if one in partition.isr), None)


def plan_preferred(observed: Observed) -> ElectPreferred | None:
    """Not to brokers on hosts that are to go: they were just moved away from there."""
    if observed.partitions is None or observed.brokers is None:
        return None
    draining = {node.node_id for node in observed.nodes if node.is_host_draining}
    down = {one.node_id for one in observed.brokers.values() if one.is_fenced}
    misled = _misled(observed.partitions, draining | down)
    chosen = tuple(misled)[:ELECTIONS_MAX]
    return ElectPreferred(chosen) if chosen else None


def _misled(partitions: Iterable[PartitionState], not_to: set[int]) -> Iterable[tuple[str, int]]:
    for one in partitions:
        if one.is_moving or not one.replicas:
            continue
        preferred = one.replicas[0]
        if one.leader != preferred and preferred in one.isr and preferred not in not_to:
            yield one.topic, one.number
