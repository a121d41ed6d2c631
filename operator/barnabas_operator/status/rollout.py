"""Where a roll is, and what blocks it."""

from typing import Final

from barnabas_operator.api.status import RolloutStatus
from barnabas_operator.status.cluster_conditions import Round

_BLOCKED_MAX: Final = 32
_TEXT_MAX: Final = 1024


def rollout_status(round_: Round) -> RolloutStatus | None:
    """Of the roll under way; when it is over, there is none."""
    roll, nodes = round_.plan.roll, round_.observed.nodes
    if roll.is_over:
        return None
    names = {node.node_id: node.pod.name for node in nodes if node.pod is not None}
    revisions = sorted({node.wanted_revision for node in nodes if node.wanted_revision})
    reasons = (*roll.failed, *round_.blocked_by, *roll.blocked_by)
    # A set in the definition: Kubernetes would refuse the whole status for one that is told twice.
    blocked_by = tuple(dict.fromkeys(one[:_TEXT_MAX] for one in reasons))
    return RolloutStatus(
        revision="-".join(revisions)[:63],
        updated=roll.updated,
        total=roll.total,
        current=tuple(names.get(one, f"node {one}") for one in roll.current),
        blocked_by=blocked_by[:_BLOCKED_MAX],
    )
