"""Which pod goes next, and why none does."""

from dataclasses import replace
from typing import Any

import pytest

from barnabas_operator.plan.observed import (
    UNREADY_LONG_MS,
    NodeState,
    PodState,
    QuorumMember,
    QuorumState,
    Role,
    Standing,
)
from barnabas_operator.plan.roll import Roll, plan_roll

BACK = Standing(True)
QUORUM = QuorumState(2, tuple(QuorumMember(one, b"d") for one in (1, 2, 3)))


def node(
    node_id: int, role: Role = Role.BROKER, revision: str = "old", rack: str = "", **pod: object
) -> NodeState:
    state = replace(PodState(f"pod-{node_id}", f"uid-{node_id}", revision), **pod)  # type: ignore[arg-type]
    return NodeState(node_id, "pool", node_id, frozenset({role}), "new", state, rack, BACK)


def roll(*nodes: NodeState, quorum: QuorumState | None = QUORUM, per_rack: int = 1) -> Roll:
    return plan_roll(nodes, quorum, per_rack)


def goes(made: Roll) -> list[int]:
    return [one.node_id for one in made.restarts]


def test_controllers_go_before_coordinators_before_brokers() -> None:
    nodes = [node(11), node(21, Role.COORDINATOR), node(1, Role.CONTROLLER)]

    order = []
    for _ in nodes:
        (first,) = goes(roll(*nodes))
        order.append(first)
        nodes = [
            node(one.node_id, one.rank, "new") if one.node_id == first else one for one in nodes
        ]

    assert order == [1, 21, 11]


def test_the_active_controller_goes_last() -> None:
    led_by_1 = replace(QUORUM, leader_id=1)
    controllers = [node(one, Role.CONTROLLER) for one in (1, 2)]

    assert goes(roll(*controllers, quorum=led_by_1)) == [2]
    assert goes(roll(*controllers, quorum=QUORUM)) == [1]


@pytest.mark.parametrize(
    "state",
    [{"is_ready": False}, {"is_terminating": True}, {"waiting_reason": "x", "is_ready": False}],
)
def test_a_new_pod_that_is_not_ready_stops_the_roll(state: dict[str, Any]) -> None:
    made = roll(node(1, revision="new", **state), node(2))

    assert not made.restarts
    assert "pod-1" in made.blocked_by[0]
    assert made.current == (1,)


def test_a_missing_pod_stops_the_roll() -> None:
    assert not roll(replace(node(1), pod=None), node(2)).restarts


def test_a_pod_that_cannot_be_made_is_a_failure_and_not_only_missing() -> None:
    made = roll(replace(node(1), pod=None, absence="pod-1 cannot be made: quota"), node(2))

    assert not made.restarts
    assert made.blocked_by == made.failed == ("pod-1 cannot be made: quota",)


def test_a_broken_broker_does_not_stop_controllers() -> None:
    assert goes(roll(node(11, revision="new", is_ready=False), node(1, Role.CONTROLLER))) == [1]


def test_a_node_that_is_not_back_is_waited_for() -> None:
    behind = replace(
        node(1, revision="new"), standing=Standing(False, "3 replicas are not in sync")
    )

    made = roll(behind, node(2))

    assert not made.restarts
    assert made.blocked_by == ("pod-1: 3 replicas are not in sync",)
    assert not made.is_over


def test_a_node_that_cannot_be_asked_is_not_taken_for_back() -> None:
    assert not roll(replace(node(1, revision="new"), standing=None), node(2)).restarts


def test_what_is_broken_goes_first_and_needs_no_permit() -> None:
    made = roll(node(1), node(2, is_ready=False, waiting_reason="ImagePullBackOff"))

    assert goes(made) == [2]
    assert not made.restarts[0].needs_permit


def test_what_is_broken_goes_even_if_others_are_not_in_sync() -> None:
    """They may wait for it: it may have been the last that had everything."""
    behind = replace(node(1, revision="new"), standing=Standing(False, "not in sync"))

    assert goes(roll(behind, node(2, is_ready=False, waiting_reason="CrashLoopBackOff"))) == [2]


def test_a_start_is_not_interrupted_before_it_took_long() -> None:
    starting = node(2, is_ready=False)
    stuck = node(2, is_ready=False, unready_ms=UNREADY_LONG_MS)

    assert not roll(node(1), starting).restarts
    assert goes(roll(node(1), stuck)) == [2]
    assert roll(node(1), stuck).restarts[0].needs_permit


def test_controllers_without_a_leader_go_together() -> None:
    """The first of them alone would never be ready, and there is nobody to give a permit."""
    broken = [
        node(one, Role.CONTROLLER, is_ready=False, waiting_reason="CrashLoopBackOff")
        for one in (1, 2, 3)
    ]

    made = roll(*broken, quorum=None)

    assert goes(made) == [1, 2, 3]
    assert not any(one.needs_permit for one in made.restarts)


def test_an_election_is_not_a_lost_quorum() -> None:
    moment = [node(one, Role.CONTROLLER, is_ready=False, unready_ms=900) for one in (1, 2, 3)]

    assert not roll(*moment, quorum=None).restarts


def test_brokers_of_one_rack_go_together() -> None:
    nodes = [node(one, rack="ab"[one % 2]) for one in range(10, 16)]

    assert goes(roll(*nodes, per_rack=2)) == [10, 12]
    assert goes(roll(*nodes, per_rack=9)) == [10, 12, 14]
    assert all(one.needs_permit for one in roll(*nodes, per_rack=9).restarts)


def test_controllers_never_go_together() -> None:
    assert len(roll(node(1, Role.CONTROLLER), node(3, Role.CONTROLLER), per_rack=9).restarts) == 1


def test_coordinators_go_one_by_one_with_permits_that_tell_of_their_peers() -> None:
    coordinators = [node(one, Role.COORDINATOR) for one in (21, 22, 23)]

    (restart,) = roll(*coordinators, per_rack=9).restarts

    assert restart.node_id == 21
    assert restart.needs_permit
    assert (restart.coordinator_role, restart.peer_count) == ("pool", 2)


def test_a_coordinator_that_is_not_back_is_waited_for() -> None:
    loading = replace(
        node(21, Role.COORDINATOR, "new"), standing=Standing(False, "4 of 9 shards are loading")
    )

    made = roll(loading, node(22, Role.COORDINATOR))

    assert not made.restarts
    assert made.blocked_by == ("pod-21: 4 of 9 shards are loading",)
    assert made.current == (21,)


def test_a_coordinator_that_does_not_run_needs_no_permit() -> None:
    dead = node(21, Role.COORDINATOR, is_ready=False, waiting_reason="CrashLoopBackOff")

    (restart,) = roll(dead, node(22, Role.COORDINATOR)).restarts

    assert not restart.needs_permit


def test_who_stands_on_a_host_that_is_to_go_is_first() -> None:
    assert goes(roll(node(1), replace(node(2), is_host_draining=True))) == [2]


def test_progress_is_told() -> None:
    made = roll(node(1, revision="new"), node(2), node(3))

    assert (made.updated, made.total) == (1, 3)
    assert not made.is_over
    assert roll(node(1, revision="new")).is_over


def test_a_bad_pod_is_named_with_its_reason() -> None:
    made = roll(node(1, revision="new", is_ready=False, waiting_reason="ErrImagePull"), node(2))

    assert made.failed == ("pod-1: ErrImagePull",)
