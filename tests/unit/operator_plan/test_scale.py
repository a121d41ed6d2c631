"""Brokers and controllers that come and go, volumes, properties and features."""

from dataclasses import replace

from barnabas_operator.plan.actions import (
    AddVoter,
    Cordon,
    ElectPreferred,
    ExpandClaim,
    MarkSpread,
    MoveLeaders,
    Reassign,
    RemoveVoter,
    SetDynamicConfig,
    UnregisterBroker,
    UpdateFeatures,
)
from barnabas_operator.plan.cluster import plan
from barnabas_operator.plan.desired import Desired, PoolWish
from barnabas_operator.plan.dynamic_config import plan_dynamic_config, split_config
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
from barnabas_operator.plan.scale import places_to_keep, plan_scale
from barnabas_operator.plan.storage import plan_storage
from barnabas_operator.plan.upgrade import plan_features
from barnabas_operator.plan.voters import plan_voters

BROKER = frozenset({Role.BROKER})


def pool(replicas: int, present: int) -> PoolWish:
    return PoolWish("brokers", BROKER, 0, replicas, present, 1000)


def node(node_id: int, replica_count: int = 0, **changes: bool) -> NodeState:
    pod = PodState(f"pod-{node_id}", f"uid-{node_id}", "r")
    standing = Standing(True, "", replica_count)
    state = NodeState(node_id, "brokers", node_id, BROKER, "r", pod, standing=standing)
    return replace(state, **changes)  # type: ignore[arg-type]


def seen(count: int, *partitions: tuple[int, ...], cordoned: tuple[int, ...] = ()) -> Observed:
    return Observed(
        nodes=tuple(node(one, sum(one in held for held in partitions)) for one in range(count)),
        quorum=QuorumState(100, (QuorumMember(100, b"d"),)),
        brokers={
            one: BrokerState(one, f"r{one % 3}", is_cordoned=one in cordoned)
            for one in range(count)
        },
        partitions=tuple(
            PartitionState("t", number, held, held, held[0])
            for number, held in enumerate(partitions)
        ),
        dynamic_config={},
        features={},
        spread_to=frozenset(range(count)),
    )


def test_a_broker_that_goes_is_cordoned_and_emptied_first() -> None:
    observed = seen(4, (0, 1, 3), (1, 2, 0))
    desired = Desired((pool(3, 4),))

    made = plan_scale(desired, observed)

    assert made.actions[0] == Cordon(3, is_cordoned=True)
    assert isinstance(made.actions[1], Reassign)
    assert [move.replicas for move in made.actions[1].moves] == [(0, 1, 2)]
    assert places_to_keep(desired.pools[0], observed) == 4


def test_a_broker_is_let_go_only_on_proof_from_both_sides() -> None:
    desired = pool(3, 4)
    empty = seen(4, (0, 1, 2), cordoned=(3,))
    assert places_to_keep(desired, empty) == 3

    assert places_to_keep(desired, seen(4, (0, 1, 2))) == 4, "something new could still come"
    itself = replace(empty, nodes=(*empty.nodes[:3], node(3, replica_count=1)))
    assert places_to_keep(desired, itself) == 4, "it says that it has a replica"
    silent = replace(empty, nodes=(*empty.nodes[:3], replace(node(3), standing=None)))
    assert places_to_keep(desired, silent) == 4, "it says nothing"
    assert places_to_keep(desired, replace(empty, partitions=None)) == 4, "nobody knows"


def test_too_few_brokers_are_told_and_nothing_goes() -> None:
    observed = seen(3, (0, 1, 2), cordoned=(2,))

    made = plan_scale(Desired((pool(2, 3),)), observed)

    assert made.actions == ()
    assert "too few brokers" in made.blocked_by[1]


def test_a_broker_that_stays_after_all_takes_partitions_again() -> None:
    made = plan_scale(Desired((pool(3, 3),)), seen(3, (0, 1, 2), cordoned=(2,)))

    assert Cordon(2, is_cordoned=False) in made.actions


def test_only_a_fenced_stranger_of_ours_is_unregistered() -> None:
    observed = seen(3, (0, 1, 2))
    gone = {3: BrokerState(3, is_fenced=True), 4: BrokerState(4), 5000: BrokerState(5000, "", True)}
    observed = replace(observed, brokers={**(observed.brokers or {}), **gone})

    made = plan_scale(Desired((pool(3, 3),)), observed)

    assert [one for one in made.actions if isinstance(one, UnregisterBroker)] == [
        UnregisterBroker(3)
    ]


def test_a_broker_whose_pod_has_not_ended_is_not_unregistered_nor_is_all_settled() -> None:
    observed = seen(3, (0, 1, 2))
    gone = {**(observed.brokers or {}), 3: BrokerState(3, is_fenced=True)}
    ending = replace(observed, brokers=gone, leftover=("pod-3",))
    desired = Desired((pool(3, 3),))

    made = plan(desired, ending)

    assert made.actions == ()
    assert not made.is_settled
    assert plan(desired, replace(ending, leftover=())).actions == (UnregisterBroker(3),)


def test_a_new_broker_that_controllers_do_not_know_yet_is_waited_for() -> None:
    observed = replace(seen(4, (0, 1, 2)), spread_to=frozenset({0, 1, 2}))
    known = {one: state for one, state in (observed.brokers or {}).items() if one != 3}

    made = plan(Desired((pool(4, 4),)), replace(observed, brokers=known))

    assert made.actions == ()
    assert not made.is_settled


def test_a_new_broker_gets_its_share_once() -> None:
    held = [(0, 1, 2)] * 8
    observed = replace(seen(4, *held), spread_to=frozenset({0, 1, 2}))
    desired = Desired((pool(4, 4),))

    (reassign,) = plan_scale(desired, observed).actions
    assert isinstance(reassign, Reassign)
    assert len(reassign.moves) == 4, "it shares with the other one of its rack"
    assert all(3 in move.replicas for move in reassign.moves)

    after = {move.number: move.replicas for move in reassign.moves}
    moved = [after.get(number, one) for number, one in enumerate(held)]
    observed = replace(seen(4, *moved), spread_to=frozenset({0, 1, 2}))
    assert plan_scale(desired, observed).actions == (MarkSpread(frozenset({0, 1, 2, 3})),)


def test_a_voter_comes_when_it_has_caught_up() -> None:
    voters = (QuorumMember(1, b"a"),)
    behind = QuorumState(1, voters, (QuorumMember(2, b"b", is_caught_up=False),))
    wanted = frozenset({1, 2, 3})

    assert plan_voters(wanted, wanted, behind).action is None
    caught_up = replace(behind, observers=(QuorumMember(2, b"b"),))
    assert plan_voters(wanted, wanted, caught_up).action == AddVoter(2, b"b")


def test_a_voter_goes_only_if_a_majority_of_the_others_has_caught_up() -> None:
    voters = (
        QuorumMember(1, b"a"),
        QuorumMember(2, b"b", is_caught_up=False),
        QuorumMember(3, b"c"),
    )
    quorum = QuorumState(1, voters)
    known = frozenset({1, 2, 3})

    assert plan_voters(frozenset({1, 2}), known, quorum).action is None
    assert plan_voters(frozenset({1}), known, quorum).action == RemoveVoter(2, b"b")
    assert plan_voters(frozenset({1, 3}), known, quorum).action == RemoveVoter(2, b"b")


def test_a_stranger_among_the_voters_is_left_alone() -> None:
    quorum = QuorumState(1, (QuorumMember(1, b"a"), QuorumMember(9, b"x"), QuorumMember(2, b"b")))

    assert plan_voters(frozenset({1, 2}), frozenset({1, 2}), quorum).is_settled


def test_a_lost_disk_is_replaced_before_anything_else() -> None:
    voters = (QuorumMember(1, b"a"), QuorumMember(2, b"b"), QuorumMember(3, b"old", False))
    quorum = QuorumState(1, voters, (QuorumMember(3, b"new"),))
    ids = frozenset({1, 2, 3})

    assert plan_voters(ids, ids, quorum).action == RemoveVoter(3, b"old")
    without = replace(quorum, voters=voters[:2])
    assert plan_voters(ids, ids, without).action == AddVoter(3, b"new")


def test_a_former_self_among_the_observers_is_nobody() -> None:
    ids = frozenset({1, 2, 3})
    former = QuorumMember(3, b"old", is_caught_up=False)
    two = QuorumState(1, (QuorumMember(1, b"a"), QuorumMember(2, b"b")))

    joining = replace(two, observers=(former, QuorumMember(3, b"new")))
    assert plan_voters(ids, ids, joining).action == AddVoter(3, b"new")
    joined = replace(two, voters=(*two.voters, QuorumMember(3, b"new")), observers=(former,))
    assert plan_voters(ids, ids, joined).is_settled
    behind = QuorumMember(3, b"new", is_caught_up=False)
    restarting = replace(joined, voters=(*two.voters, behind))
    assert plan_voters(ids, ids, restarting).is_settled


def test_no_controller_restarts_while_voters_change() -> None:
    roles = frozenset({Role.CONTROLLER})
    pods = [PodState(f"pod-{one}", f"uid-{one}", "old") for one in (1, 2, 3)]
    nodes = tuple(
        NodeState(one, "controllers", one, roles, "new", pod, standing=Standing(True))
        for one, pod in enumerate(pods, 1)
    )
    voters = (QuorumMember(1, b"a"), QuorumMember(2, b"b"), QuorumMember(3, b"old", False))
    quorum = QuorumState(1, voters, (QuorumMember(3, b"new"),))
    desired = Desired((PoolWish("controllers", roles, 1, 3, 3, 1000),))

    assert plan(desired, Observed(nodes, quorum)).actions == (RemoveVoter(3, b"old"),)


def test_volumes_grow_and_never_shrink() -> None:
    small = ClaimState("small", requested_bytes=5, capacity_bytes=5, wanted_bytes=10)
    large = ClaimState("large", requested_bytes=50, capacity_bytes=50, wanted_bytes=10)

    assert plan_storage([small, large]) == (ExpandClaim("small", 10),)


def test_only_what_all_brokers_obey_while_they_run_is_set_so() -> None:
    dynamic, static = split_config(
        {"log.retention.ms": "1", "num.io.threads": "4", "log.dirs": "/x", "num.partitions": "3"}
    )

    assert "log.retention.ms" in dynamic
    assert static["log.dirs"] == "/x"
    assert "num.partitions" in static


def test_properties_that_are_not_named_are_reset_but_for_throttles() -> None:
    observed = {
        "log.retention.ms": "1",
        "log.segment.bytes": "5",
        "leader.replication.throttled.rate": "9",
        "min.insync.replicas": "2",
    }

    made = plan_dynamic_config({"log.retention.ms": "7", "log.segment.bytes": None}, observed)

    assert made == SetDynamicConfig({"log.retention.ms": "7"})
    assert plan_dynamic_config({}, {"log.retention.ms": "1"}) == SetDynamicConfig(
        {"log.retention.ms": None}
    )
    assert plan_dynamic_config({"log.retention.ms": "1"}, None) is None


def test_features_rise_after_the_binaries_and_never_fall() -> None:
    wanted = {"metadata.version": 25}

    assert plan_features(wanted, {"metadata.version": 20}, are_binaries_done=False) is None
    assert plan_features(wanted, {"metadata.version": 20}, are_binaries_done=True) == (
        UpdateFeatures(wanted)
    )
    assert plan_features(wanted, {"metadata.version": 27}, are_binaries_done=True) is None


def test_leaders_that_nobody_else_could_be_are_left_where_they_are() -> None:
    """Or a topic with one replica would keep the cluster from ever being settled."""
    observed = seen(3, (0,), (1, 0))
    nodes = tuple(replace(one, is_host_draining=one.node_id < 2) for one in observed.nodes)

    assert plan(Desired((pool(3, 3),)), replace(observed, nodes=nodes)).is_settled


def test_coordinators_that_are_given_up_stay_until_brokers_do_without_them() -> None:
    group = PoolWish("group", frozenset({Role.COORDINATOR}), 200, 0, 2, 300)
    observed = seen(3, (0, 1, 2))
    outdated = replace(observed.nodes[0], wanted_revision="next")

    assert places_to_keep(group, replace(observed, nodes=(outdated, *observed.nodes[1:]))) == 2
    assert places_to_keep(group, observed) == 0
    fewer = replace(group, replicas=1)
    assert places_to_keep(fewer, replace(observed, nodes=(outdated,))) == 1, "others take over"


def test_leaders_leave_a_host_that_is_to_go_and_do_not_come_back() -> None:
    observed = seen(3, (0, 1, 2), (1, 2, 0))
    draining = replace(observed, nodes=(node(0, is_host_draining=True), *observed.nodes[1:]))
    desired = Desired((pool(3, 3),))

    assert MoveLeaders(0) in plan(desired, draining).actions
    moved = tuple(replace(one, leader=1) for one in observed.partitions or ())
    assert plan(desired, replace(draining, partitions=moved)).actions == ()
    assert plan(desired, replace(observed, partitions=moved)).actions == (
        ElectPreferred((("t", 0),)),
    )


def test_paused_means_that_nothing_is_done() -> None:
    observed = replace(seen(4, (0, 1, 3)), claims=(ClaimState("c", 1, 1, 2),))
    desired = Desired((pool(3, 4),), dynamic_config={"log.retention.ms": "1"}, is_paused=True)

    made = plan(desired, observed)

    assert made.actions == ()
    assert made.replicas == {"brokers": 4}
