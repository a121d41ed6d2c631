"""The two resources as Kubernetes knows them: names, columns, and what they are made of."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from barnabas_operator.api.cluster import CLUSTER_NAME_RULE, ClusterSpec
from barnabas_operator.api.facts import Rule
from barnabas_operator.api.status import (
    CLUSTER_CONDITIONS,
    TOPIC_CONDITIONS,
    ClusterStatus,
    TopicStatus,
)
from barnabas_operator.api.topic import TOPIC_NAME_RULE, TopicSpec

GROUP: Final = "barnabas.dev"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
CATEGORY: Final = "barnabas"


@dataclass(frozen=True, slots=True)
class Column:
    """Of `kubectl get`; those of priority 1 are shown with `-o wide`."""

    name: str
    path: str
    type: str = "string"
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Resource:
    kind: str
    plural: str
    short_name: str
    description: str
    spec: type
    status: type
    conditions: Mapping[str, str]
    columns: tuple[Column, ...]
    rules: tuple[Rule, ...]

    @property
    def singular(self) -> str:
        return self.kind.lower()

    @property
    def name(self) -> str:
        """Of its definition."""
        return f"{self.plural}.{GROUP}"


def _condition(name: str, part: str = "status") -> str:
    return f'.status.conditions[?(@.type=="{name}")].{part}'


# Columns of our own take away the usual one: Age is added again.
_AGE: Final = Column("Age", ".metadata.creationTimestamp", "date")

CLUSTER: Final = Resource(
    kind="KafkaCluster",
    plural="kafkaclusters",
    short_name="bkc",
    description="A cluster: controllers, brokers and coordinators, and where clients connect.",
    spec=ClusterSpec,
    status=ClusterStatus,
    conditions=CLUSTER_CONDITIONS,
    columns=(
        Column("Ready", _condition("Ready")),
        Column("Brokers", ".status.ready.brokers"),
        Column("Controllers", ".status.ready.controllers"),
        Column("Version", ".status.version"),
        Column("Stable", _condition("Stable")),
        Column("Status", _condition("Ready", "message"), priority=1),
        _AGE,
    ),
    rules=(CLUSTER_NAME_RULE,),
)

TOPIC: Final = Resource(
    kind="KafkaTopic",
    plural="kafkatopics",
    short_name="bkt",
    description="A topic of a cluster.",
    spec=TopicSpec,
    status=TopicStatus,
    conditions=TOPIC_CONDITIONS,
    columns=(
        Column("Cluster", ".spec.clusterRef.name"),
        Column("Partitions", ".status.partitions", "integer"),
        Column("Replicas", ".status.replicas", "integer"),
        Column("Ready", _condition("Ready")),
        Column("Status", _condition("Ready", "message"), priority=1),
        _AGE,
    ),
    rules=(TOPIC_NAME_RULE,),
)

RESOURCES: Final = (CLUSTER, TOPIC)
