"""Reasons to wait before anything else is restarted.

The replacement of a pod is there before the cluster has noticed that its predecessor left: health
alone would say yes too early. So a pod that is missing, terminating, or new and not ready stops
everything of its rank and above; lower ranks go on, as they may be what it waits for.
"""

from collections.abc import Iterable

from barnabas_operator.plan.observed import NodeState, Role


def reasons_to_wait(nodes: Iterable[NodeState], rank: Role) -> tuple[str, ...]:
    """Hard ones: another restart could bring down a second node."""
    reasons = (_unsettled(node) for node in nodes if node.rank <= rank)
    return tuple(reason for reason in reasons if reason)


def reasons_to_spare(nodes: Iterable[NodeState], rank: Role) -> tuple[str, ...]:
    """Soft ones: others are not at full strength; nobody that is goes now.

    Whoever is not back itself may go all the same: it may be what the others wait for.
    """
    reasons = (reason_not_back(node) for node in nodes if node.rank <= rank and node.is_ready)
    return tuple(reason for reason in reasons if reason)


def _unsettled(node: NodeState) -> str:
    pod = node.pod
    if pod is None:
        return node.absence or f"node {node.node_id}: its pod is not there"
    if pod.is_terminating:
        return f"{pod.name} is terminating"
    if node.is_current and not pod.is_ready:
        why = f": {pod.waiting_reason}" if pod.waiting_reason else ""
        return f"{pod.name} has the new revision and is not ready{why}"
    return ""


def reason_not_back(node: NodeState) -> str:
    """Empty if it is."""
    if node.pod is None:
        return ""
    if node.standing is None:
        return f"{node.pod.name} does not answer whether it is back"
    return "" if node.standing.is_back else f"{node.pod.name}: {node.standing.reason}"
