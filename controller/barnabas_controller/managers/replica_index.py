"""Which partitions each broker keeps, which have no leader, which are being moved.

Derived from the image: rebuilt when a controller becomes active, then kept up with every delta, and
thrown away when it resigns. Orders are those of insertion, so a simulation repeats.
"""

from typing import NamedTuple

from barnabas_core.metadata.partition_image import PartitionImage
from barnabas_core.metadata.topics_image import TopicsDelta, TopicsImage


class PartitionKey(NamedTuple):
    topic_id: bytes
    partition: int


class ReplicaIndex:
    def __init__(self, topics: TopicsImage) -> None:
        self._by_broker: dict[int, dict[PartitionKey, None]] = {}
        self._leaderless: dict[PartitionKey, None] = {}
        self._reassigning: dict[PartitionKey, None] = {}
        for topic in topics:
            for number, partition in topic.partitions.items():
                self._add(PartitionKey(topic.id, number), partition)

    def partitions_of(self, broker_id: int) -> list[PartitionKey]:
        """Those of which the broker is a replica, in or out of sync."""
        return list(self._by_broker.get(broker_id, ()))

    def leaderless(self) -> list[PartitionKey]:
        return list(self._leaderless)

    def reassigning(self) -> list[PartitionKey]:
        return list(self._reassigning)

    def update(self, delta: TopicsDelta, after: TopicsImage) -> None:
        """Follow a delta from `delta.base` to `after`."""
        for topic_id, topic in delta.deleted.items():
            for number, partition in topic.partitions.items():
                self._remove(PartitionKey(topic_id, number), partition)
        for topic_id, numbers in delta.changed.items():
            for number in numbers:
                key = PartitionKey(topic_id, number)
                old = delta.base.partition(topic_id, number)
                if old is not None:
                    self._remove(key, old)
                new = after.partition(topic_id, number)
                assert new is not None, key
                self._add(key, new)

    def _add(self, key: PartitionKey, partition: PartitionImage) -> None:
        for broker_id in partition.replicas:
            self._by_broker.setdefault(broker_id, {})[key] = None
        if not partition.has_leader:
            self._leaderless[key] = None
        if partition.is_reassigning:
            self._reassigning[key] = None

    def _remove(self, key: PartitionKey, partition: PartitionImage) -> None:
        for broker_id in partition.replicas:
            del self._by_broker[broker_id][key]
        self._leaderless.pop(key, None)
        self._reassigning.pop(key, None)
