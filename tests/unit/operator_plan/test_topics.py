"""What becomes of a KafkaTopic."""

from dataclasses import replace

import pytest

from barnabas_operator.plan.observed import BrokerState, PartitionState
from barnabas_operator.plan.topic_state import (
    AddPartitions,
    AlterTopicConfig,
    ClusterStanding,
    CreateTopic,
    DeleteTopic,
    MoveReplicas,
    Reason,
    TopicState,
    TopicWish,
    Verdict,
)
from barnabas_operator.plan.topics import DELETION_MS_MAX, owners, plan_topic

BROKERS = {one: BrokerState(one, rack=f"r{one % 3}") for one in range(4)}
WISH = TopicWish("apps", "orders", "uid-1", "2026-01-01T00:00:00Z", "orders", has_finalizer=True)


def topic(count: int, *replicas: int, moving: bool = False, **config: str) -> TopicState:
    partitions = tuple(
        PartitionState("orders", number, replicas, replicas, replicas[0], moving)
        for number in range(count)
    )
    return TopicState(partitions, {name.replace("_", "."): one for name, one in config.items()})


def judge(
    wish: TopicWish,
    seen: TopicState | None,
    standing: ClusterStanding = ClusterStanding.THERE,
    owner: TopicWish | None = None,
) -> Verdict:
    return plan_topic(wish, owner or wish, standing, seen, BROKERS)


def test_a_topic_that_is_not_there_is_created() -> None:
    wish = replace(WISH, partitions=3, replicas=2, config={"retention.ms": "1", "segment.ms": None})

    verdict = judge(wish, None)

    assert verdict.actions == (CreateTopic("orders", 3, 2, {"retention.ms": "1"}),)
    assert verdict.reason is Reason.CREATING
    assert not verdict.is_ready


def test_a_topic_as_asked_for_is_left_alone() -> None:
    wish = replace(WISH, partitions=3, replicas=2, config={"retention.ms": "1"})

    verdict = judge(wish, topic(3, 0, 1, retention_ms="1"))

    assert verdict.is_ready
    assert not verdict.actions


def test_what_is_not_named_is_reset_and_what_is_null_is_left() -> None:
    wish = replace(WISH, config={"retention.ms": "1", "segment.ms": None})

    verdict = judge(wish, topic(1, 0, retention_ms="2", segment_ms="7", cleanup_policy="compact"))

    changes = {"retention.ms": "1", "cleanup.policy": None}
    assert verdict.actions == (AlterTopicConfig("orders", changes),)


def test_partitions_become_more_and_never_fewer() -> None:
    assert judge(replace(WISH, partitions=5), topic(3, 0)).actions == (AddPartitions("orders", 5),)

    refused = judge(replace(WISH, partitions=2), topic(3, 0))

    assert not refused.actions
    assert refused.reason is Reason.PARTITIONS_REFUSED
    assert refused.is_final


def test_a_refused_decrease_does_not_keep_configs_from_being_set() -> None:
    wish = replace(WISH, partitions=2, config={"retention.ms": "1"})

    verdict = judge(wish, topic(3, 0))

    assert verdict.reason is Reason.PARTITIONS_REFUSED
    assert verdict.actions == (AlterTopicConfig("orders", {"retention.ms": "1"}),)


def test_more_replicas_come_in_racks_without_any() -> None:
    verdict = judge(replace(WISH, replicas=3), topic(2, 0, 3))

    (move,) = verdict.actions
    assert isinstance(move, MoveReplicas)
    assert move.replicas == {0: (0, 3, 1), 1: (0, 3, 2)}
    assert verdict.reason is Reason.REASSIGNING


def test_with_fewer_replicas_the_leader_and_those_in_sync_stay() -> None:
    seen = TopicState((PartitionState("orders", 0, (0, 1, 2), (1, 2), 2),), {})

    verdict = judge(replace(WISH, replicas=2), seen)

    assert verdict.actions == (MoveReplicas("orders", {0: (1, 2)}),)


def test_a_move_under_way_is_waited_for() -> None:
    verdict = judge(replace(WISH, replicas=3), topic(2, 0, 1, moving=True))

    assert not verdict.actions
    assert verdict.reason is Reason.REASSIGNING


def test_more_replicas_than_brokers_are_refused() -> None:
    verdict = judge(replace(WISH, replicas=5), topic(1, 0))

    assert verdict.reason is Reason.REPLICAS_REFUSED
    assert not verdict.actions


def test_replicas_are_not_added_on_brokers_that_are_about_to_go() -> None:
    leaving = {**BROKERS, 1: replace(BROKERS[1], is_cordoned=True)}

    def asked(replicas: int) -> Verdict:
        wish = replace(WISH, replicas=replicas)
        return plan_topic(wish, wish, ClusterStanding.THERE, topic(1, 0), leaving)

    assert asked(3).actions == (MoveReplicas("orders", {0: (0, 2, 3)}),)
    assert asked(4).reason is Reason.REPLICAS_REFUSED


def test_the_oldest_of_two_has_the_name() -> None:
    younger = replace(WISH, namespace="other", uid="uid-2", created_at="2026-02-01T00:00:00Z")
    first = owners([younger, WISH])["orders"]

    assert first is WISH
    verdict = judge(replace(younger, partitions=9), topic(1, 0), owner=first)
    assert verdict.reason is Reason.CONFLICT
    assert "apps/orders" in verdict.message
    assert not verdict.actions


def test_one_that_lost_the_name_does_not_delete_the_topic() -> None:
    loser = replace(WISH, uid="uid-2", is_deleting=True)

    verdict = judge(loser, topic(1, 0), owner=WISH)

    assert verdict.drops_finalizer
    assert not verdict.actions


@pytest.mark.parametrize(
    ("standing", "reason"),
    [
        (ClusterStanding.GONE, Reason.CLUSTER_GONE),
        (ClusterStanding.FORBIDDEN, Reason.FORBIDDEN),
        (ClusterStanding.UNREACHABLE, Reason.UNREACHABLE),
    ],
)
def test_without_its_cluster_nothing_is_done(standing: ClusterStanding, reason: Reason) -> None:
    verdict = judge(replace(WISH, partitions=3), None, standing)

    assert verdict.reason is reason
    assert not verdict.actions
    assert not verdict.is_ready


def test_a_deleted_resource_takes_its_topic_along() -> None:
    going = replace(WISH, is_deleting=True)

    assert judge(going, topic(1, 0)).actions == (DeleteTopic("orders"),)
    assert not judge(going, topic(1, 0)).drops_finalizer
    assert judge(going, None).drops_finalizer


@pytest.mark.parametrize("standing", [ClusterStanding.GONE, ClusterStanding.FORBIDDEN])
def test_a_finalizer_never_outlives_the_cluster(standing: ClusterStanding) -> None:
    verdict = judge(replace(WISH, is_deleting=True), None, standing)

    assert verdict.drops_finalizer
    assert not verdict.actions


def test_a_cluster_that_does_not_answer_is_waited_for() -> None:
    verdict = judge(replace(WISH, is_deleting=True), None, ClusterStanding.UNREACHABLE)

    assert not verdict.drops_finalizer


@pytest.mark.parametrize("standing", [ClusterStanding.UNREACHABLE, ClusterStanding.THERE])
def test_a_topic_that_cannot_be_deleted_does_not_hold_up_its_namespace(
    standing: ClusterStanding,
) -> None:
    going = replace(WISH, is_deleting=True, deleting_ms=DELETION_MS_MAX - 1)
    assert not judge(going, topic(1, 0), standing).drops_finalizer

    verdict = judge(replace(going, deleting_ms=DELETION_MS_MAX), topic(1, 0), standing)

    assert verdict.drops_finalizer
    assert verdict.message == "the topic is left: the cluster has not deleted it in time"


def test_a_topic_that_is_retained_needs_no_finalizer() -> None:
    kept = replace(WISH, deletes=False)

    assert judge(kept, topic(1, 0)).drops_finalizer
    assert not judge(replace(kept, has_finalizer=False), topic(1, 0)).wants_finalizer
    assert judge(replace(WISH, has_finalizer=False), None).wants_finalizer
    assert judge(replace(kept, is_deleting=True), topic(1, 0)).drops_finalizer


def test_a_config_that_cannot_be_is_refused_by_name() -> None:
    verdict = judge(replace(WISH, config={"retention.ms": "long"}), topic(1, 0))

    assert verdict.reason is Reason.CONFIG_REFUSED
    assert "retention.ms" in verdict.message
    assert not verdict.actions
