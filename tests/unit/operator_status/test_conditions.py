"""Whoever waits for a resource is told the truth: `kubectl wait`, kstatus, Argo's health."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import pytest

from barnabas_operator.api.kinds import CLUSTER, TOPIC
from barnabas_operator.api.status import Condition, ConditionStatus
from barnabas_operator.plan.cluster import plan
from barnabas_operator.plan.desired import Desired, PoolWish
from barnabas_operator.plan.observed import (
    BrokerState,
    ClaimState,
    NodeState,
    Observed,
    PartitionState,
    PodState,
    QuorumMember,
    QuorumState,
    Role,
    Standing,
)
from barnabas_operator.plan.topic_state import Reason, Verdict
from barnabas_operator.status.cluster_conditions import Round, cluster_findings, refused_findings
from barnabas_operator.status.conditions import Finding, merge_conditions, no, yes
from barnabas_operator.status.topic_conditions import topic_findings

BROKER = frozenset({Role.BROKER})
CONTROLLER = frozenset({Role.CONTROLLER})
DESIRED = Desired(
    (
        PoolWish("brokers", BROKER, 0, 2, 2, 1000),
        PoolWish("controllers", CONTROLLER, 100, 1, 1, 1100),
    ),
)


def node(node_id: int, roles: frozenset[Role] = BROKER, **pod: object) -> NodeState:
    state = replace(PodState(f"pod-{node_id}", f"uid-{node_id}", "new"), **pod)  # type: ignore[arg-type]
    return NodeState(node_id, "pool", node_id, roles, "new", state, standing=Standing(True))


def observed(*nodes: NodeState) -> Observed:
    return Observed(
        nodes=(*nodes, node(100, CONTROLLER)),
        quorum=QuorumState(100, (QuorumMember(100, b"d"),)),
        brokers={0: BrokerState(0), 1: BrokerState(1)},
        partitions=(PartitionState("t", 0, (0, 1), (0, 1), 0),),
        claims=(ClaimState("data", 10, 10, 10),),
        dynamic_config={},
        features={},
        spread_to=frozenset({0, 1}),
    )


GOOD = observed(node(0), node(1))


def findings(seen: Observed, desired: Desired = DESIRED, **changes: object) -> dict[str, Finding]:
    round_ = Round(desired, seen, plan(desired, seen), was_formed=True, was_ready=True)
    return cluster_findings(replace(round_, **changes))  # type: ignore[arg-type]


def kstatus(found: Mapping[str, Finding], *, generation: int = 2, observed: int = 2) -> str:
    """As sigs.k8s.io/cli-utils computes it for a resource that it does not know."""
    if generation != observed:
        return "InProgress"
    if found["Reconciling"].holds:
        return "InProgress"
    if found["Stalled"].holds:
        return "Failed"
    return "Current" if found["Ready"].holds else "InProgress"


def argo(found: Mapping[str, Finding]) -> str:
    """As health checks for Argo CD are mostly written."""
    if found["Degraded"].holds:
        return "Degraded"
    if found["Paused"].holds:
        return "Suspended"
    if found["Progressing"].holds or not found["Ready"].holds:
        return "Progressing"
    return "Healthy"


def test_a_cluster_at_rest_is_stable_for_everybody() -> None:
    found = findings(GOOD)

    assert found["Stable"].holds, found
    assert found["Ready"].holds
    assert (kstatus(found), argo(found)) == ("Current", "Healthy")


def test_every_condition_of_the_resource_is_told_of() -> None:
    assert set(CLUSTER.conditions) <= findings(GOOD).keys()
    assert set(TOPIC.conditions) <= topic_findings(Verdict(True, Reason.SYNCED, "")).keys()


def test_a_roll_serves_clients_and_is_not_over() -> None:
    found = findings(observed(node(0), node(1, revision="old")))

    assert found["Ready"].holds
    assert found["Progressing"].holds
    assert not found["Stable"].holds
    assert found["ConfigApplied"].status is ConditionStatus.FALSE
    assert (kstatus(found), argo(found)) == ("InProgress", "Progressing")


def test_a_broker_that_restarts_does_not_make_the_cluster_unready() -> None:
    found = findings(observed(node(0), node(1, is_ready=False)))

    assert found["Ready"].holds
    assert found["Progressing"].holds


def test_a_first_start_is_ready_only_with_every_broker() -> None:
    found = findings(observed(node(0), node(1, is_ready=False)), was_ready=False)

    assert found["Ready"].status is ConditionStatus.FALSE


def test_more_brokers_missing_than_may_restart_are_not_ready() -> None:
    three = replace(DESIRED, pools=(replace(DESIRED.pools[0], replicas=3, present_replicas=3),))
    found = findings(observed(node(0), node(1, is_ready=False), node(2, is_ready=False)), three)

    assert found["Ready"].status is ConditionStatus.FALSE


def test_a_pod_that_cannot_run_is_a_failure_for_everybody() -> None:
    bad = node(1, is_ready=False, waiting_reason="ImagePullBackOff")
    found = findings(observed(node(0, revision="old"), bad))

    assert found["Degraded"].holds
    assert "pod-1: ImagePullBackOff" in found["Degraded"].message
    assert not found["Progressing"].holds
    assert not found["Ready"].holds
    assert (kstatus(found), argo(found)) == ("Failed", "Degraded")


def test_a_lost_quorum_is_false_and_one_that_forms_unknown() -> None:
    lost = replace(GOOD, quorum=None, brokers=None, partitions=None, dynamic_config=None)

    assert findings(lost)["QuorumHealthy"].status is ConditionStatus.FALSE
    assert findings(lost)["Ready"].status is ConditionStatus.FALSE
    forming = findings(lost, was_formed=False)
    assert forming["QuorumHealthy"].status is ConditionStatus.UNKNOWN
    assert forming["ReplicasInSync"].status is ConditionStatus.UNKNOWN
    assert (kstatus(forming), argo(forming)) == ("InProgress", "Progressing")


def test_replicas_behind_keep_it_from_being_stable() -> None:
    behind = replace(GOOD, partitions=(PartitionState("t", 0, (0, 1), (0,), 0),))
    found = findings(behind)

    assert not found["ReplicasInSync"].holds
    assert not found["Stable"].holds
    assert kstatus(found) == "InProgress"


def test_a_volume_that_grows_keeps_it_from_being_stable() -> None:
    found = findings(replace(GOOD, claims=(ClaimState("data", 20, 10, 20),)))

    assert found["StorageReady"].reason == "Resizing"
    assert not found["Stable"].holds


def test_a_refusal_is_a_failure() -> None:
    found = findings(GOOD, refusals=("set dynamic config: INVALID_CONFIG",))

    assert found["ConfigApplied"].reason == "Refused"
    assert kstatus(found) == "Failed"


def test_paused_is_neither_stable_nor_under_way() -> None:
    found = findings(GOOD, replace(DESIRED, is_paused=True))

    assert found["Paused"].holds
    assert found["Ready"].holds
    assert not found["Stable"].holds
    assert argo(found) == "Suspended"
    assert kstatus(found) == "Current", "nothing is held back"


def test_paused_with_something_to_do_is_not_current() -> None:
    outdated = replace(node(0), wanted_revision="next")
    found = findings(observed(outdated, node(1)), replace(DESIRED, is_paused=True))

    assert found["Paused"].reason == "HeldBack"
    assert kstatus(found) == "InProgress"
    assert argo(found) == "Suspended"


def test_what_cannot_be_is_told_while_the_rest_goes_on() -> None:
    found = refused_findings("spec.config: no", findings(GOOD))

    assert found["Ready"].holds
    assert found["Degraded"].message == "spec.config: no"
    assert kstatus(found) == "Failed"


def condition(conditions: Iterable[Condition], name: str) -> Condition:
    return next(one for one in conditions if one.type == name)


def test_a_transition_moves_the_time_and_nothing_else_does() -> None:
    first = merge_conditions((), {"Ready": no("A"), "Other": yes("B")}, 1, "t1")
    second = merge_conditions(first, {"Ready": no("C", "why"), "Other": yes("B")}, 2, "t2")
    third = merge_conditions(second, {"Ready": yes("D"), "Other": yes("B")}, 2, "t3")

    assert condition(second, "Ready").last_transition_time == "t1"
    assert condition(second, "Ready").reason == "C"
    assert condition(second, "Ready").observed_generation == 2
    assert condition(third, "Ready").last_transition_time == "t3"
    assert condition(third, "Other").last_transition_time == "t1"


def test_conditions_of_others_are_kept_and_none_is_there_twice() -> None:
    theirs = merge_conditions((), {"Theirs": yes("X"), "Ready": no("A")}, 1, "t1")

    merged = merge_conditions(theirs, {"Ready": yes("B")}, 1, "t2")

    assert sorted(one.type for one in merged) == ["Ready", "Theirs"]


@pytest.mark.parametrize("reason", list(Reason))
def test_a_topic_is_current_only_when_it_is_ready(reason: Reason) -> None:
    is_ready = reason is Reason.SYNCED
    found = topic_findings(Verdict(is_ready, reason, "why"))

    assert (kstatus(found) == "Current") is is_ready
    assert found["Reassigning"].holds is (reason is Reason.REASSIGNING)


def test_a_topic_that_is_refused_for_good_has_failed() -> None:
    found = topic_findings(Verdict(False, Reason.PARTITIONS_REFUSED, "no", is_final=True))

    assert kstatus(found) == "Failed"
