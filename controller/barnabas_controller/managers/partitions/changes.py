"""The changes to partitions that one decision makes, each seen by those after it.

A request may name a partition twice, or mean two things for it. The second change starts from what
the first made of the partition: the records of a decision are replayed in turn.
"""

from barnabas_controller.managers.partitions.change import Rules, Target, change_partition
from barnabas_controller.managers.partitions.surroundings import surroundings, topic_rules
from barnabas_controller.managers.replica_index import PartitionKey
from barnabas_controller.managers.view import View
from barnabas_core.metadata.partition_image import PartitionImage
from barnabas_core.wire.messages.partition_change_record import PartitionChangeRecord


class PartitionChanges:
    def __init__(self, view: View) -> None:
        self.view = view
        self.records: list[PartitionChangeRecord] = []
        self._changed: dict[PartitionKey, PartitionImage] = {}
        self._rules: dict[bytes, Rules] = {}

    def get(self, key: PartitionKey) -> PartitionImage | None:
        """The partition as the changes so far leave it."""
        return self._changed.get(key) or self.view.image.topics.partition(*key)

    def at(self, key: PartitionKey) -> PartitionImage:
        partition = self.get(key)
        assert partition is not None, key
        return partition

    def rules(self, key: PartitionKey) -> Rules:
        """Looked up once per topic: a broker that goes may have thousands of partitions."""
        rules = self._rules.get(key.topic_id)
        if rules is None:
            topic = self.view.image.topics.by_id[key.topic_id]
            rules = self._rules[key.topic_id] = topic_rules(self.view, topic.name)
        return rules

    @property
    def has_room(self) -> bool:
        """For one more record in a decision that somebody asked for."""
        return len(self.records) < self.view.settings.max_records_per_decision

    def change(
        self,
        key: PartitionKey,
        target: Target,
        *,
        without: int | None = None,
        including: int | None = None,
    ) -> PartitionChangeRecord | None:
        """The record, which is noted here too; None where nothing changes."""
        old = self.at(key)
        around = surroundings(self.view, old, without=without, including=including)
        record = change_partition(key, old, target, self.rules(key), around)
        if record is not None:
            self.records.append(record)
            self._changed[key] = old.merged(record)
        return record
