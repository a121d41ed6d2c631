"""A KafkaTopic as asked for, and a topic as it is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from barnabas_operator.plan.actions import Move
from barnabas_operator.plan.observed import PartitionState


@dataclass(frozen=True, slots=True)
class TopicWish:
    namespace: str
    name: str
    """Of the resource."""
    uid: str
    created_at: str
    """As Kubernetes writes it: it sorts by time."""
    topic: str
    partitions: int | None = None
    """None: whatever there is, or the brokers' default."""
    replicas: int | None = None
    config: Mapping[str, str | None] = field(default_factory=dict)
    """None: left as it is."""
    deletes: bool = True
    """The topic goes with its resource (`deletionPolicy: Delete`)."""
    is_deleting: bool = False
    deleting_ms: int = 0
    """For how long."""
    has_finalizer: bool = False

    @property
    def age_key(self) -> tuple[str, str]:
        return self.created_at, self.uid


@dataclass(frozen=True, slots=True)
class TopicState:
    partitions: tuple[PartitionState, ...]
    config: Mapping[str, str]
    """What is set for it, without defaults."""


class ClusterStanding(StrEnum):
    """Of the cluster that a topic refers to."""

    THERE = "there"
    UNREACHABLE = "unreachable"
    FORBIDDEN = "forbidden"
    """It is there and does not take topics from this namespace."""
    GONE = "gone"
    """Not there, or on its way out: nobody will delete the topic, nor needs to."""


class Reason(StrEnum):
    """Of a topic's Ready condition."""

    SYNCED = "Synced"
    CREATING = "Creating"
    UPDATING = "Updating"
    REASSIGNING = "Reassigning"
    CONFLICT = "NameConflict"
    PARTITIONS_REFUSED = "PartitionDecreaseRefused"
    REPLICAS_REFUSED = "TooFewBrokers"
    CONFIG_REFUSED = "ConfigRefused"
    REFUSED = "RefusedByCluster"
    FORBIDDEN = "NamespaceNotAllowed"
    CLUSTER_GONE = "ClusterNotFound"
    UNREACHABLE = "ClusterUnreachable"
    DELETING = "Deleting"


@dataclass(frozen=True, slots=True)
class CreateTopic:
    topic: str
    partitions: int | None
    replicas: int | None
    config: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class AddPartitions:
    topic: str
    count: int


@dataclass(frozen=True, slots=True)
class AlterTopicConfig:
    topic: str
    changes: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class DeleteTopic:
    topic: str


@dataclass(frozen=True, slots=True)
class MoveReplicas:
    """To another number of replicas: every partition with its new list."""

    topic: str
    replicas: Mapping[int, tuple[int, ...]]

    @property
    def moves(self) -> tuple[Move, ...]:
        return tuple(Move(self.topic, number, ids) for number, ids in self.replicas.items())


TopicAction = CreateTopic | AddPartitions | AlterTopicConfig | DeleteTopic | MoveReplicas


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one resource is told, and what is done for it."""

    is_ready: bool
    reason: Reason
    message: str
    actions: tuple[TopicAction, ...] = ()
    drops_finalizer: bool = False
    wants_finalizer: bool = False
    is_final: bool = False
    """Nothing will change it but a change of the resource."""
