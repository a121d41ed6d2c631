"""What the operator says about a resource: conditions, and what clients and people look up.

Conditions are there from the first moment, as Unknown: the definitions have them as default, so
that `kubectl wait` and tools that deploy never take silence for health.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from barnabas_operator.api.facts import Facts, Rule, described

PENDING_REASON = "Pending"
PENDING_MESSAGE = "Waiting for the operator"
PENDING_TIME = "1970-01-01T00:00:00Z"


class ConditionStatus(StrEnum):
    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


CLUSTER_CONDITIONS: Mapping[str, str] = {
    "Ready": "Clients are served: a quorum, and every broker that should be there.",
    "Progressing": "Something is under way: a roll, a scaling, a move of replicas.",
    "QuorumHealthy": "The controllers have a leader, and a majority has caught up.",
    "ReplicasInSync": "Every replica of every partition is in sync.",
    "ConfigApplied": "spec.config is what the brokers run with.",
    "StorageReady": "Volumes are bound, and as large as the spec says.",
    "Degraded": "Something is broken that the operator cannot mend by itself.",
    "Paused": "The annotation barnabas.dev/paused keeps the operator from changing anything.",
    "Stable": "Ready, and nothing left to do for this generation: the one to wait for.",
}

TOPIC_CONDITIONS: Mapping[str, str] = {
    "Ready": "The topic is there and as the spec says.",
    "Synced": "Partitions and configs are those of the spec.",
    "Reassigning": "Replicas are being moved to reach spec.replicas.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One thing that holds, does not, or is not known."""

    type: str = described("Which.", length_max=316)
    status: ConditionStatus = described("Whether it holds.")
    reason: str = described(
        "Why, for programs.", length_max=1024, pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
    )
    message: str = described("Why, for people.", length_max=32768)
    last_transition_time: str = described("Since when.", date_time=True)
    observed_generation: int | None = described(
        "The generation that was looked at.", default=None, minimum=0
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolStatus:
    """The nodes of a broker pool, of the controllers (`controllers`) or of a coordinator role."""

    name: str = described("The pool.", length_max=63)
    role: str = described("broker, controller, combined or coordinator.", length_max=32)
    first_node_id: int = described(
        "Its node ids begin here, a range of 1000; given once.",
        minimum=0,
        rules=(Rule("self == oldSelf", "node ids are given once"),),
    )
    replicas: int = described("Pods that there are.", default=0, minimum=0)
    ready: int = described("Those that can do their work.", default=0, minimum=0)
    updated: int = described("Those with the newest revision.", default=0, minimum=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerStatus:
    """Where clients connect."""

    name: str = described("The listener.", length_max=63)
    type: str = described("Its type.", length_max=32)
    bootstrap_servers: str = described("What clients are given.", length_max=4096)


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutStatus:
    """The restart that is under way, written at every step."""

    revision: str = described("What the pods should become.", length_max=63)
    updated: int = described("Pods that are.", minimum=0)
    total: int = described("Pods in all.", minimum=0)
    current: tuple[str, ...] = described(
        "Pods that restart now.", default=(), items_max=500, item=Facts("", length_max=253)
    )
    blocked_by: tuple[str, ...] = described(
        "Why the next one has to wait.", default=(), items_max=32, item=Facts("", length_max=1024)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class VoterStatus:
    """A controller as the quorum's leader sees it."""

    node_id: int = described("The controller.", minimum=0)
    lag: int = described("Metadata records that it does not have yet; -1: never heard of.")
    is_leader: bool = described("Whether it leads.", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicationStatus:
    """How far replicas are from where they should be."""

    partitions: int = described("Partitions of the cluster.", default=0, minimum=0)
    under_replicated: int = described(
        "Those with a replica that is not in sync.", default=0, minimum=0
    )
    under_min_isr: int = described("Those that refuse acks=all.", default=0, minimum=0)
    offline: int = described("Those that nobody leads.", default=0, minimum=0)
    moving: int = described("Those whose replicas are being moved.", default=0, minimum=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyCounts:
    """Ready and wanted, such as 3/3, for the columns of `kubectl get`."""

    brokers: str | None = described("Of all pools.", default=None, length_max=16)
    controllers: str | None = described("Of the quorum.", default=None, length_max=16)
    coordinators: str | None = described("Of all roles.", default=None, length_max=16)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterStatus:
    """What a cluster is."""

    observed_generation: int | None = described(
        "The generation that this status is about.", default=None, minimum=0
    )
    conditions: tuple[Condition, ...] = described(
        "What holds.", default=(), items_max=32, key="type"
    )
    cluster_id: str | None = described(
        "Kafka's id of the cluster, made once.",
        default=None,
        length_max=64,
        rules=(Rule("self == oldSelf", "a cluster's id is made once"),),
    )
    initial_controllers: tuple[int, ...] = described(
        "Node ids of the controllers that start the quorum together, fixed before the first runs.",
        default=(),
        items_max=9,
        rules=(Rule("self == oldSelf", "the first controllers are chosen once"),),
    )
    quorum_formed: bool = described(
        "The first controllers have found each other: from now on an empty disk joins, and never"
        " starts a quorum.",
        default=False,
        rules=(Rule("self || !oldSelf", "a quorum is formed once"),),
    )
    version: str | None = described("What all pods run.", default=None, length_max=127)
    metadata_version: str | None = described(
        "The finalized metadata.version.", default=None, length_max=63
    )
    operator_version: str | None = described(
        "The operator that last looked.", default=None, length_max=127
    )
    listeners: tuple[ListenerStatus, ...] = described(
        "Where clients connect.", default=(), items_max=8, key="name"
    )
    pools: tuple[PoolStatus, ...] = described("The nodes.", default=(), items_max=64, key="name")
    ready: ReadyCounts | None = described("Ready and wanted.", default=None)
    voters: tuple[VoterStatus, ...] = described(
        "The quorum.", default=(), items_max=16, key="nodeId"
    )
    replication: ReplicationStatus | None = described("Replicas.", default=None)
    rollout: RolloutStatus | None = described("The restart under way.", default=None)
    spread_to: tuple[int, ...] = described(
        "Brokers that got their share of the replicas that were there when they came.",
        default=(),
        items_max=8000,
    )

    RULES = (
        Rule("!has(oldSelf.clusterId) || has(self.clusterId)", "a cluster's id is never forgotten"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicStatus:
    """What a topic is."""

    observed_generation: int | None = described(
        "The generation that this status is about.", default=None, minimum=0
    )
    conditions: tuple[Condition, ...] = described(
        "What holds.", default=(), items_max=16, key="type"
    )
    topic_name: str | None = described("Kafka's name of it.", default=None, length_max=249)
    topic_id: str | None = described("Kafka's id of it.", default=None, length_max=64)
    partitions: int | None = described("Partitions that there are.", default=None, minimum=0)
    replicas: int | None = described("Replicas of each.", default=None, minimum=0)


def pending_conditions(known: Mapping[str, str]) -> list[dict[str, str]]:
    """Of a resource that no operator has seen."""
    return [
        {
            "type": name,
            "status": ConditionStatus.UNKNOWN.value,
            "reason": PENDING_REASON,
            "message": PENDING_MESSAGE,
            "lastTransitionTime": PENDING_TIME,
        }
        for name in known
    ]
