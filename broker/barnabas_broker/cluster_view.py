"""The cluster as clients of this broker are shown it: the image, through one of its listeners."""

from collections.abc import Iterator
from typing import NamedTuple

from barnabas_core.metadata.cluster_image import BrokerImage
from barnabas_core.metadata.image import EMPTY_IMAGE, Image
from barnabas_core.metadata.partition_image import PartitionImage
from barnabas_core.metadata.topics_image import TopicImage


class BrokerNode(NamedTuple):
    node_id: int
    host: str
    port: int
    rack: str | None


class ClusterView:
    """Always the newest image that this broker has applied."""

    def __init__(self, cluster_id: str, node_id: int) -> None:
        self.cluster_id = cluster_id
        self.node_id = node_id
        self.image: Image = EMPTY_IMAGE
        self.kraft_version = 0

    def topics(self) -> Iterator[TopicImage]:
        return iter(self.image.topics)

    def topic(self, name: str) -> TopicImage | None:
        return self.image.topics.named(name)

    def topic_by_id(self, topic_id: bytes) -> TopicImage | None:
        return self.image.topics.get(topic_id)

    def partition(self, topic: str, index: int) -> PartitionImage | None:
        image = self.image.topics.named(topic)
        return None if image is None else image.partitions.get(index)

    def nodes(self, listener: str) -> list[BrokerNode]:
        """The live brokers that have this listener, by id."""
        brokers = self.image.cluster.brokers
        found = (self._node(brokers[broker_id], listener) for broker_id in sorted(brokers))
        return [node for node in found if node is not None]

    def node(self, broker_id: int, listener: str) -> BrokerNode | None:
        broker = self.image.cluster.brokers.get(broker_id)
        return None if broker is None else self._node(broker, listener)

    def has_listener(self, broker_id: int, listener: str) -> bool:
        """Whether clients of a listener can reach that broker, if it is up."""
        broker = self.image.cluster.brokers.get(broker_id)
        return broker is not None and broker.listener(listener) is not None

    def _node(self, broker: BrokerImage, listener: str) -> BrokerNode | None:
        at = broker.listener(listener)
        if at is None or broker.is_fenced:
            return None
        return BrokerNode(broker.id, at.host, at.port, broker.rack)

    @property
    def controller_id(self) -> int:
        """Any live broker: it forwards what is for the controller, which clients cannot reach."""
        brokers = self.image.cluster.brokers
        live = [broker_id for broker_id in sorted(brokers) if not brokers[broker_id].is_fenced]
        return self.node_id if self.node_id in live or not live else live[0]

    def offline_replicas(self, partition: PartitionImage) -> list[int]:
        """Those whose broker is not live, or whose directory is lost."""
        brokers = self.image.cluster.brokers
        offline = []
        for broker_id, directory in zip(partition.replicas, partition.directories, strict=True):
            broker = brokers.get(broker_id)
            if broker is None or broker.is_fenced or not broker.has_online_dir(directory):
                offline.append(broker_id)
        return offline
