"""The cluster's metadata while there is no quorum: one broker, its topics kept in memory.

Handlers see it as they will see the quorum's image: immutable `TopicImage`s by name and by id.
What is known after a restart is what the partition directories say: their names and topic ids.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from barnabas_broker.topic_name import collision_key


@dataclass(frozen=True, slots=True)
class BrokerNode:
    node_id: int
    host: str
    port: int
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class PartitionImage:
    leader_id: int
    """-1: nobody leads it."""
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline_replicas: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicImage:
    name: str
    topic_id: bytes
    partitions: tuple[PartitionImage, ...]


class MemoryMetadata:
    """One broker leads every partition, at epoch 0."""

    def __init__(self, cluster_id: str, node: BrokerNode) -> None:
        self.cluster_id = cluster_id
        self.node = node
        self._topics: dict[str, TopicImage] = {}
        self._by_id: dict[bytes, TopicImage] = {}
        self._collision_keys: dict[str, str] = {}

    @property
    def brokers(self) -> tuple[BrokerNode, ...]:
        return (self.node,)

    @property
    def controller_id(self) -> int:
        return self.node.node_id

    def topics(self) -> Iterable[TopicImage]:
        return self._topics.values()

    def topic(self, name: str) -> TopicImage | None:
        return self._topics.get(name)

    def topic_by_id(self, topic_id: bytes) -> TopicImage | None:
        return self._by_id.get(topic_id)

    def colliding(self, name: str) -> str | None:
        """The topic that keeps `name` from being created, if it is another one."""
        return self._collision_keys.get(collision_key(name))

    def add_topic(self, name: str, topic_id: bytes, partition_count: int) -> TopicImage:
        node_id = self.node.node_id
        partition = PartitionImage(node_id, 0, (node_id,), (node_id,))
        topic = TopicImage(name, topic_id, (partition,) * partition_count)
        self._put(topic)
        self._collision_keys[collision_key(name)] = name
        return topic

    def take_offline(self, name: str, index: int) -> None:
        """The directory of this partition failed: it has no leader any more."""
        topic = self._topics[name]
        partitions = list(topic.partitions)
        partitions[index] = replace(
            partitions[index], leader_id=-1, offline_replicas=(self.node.node_id,)
        )
        self._put(replace(topic, partitions=tuple(partitions)))

    def _put(self, topic: TopicImage) -> None:
        self._topics[topic.name] = topic
        self._by_id[topic.topic_id] = topic
