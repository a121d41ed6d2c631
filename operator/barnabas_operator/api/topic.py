"""`KafkaTopic`: a topic of a cluster, from any namespace that the cluster lets in."""

from collections.abc import Mapping
from dataclasses import dataclass

from barnabas_operator.api.facts import ConfigValue, Rule, described
from barnabas_operator.api.pod import DeletionPolicy

TOPIC_LENGTH = 249


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRef:
    """A `KafkaCluster`."""

    name: str = described("Its name.", length_max=32)
    namespace: str | None = described(
        "Its namespace; without it the topic's own. The cluster lists the others that may"
        " (allowedNamespaces).",
        default=None,
        length_max=63,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSpec:
    """What a topic should be. What is left out is left to the cluster."""

    cluster_ref: ClusterRef = described(
        "The cluster.",
        rules=(Rule("self == oldSelf", "clusterRef cannot be changed: a topic does not move"),),
    )
    topic_name: str | None = described(
        "Kafka's name of it; without it the name of the resource.",
        default=None,
        pattern=r"^[a-zA-Z0-9._-]+$",
        length_max=TOPIC_LENGTH,
        rules=(
            Rule("!(self in ['.', '..'])", "a topic cannot be called . or .."),
            Rule(
                "!self.startsWith('__')",
                "topics whose names begin with __ are the cluster's own",
            ),
        ),
    )
    partitions: int | None = described(
        "How many; they can become more, never fewer. Without it the cluster's num.partitions.",
        default=None,
        minimum=1,
        maximum=100_000,
        rules=(Rule("self >= oldSelf", "partitions cannot become fewer"),),
    )
    replicas: int | None = described(
        "Replicas of each partition; a change moves replicas while the topic is in use. Without"
        " it the cluster's default.replication.factor.",
        default=None,
        minimum=1,
        maximum=100,
    )
    config: Mapping[str, ConfigValue] = described(
        "Kafka's topic configs by Kafka's names. null leaves one alone: whoever else sets it"
        " keeps it.",
        default={},
        items_max=64,
    )
    deletion_policy: DeletionPolicy | None = described(
        "What becomes of the topic when the resource is deleted; without it Delete.", default=None
    )

    RULES = (
        Rule(
            "has(self.topicName) == has(oldSelf.topicName)"
            " && (!has(self.topicName) || self.topicName == oldSelf.topicName)",
            "topicName cannot be changed: a topic cannot be renamed",
        ),
        Rule(
            "!has(oldSelf.partitions) || has(self.partitions)",
            "partitions cannot be left out once they were set",
        ),
    )

    @property
    def keeps_topic(self) -> bool:
        return self.deletion_policy is DeletionPolicy.RETAIN


TOPIC_NAME_RULE = Rule(
    "has(self.spec.topicName) || size(self.metadata.name) <= 249",
    "a topic's name has at most 249 characters: set spec.topicName",
)
