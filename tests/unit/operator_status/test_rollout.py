"""What the status tells of a roll: where it is, what blocks it, each reason once."""

from dataclasses import replace

import pytest

from barnabas_operator.plan.cluster import plan
from barnabas_operator.plan.desired import Desired, PoolWish
from barnabas_operator.plan.observed import NodeState, Observed, PodState, Role, Standing
from barnabas_operator.status.cluster_conditions import Round
from barnabas_operator.status.rollout import rollout_status

BROKER = frozenset({Role.BROKER})
DESIRED = Desired((PoolWish("pool", BROKER, 0, 3, 3, 1000),))
MISSING = NodeState(2, "pool", 2, BROKER, "new", None, absence="pod-2: exceeded quota")


def node(node_id: int, revision: str) -> NodeState:
    pod = PodState(f"pod-{node_id}", f"uid-{node_id}", revision)
    return NodeState(node_id, "pool", node_id, BROKER, "new", pod, standing=Standing(True))


def round_of(*nodes: NodeState, blocked_by: tuple[str, ...] = ()) -> Round:
    seen = Observed(nodes=nodes)
    return Round(DESIRED, seen, plan(DESIRED, seen), blocked_by=blocked_by)


def test_a_roll_that_is_over_is_not_told_of() -> None:
    assert rollout_status(round_of(node(0, "new"), node(1, "new"))) is None


def test_it_tells_how_far_it_is_and_who_is_under_way() -> None:
    told = rollout_status(round_of(node(0, "new"), node(1, "old"), replace(MISSING, absence="")))

    assert told is not None
    assert (told.updated, told.total, told.revision) == (1, 3, "new")
    assert told.current == ("node 2",)
    assert told.blocked_by == ("node 2: its pod is not there",)


def test_a_reason_is_told_once_however_many_find_it() -> None:
    """The list is a set to Kubernetes, which would refuse the whole status."""
    told = rollout_status(round_of(node(0, "old"), MISSING, blocked_by=(MISSING.absence,)))

    assert told is not None
    assert told.blocked_by == ("pod-2: exceeded quota",)


@pytest.mark.parametrize("reason", ["x" * 5_000, "{}"])
def test_what_is_told_fits_into_the_definition(reason: str) -> None:
    reasons = tuple(reason.format(number) for number in range(100))

    told = rollout_status(round_of(node(0, "old"), blocked_by=reasons))

    assert told is not None
    assert len(told.blocked_by) == min(len(set(reasons)), 32)
    assert max(map(len, told.blocked_by)) <= 1024
    assert len(set(told.blocked_by)) == len(told.blocked_by)
