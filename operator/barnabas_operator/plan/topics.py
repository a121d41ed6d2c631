"""KafkaTopics become topics: one verdict for each resource, and actions that the caller batches.

The resource names what it wants; what it does not name goes back to the default. What the cluster
cannot do is refused in a condition. A finalizer is only there where a topic has to go with its
resource, never outlives the cluster, and is dropped after five minutes in which the cluster did not
delete the topic: deleting a namespace does not need brokers.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from barnabas_core.config.definition import Kind, definition
from barnabas_core.config.error import ConfigError
from barnabas_operator.plan.observed import BrokerState
from barnabas_operator.plan.replication import resize_replicas
from barnabas_operator.plan.topic_state import (
    AddPartitions,
    AlterTopicConfig,
    ClusterStanding,
    CreateTopic,
    DeleteTopic,
    MoveReplicas,
    Reason,
    TopicAction,
    TopicState,
    TopicWish,
    Verdict,
)

DELETION_MS_MAX: Final = 300_000
"""How long a resource waits for its topic to go."""
TOPIC_LEFT: Final = "the topic is left"
_STANDINGS: Mapping[ClusterStanding, Verdict] = {
    ClusterStanding.GONE: Verdict(False, Reason.CLUSTER_GONE, "there is no such KafkaCluster"),
    ClusterStanding.FORBIDDEN: Verdict(
        False,
        Reason.FORBIDDEN,
        "the cluster takes no topics from this namespace (its spec.allowedNamespaces)",
        is_final=True,
    ),
    ClusterStanding.UNREACHABLE: Verdict(
        False, Reason.UNREACHABLE, "the cluster does not answer at present"
    ),
}


def owners(wishes: Iterable[TopicWish]) -> dict[str, TopicWish]:
    """Of each topic of a cluster the resource that counts: the oldest."""
    first: dict[str, TopicWish] = {}
    for wish in sorted(wishes, key=lambda one: one.age_key):
        first.setdefault(wish.topic, wish)
    return first


def plan_topic(
    wish: TopicWish,
    owner: TopicWish,
    standing: ClusterStanding,
    topic: TopicState | None,
    brokers: Mapping[int, BrokerState],
) -> Verdict:
    if wish.is_deleting:
        return _deleting(wish, owner, standing, topic)
    if standing is not ClusterStanding.THERE:
        return _STANDINGS[standing]
    if owner.uid != wish.uid:
        message = f"{owner.namespace}/{owner.name} is older and has the topic {wish.topic}"
        return Verdict(False, Reason.CONFLICT, message, drops_finalizer=wish.has_finalizer)
    verdict = _wrong_config(wish) or _present(wish, topic, brokers)
    return replace(
        verdict,
        wants_finalizer=wish.deletes and not wish.has_finalizer,
        drops_finalizer=wish.has_finalizer and not wish.deletes,
    )


def _deleting(
    wish: TopicWish, owner: TopicWish, standing: ClusterStanding, topic: TopicState | None
) -> Verdict:
    goes_with_it = wish.deletes and wish.has_finalizer and owner.uid == wish.uid
    if not goes_with_it or standing in (ClusterStanding.GONE, ClusterStanding.FORBIDDEN):
        return Verdict(False, Reason.DELETING, TOPIC_LEFT, drops_finalizer=True)
    if standing is ClusterStanding.THERE and topic is None:
        return Verdict(False, Reason.DELETING, "the topic is gone", drops_finalizer=True)
    if wish.deleting_ms >= DELETION_MS_MAX:
        # A cluster that is broken, or that deletes no topics, must not hold up a whole namespace.
        message = f"{TOPIC_LEFT}: the cluster has not deleted it in time"
        return Verdict(False, Reason.DELETING, message, drops_finalizer=True)
    if standing is ClusterStanding.UNREACHABLE:
        return Verdict(False, Reason.UNREACHABLE, "waits for the cluster to delete the topic")
    return Verdict(False, Reason.DELETING, "the topic goes", (DeleteTopic(wish.topic),))


def _wrong_config(wish: TopicWish) -> Verdict | None:
    for name, value in wish.config.items():
        if value is None:
            continue
        try:
            definition(Kind.TOPIC, name).parse(value)
        except ConfigError as error:
            message = f"spec.config: {error}"
            return Verdict(False, Reason.CONFIG_REFUSED, message, is_final=True)
    return None


def _present(
    wish: TopicWish, topic: TopicState | None, brokers: Mapping[int, BrokerState]
) -> Verdict:
    if topic is None:
        config = {name: value for name, value in wish.config.items() if value is not None}
        create = CreateTopic(wish.topic, wish.partitions, wish.replicas, config)
        return Verdict(False, Reason.CREATING, "the topic is created", (create,))
    actions: list[TopicAction] = [*_config_drift(wish, topic)]
    refusal = None
    have = len(topic.partitions)
    if wish.partitions is not None and wish.partitions > have:
        actions.append(AddPartitions(wish.topic, wish.partitions))
    elif wish.partitions is not None and wish.partitions < have:
        message = f"spec.partitions: the topic has {have} partitions, and they never become fewer"
        refusal = Verdict(False, Reason.PARTITIONS_REFUSED, message, is_final=True)
    else:
        moves = _replication(wish, topic, brokers)
        refusal = moves if isinstance(moves, Verdict) else None
        actions += moves if isinstance(moves, list) else []
    if refusal is not None:
        return replace(refusal, actions=tuple(actions) + refusal.actions)
    if actions:
        return Verdict(False, Reason.UPDATING, "the topic is brought up to date", tuple(actions))
    return Verdict(True, Reason.SYNCED, "the topic is as asked for")


def _config_drift(wish: TopicWish, topic: TopicState) -> Iterable[AlterTopicConfig]:
    changes: dict[str, str | None] = {
        name: value
        for name, value in sorted(wish.config.items())
        if value is not None and topic.config.get(name) != value
    }
    changes |= dict.fromkeys(sorted(topic.config.keys() - wish.config.keys()))
    if changes:
        yield AlterTopicConfig(wish.topic, changes)


def _replication(
    wish: TopicWish, topic: TopicState, brokers: Mapping[int, BrokerState]
) -> list[TopicAction] | Verdict:
    moving = sum(one.is_moving for one in topic.partitions)
    if moving:
        message = f"{moving} of {len(topic.partitions)} partitions are being reassigned"
        return Verdict(False, Reason.REASSIGNING, message)
    wrong = [one for one in topic.partitions if len(one.replicas) != wish.replicas]
    if wish.replicas is None or not wrong:
        return []
    usable = sum(one.takes_replicas for one in brokers.values())
    if wish.replicas > usable:
        message = f"spec.replicas: {wish.replicas} replicas on {usable} brokers"
        return Verdict(False, Reason.REPLICAS_REFUSED, message)
    moves = resize_replicas(wrong, wish.replicas, brokers)
    message = f"{len(moves)} of {len(topic.partitions)} partitions are being reassigned"
    action = MoveReplicas(wish.topic, moves)
    return Verdict(False, Reason.REASSIGNING, message, (action,))
