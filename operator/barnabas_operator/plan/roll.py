"""The rolling restart: which pods go now, and if none, why not.

Controllers first, then coordinators, then brokers. Within a rank: what does not work anyway, then
what is behind, then what stands on a host that is to go, and the active controller last. One at a
time, but brokers of one rack may go together: each of them only with a permit, which counts the
others as down.

Nothing here knows of time-outs: replicas that are slow are waited for. A pod of the new revision
that does not become ready is the only one of its kind.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from barnabas_operator.plan.actions import Restart
from barnabas_operator.plan.gate import reason_not_back, reasons_to_spare, reasons_to_wait
from barnabas_operator.plan.observed import UNREADY_LONG_MS, NodeState, QuorumState, Role

_ONLY_BROKER = frozenset({Role.BROKER})


@dataclass(frozen=True, slots=True)
class Roll:
    restarts: tuple[Restart, ...]
    blocked_by: tuple[str, ...]
    updated: int
    total: int
    current: tuple[int, ...]
    """Nodes that were let go and are not back."""
    failed: tuple[str, ...]
    """Pods of the new revision that cannot be made or run, with Kubernetes' reason."""

    @property
    def is_over(self) -> bool:
        return self.updated == self.total and not self.current


def plan_roll(
    nodes: Sequence[NodeState], quorum: QuorumState | None, max_unavailable_per_rack: int
) -> Roll:
    restarts, blocked_by = _next(nodes, quorum, max_unavailable_per_rack)
    is_quorum_gone = _is_quorum_gone(nodes, quorum)
    return Roll(
        restarts=tuple(_restart(node, nodes, is_quorum_gone=is_quorum_gone) for node in restarts),
        blocked_by=blocked_by,
        updated=sum(node.is_current and node.is_ready for node in nodes),
        total=len(nodes),
        current=tuple(node.node_id for node in nodes if _is_under_way(node)),
        failed=tuple(reason for reason in map(_failure, nodes) if reason),
    )


def _failure(node: NodeState) -> str:
    if node.pod is None:
        return node.absence
    is_dead = node.is_current and node.pod.is_dead
    return f"{node.pod.name}: {node.pod.waiting_reason}" if is_dead else ""


def _next(
    nodes: Sequence[NodeState], quorum: QuorumState | None, max_unavailable_per_rack: int
) -> tuple[Sequence[NodeState], tuple[str, ...]]:
    outdated = [node for node in nodes if _is_outdated(node)]
    if not outdated:
        # At rest nobody is asked whether it is back: silence then means nothing.
        asked = [node for node in nodes if node.standing is not None]
        return (), reasons_to_wait(nodes, Role.BROKER) + reasons_to_spare(asked, Role.BROKER)
    rank = min(node.rank for node in outdated)
    candidates = [node for node in outdated if node.rank == rank]
    if rank is Role.CONTROLLER and _is_quorum_gone(nodes, quorum):
        # They come back together or not at all: the first alone would never be ready.
        return [node for node in candidates if _is_given_up(node)], (
            "the controllers have no leader",
        )
    waits = reasons_to_wait(nodes, rank)
    if waits:
        return (), waits
    leader_id = -1 if quorum is None else quorum.leader_id
    candidates.sort(key=lambda node: _order(node, leader_id))
    first = candidates[0]
    if not first.is_ready:
        return _next_unready(first)
    is_behind = bool(reason_not_back(first))
    spares = reasons_to_spare([node for node in nodes if node.is_current or not is_behind], rank)
    if spares:
        return (), spares
    return (first,) if is_behind else _batch(first, candidates, max_unavailable_per_rack), ()


def _next_unready(node: NodeState) -> tuple[Sequence[NodeState], tuple[str, ...]]:
    assert node.pod is not None
    if _is_given_up(node):
        return (node,), ()
    return (), (f"{node.pod.name} is starting",)


def _batch(
    first: NodeState, candidates: Sequence[NodeState], max_unavailable_per_rack: int
) -> Sequence[NodeState]:
    if first.roles != _ONLY_BROKER:
        return (first,)
    same = [node for node in candidates if node.rack == first.rack and node.roles == _ONLY_BROKER]
    return same[: max(max_unavailable_per_rack, 1)]


def _order(node: NodeState, leader_id: int) -> tuple[bool, bool, bool, bool, str, int]:
    is_active = node.node_id == leader_id
    is_back = not reason_not_back(node)
    return node.is_ready, is_back, not node.is_host_draining, is_active, node.rack, node.node_id


def _is_outdated(node: NodeState) -> bool:
    return node.pod is not None and not node.is_current and not node.pod.is_terminating


def _is_given_up(node: NodeState) -> bool:
    """It does not run, or has run for long without ever serving: a start is not interrupted."""
    pod = node.pod
    return pod is not None and (
        pod.is_dead or (not pod.is_ready and pod.unready_ms >= UNREADY_LONG_MS)
    )


def _is_quorum_gone(nodes: Sequence[NodeState], quorum: QuorumState | None) -> bool:
    controllers = [node for node in nodes if Role.CONTROLLER in node.roles]
    return quorum is None and not any(node.is_ready for node in controllers)


def _is_under_way(node: NodeState) -> bool:
    if node.pod is None or node.pod.is_terminating:
        return True
    if not node.is_current:
        return False
    return not node.pod.is_ready or (node.standing is not None and not node.standing.is_back)


def _restart(node: NodeState, nodes: Sequence[NodeState], *, is_quorum_gone: bool) -> Restart:
    assert node.pod is not None
    # There is nobody to give one while the quorum is gone, nor anything left to protect.
    is_free = node.pod.is_dead or (is_quorum_gone and node.rank is Role.CONTROLLER)
    restart = Restart(node.node_id, node.pod.name, node.pod.uid, not is_free)
    if Role.COORDINATOR not in node.roles:
        return restart
    peer_count = sum(one.pool == node.pool for one in nodes) - 1
    return replace(restart, coordinator_role=node.pool, peer_count=peer_count)
