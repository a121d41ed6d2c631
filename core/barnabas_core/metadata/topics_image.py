"""Topics by id and by name, and the delta that builds the next set of them.

A delta copies the tables once, however many records it replays, and a topic's partitions once each
time the topic is touched: an image that somebody holds never changes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from barnabas_core.metadata.keyed_image import differing
from barnabas_core.metadata.partition_image import PartitionImage
from barnabas_core.wire.messages.clear_elr_record import ClearElrRecord
from barnabas_core.wire.messages.partition_change_record import PartitionChangeRecord
from barnabas_core.wire.messages.partition_record import PartitionRecord
from barnabas_core.wire.messages.remove_topic_record import RemoveTopicRecord
from barnabas_core.wire.messages.topic_record import TopicRecord


@dataclass(frozen=True, slots=True)
class TopicImage:
    name: str
    id: bytes
    partitions: Mapping[int, PartitionImage] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TopicsImage:
    by_id: Mapping[bytes, TopicImage] = field(default_factory=dict)
    id_by_name: Mapping[str, bytes] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.by_id)

    def __iter__(self) -> Iterator[TopicImage]:
        return iter(self.by_id.values())

    def get(self, topic_id: bytes) -> TopicImage | None:
        return self.by_id.get(topic_id)

    def named(self, name: str) -> TopicImage | None:
        topic_id = self.id_by_name.get(name)
        return None if topic_id is None else self.by_id[topic_id]

    def partition(self, topic_id: bytes, partition: int) -> PartitionImage | None:
        topic = self.by_id.get(topic_id)
        return None if topic is None else topic.partitions.get(partition)


class TopicsDelta:
    __slots__ = ("_touched", "base", "changed", "deleted")

    def __init__(self, base: TopicsImage) -> None:
        self.base = base
        self._touched: dict[bytes, tuple[str, dict[int, PartitionImage]]] = {}
        self.changed: dict[bytes, dict[int, None]] = {}
        """Partitions created or changed, by topic id, in the order of their first change."""
        self.deleted: dict[bytes, TopicImage] = {}
        """Topics of the base that are gone."""

    @property
    def is_empty(self) -> bool:
        return not (self._touched or self.deleted)

    def replay_topic(self, record: TopicRecord) -> None:
        # A name that comes back after its removal is another topic, with another id.
        self._touched[record.topic_id] = (record.name, {})
        self.changed.setdefault(record.topic_id, {})

    def replay_partition(self, record: PartitionRecord) -> None:
        partitions = self._partitions(record.topic_id)
        partitions[record.partition_id] = PartitionImage.from_record(record)
        self.changed.setdefault(record.topic_id, {})[record.partition_id] = None

    def replay_partition_change(self, record: PartitionChangeRecord) -> None:
        partitions = self._partitions(record.topic_id)
        old = partitions[record.partition_id]
        partitions[record.partition_id] = old.merged(record)
        self.changed.setdefault(record.topic_id, {})[record.partition_id] = None

    def replay_remove_topic(self, record: RemoveTopicRecord) -> str:
        """The name of the topic that went."""
        topic_id = record.topic_id
        touched = self._touched.pop(topic_id, None)
        self.changed.pop(topic_id, None)
        old = self.base.by_id.get(topic_id)
        if old is None:
            assert touched is not None, f"removal of an unknown topic {topic_id.hex()}"
            return touched[0]
        assert topic_id not in self.deleted, f"second removal of topic {old.name}"
        self.deleted[topic_id] = old
        return old.name

    def replay_clear_elr(self, record: ClearElrRecord) -> None:
        """Of one topic, or of all where the record names none (KIP-966)."""
        for topic_id in self._ids_named(record.topic_name) if record.topic_name else self._ids():
            self._clear_elr(topic_id)

    def become(self, after: TopicsImage) -> None:
        for topic in self.base:
            if topic.id not in after.by_id:
                self.deleted[topic.id] = topic
        for topic in after:
            old = self.base.by_id.get(topic.id)
            if old != topic:
                before = {} if old is None else old.partitions
                self._touched[topic.id] = (topic.name, dict(topic.partitions))
                self.changed[topic.id] = differing(before, topic.partitions)

    def apply(self) -> TopicsImage:
        if self.is_empty:
            return self.base
        by_id = dict(self.base.by_id)
        for topic_id in self.deleted:
            del by_id[topic_id]
        for topic_id, (name, partitions) in self._touched.items():
            by_id[topic_id] = TopicImage(name, topic_id, partitions)
        return TopicsImage(by_id, self._names())

    def _names(self) -> Mapping[str, bytes]:
        created = {
            name: topic_id
            for topic_id, (name, _) in self._touched.items()
            if topic_id not in self.base.by_id
        }
        if not (created or self.deleted):
            return self.base.id_by_name
        names = dict(self.base.id_by_name)
        for topic in self.deleted.values():
            del names[topic.name]
        names.update(created)
        return names

    def _partitions(self, topic_id: bytes) -> dict[int, PartitionImage]:
        touched = self._touched.get(topic_id)
        if touched is None:
            assert topic_id not in self.deleted, f"a change to the removed topic {topic_id.hex()}"
            topic = self.base.by_id[topic_id]
            touched = self._touched[topic_id] = (topic.name, dict(topic.partitions))
        return touched[1]

    def _ids(self) -> list[bytes]:
        """Of all topics as they are by now."""
        kept = [topic_id for topic_id in self.base.by_id if topic_id not in self.deleted]
        return [*kept, *(each for each in self._touched if each not in self.base.by_id)]

    def _ids_named(self, name: str) -> list[bytes]:
        """Of the one topic of this name; the base may know another that is gone by now."""
        old = self.base.id_by_name.get(name)
        if old is not None and old not in self.deleted:
            return [old]
        return [topic_id for topic_id, (other, _) in self._touched.items() if other == name]

    def _clear_elr(self, topic_id: bytes) -> None:
        touched = self._touched.get(topic_id)
        partitions = self.base.by_id[topic_id].partitions if touched is None else touched[1]
        for number, partition in list(partitions.items()):
            if partition.eligible_leader_replicas or partition.last_known_elr:
                cleared = partition._replace(eligible_leader_replicas=(), last_known_elr=())
                self._partitions(topic_id)[number] = cleared
                self.changed.setdefault(topic_id, {})[number] = None
