"""What clients asked for and what they were told, against what is committed.

An answer is a promise: what it says was done is committed by then, and stays. A call that failed
for certain has done nothing, ever. Of the others nobody knows, but nothing happens twice.
"""

from dataclasses import dataclass, field

from barnabas_core.metadata.keyed_image import TOPIC_RESOURCE, ConfigResource
from barnabas_core.wire.messages.config_record import ConfigRecord
from barnabas_core.wire.messages.partition_change_record import PartitionChangeRecord
from barnabas_core.wire.messages.producer_ids_record import ProducerIdsRecord
from barnabas_core.wire.messages.register_broker_record import RegisterBrokerRecord
from barnabas_core.wire.messages.remove_topic_record import RemoveTopicRecord
from barnabas_core.wire.messages.topic_record import TopicRecord
from barnabas_core.wire.schema import Message
from tests.sim.controller_truth import Truth
from tests.sim.invariant import check


@dataclass(slots=True)
class LedgerCount:
    created: int = 0
    deleted: int = 0
    configured: int = 0
    producer_id_blocks: int = 0
    registrations: int = 0
    isr_changes: int = 0
    voter_changes: int = 0
    unknown: int = 0
    """Calls of which nobody knows whether they were carried out."""


@dataclass(slots=True)
class TopicEntry:
    """All that was ever asked for one topic; a name is created once and deleted once."""

    topic_id: bytes | None = None
    """As committed."""
    refusal: str | None = None
    """Why its client was told that it is not created."""
    is_deletion_asked: bool = False
    deletion_refusal: str | None = None
    is_deleted: bool = False
    config_values: dict[str, bool] = field(default_factory=dict)
    """Asked for, and whether that was refused."""


class Ledger:
    def __init__(self, truth: Truth) -> None:
        self.count = LedgerCount()
        self._truth = truth
        self._topics: dict[str, TopicEntry] = {}
        self._names: dict[bytes, str] = {}
        self._blocks: dict[int, int] = {}
        self._block_requests = 0
        self._block_records = 0
        self._broker_epochs: dict[int, int] = {}
        self._partition_epochs: dict[tuple[bytes, int], tuple[int, int]] = {}
        truth.on_record = self._on_record

    # --- topics

    def create_asked(self, name: str) -> None:
        assert name not in self._topics, "names are used once"
        self._topics[name] = TopicEntry()

    def create_refused(self, name: str, why: object) -> None:
        entry = self._topics[name]
        entry.refusal = str(why)
        check(entry.topic_id is None, name, "was created, but its client was told", why)

    def create_done(self, name: str, topic_id: bytes) -> None:
        self.count.created += 1
        committed = self._truth.image.topics.id_by_name.get(name)
        check(committed == topic_id, name, "was acknowledged, and is not committed", committed)

    def delete_asked(self, name: str) -> None:
        self._topics[name].is_deletion_asked = True

    def delete_refused(self, name: str, why: object) -> None:
        entry = self._topics[name]
        entry.deletion_refusal = str(why)
        check(not entry.is_deleted, name, "was deleted, but its client was told", why)

    def delete_done(self, name: str) -> None:
        self.count.deleted += 1
        check(self._topics[name].is_deleted, "the end of", name, "is acknowledged, not committed")

    def config_asked(self, name: str, value: str) -> None:
        self._topics[name].config_values[value] = False

    def config_refused(self, name: str, value: str, why: object) -> None:
        self._topics[name].config_values[value] = True
        check(self._config(name) != value, name, value, "was set, but its client was told", why)

    def config_done(self, name: str, value: str) -> None:
        self.count.configured += 1
        check(self._config(name) == value, name, value, "is acknowledged, not committed")

    def _config(self, name: str) -> str | None:
        values = self._truth.image.configs.get(ConfigResource(TOPIC_RESOURCE, name), {})
        return values.get("retention.ms")

    # --- producer ids, brokers

    def block_asked(self) -> None:
        self._block_requests += 1

    def block_refused(self) -> None:
        self._block_requests -= 1

    def block_done(self, start: int, length: int) -> None:
        self.count.producer_id_blocks += 1
        check(length > 0, "a block of no producer ids")
        for first, count in self._blocks.items():
            is_apart = start + length <= first or first + count <= start
            check(is_apart, "producer ids handed out twice:", start, length, first, count)
        self._blocks[start] = length
        committed = self._truth.image.next_producer_id
        check(start + length <= committed, "producer ids handed out and not committed:", start)

    def registered(self, broker_id: int, epoch: int) -> None:
        self.count.registrations += 1
        known = self._broker_epochs.get(broker_id, -1)
        check(known >= epoch, "broker", broker_id, "is acknowledged, not committed:", epoch, known)

    # --- what is committed

    def _on_record(self, offset: int, record: Message) -> None:
        match record:
            case TopicRecord():
                self._on_topic(record)
            case RemoveTopicRecord():
                self._on_removal(record)
            case ConfigRecord() if record.resource_type == TOPIC_RESOURCE:
                self._on_config(record)
            case ProducerIdsRecord():
                self._block_records += 1
                check(self._block_records <= self._block_requests, "more blocks than were asked")
            case RegisterBrokerRecord():
                known = self._broker_epochs.get(record.broker_id, -1)
                check(record.broker_epoch >= known, "broker epoch back from", known, "at", offset)
                self._broker_epochs[record.broker_id] = record.broker_epoch
            case PartitionChangeRecord():
                self._on_partition(record.topic_id, record.partition_id)

    def _on_topic(self, record: TopicRecord) -> None:
        entry = self._topics.get(record.name)
        check(entry is not None, record.name, "was created and nobody asked")
        assert entry is not None
        check(entry.topic_id is None, record.name, "was created twice")
        check(entry.refusal is None, record.name, "was created, but refused:", entry.refusal)
        entry.topic_id = record.topic_id
        self._names[record.topic_id] = record.name

    def _on_removal(self, record: RemoveTopicRecord) -> None:
        entry = self._topics[self._names[record.topic_id]]
        check(entry.is_deletion_asked, self._names[record.topic_id], "went, and nobody asked")
        refusal = entry.deletion_refusal
        check(refusal is None, "a deletion that was refused is committed:", refusal)
        check(not entry.is_deleted, "a topic was deleted twice")
        entry.is_deleted = True

    def _on_config(self, record: ConfigRecord) -> None:
        values = self._topics[record.resource_name].config_values
        check(record.value in values, "nobody asked for", record.resource_name, record.value)
        assert record.value is not None
        check(not values[record.value], record.value, "was refused, and is committed")

    def _on_partition(self, topic_id: bytes, number: int) -> None:
        topic = self._truth.image.topics.by_id.get(topic_id)
        if topic is None:
            return
        partition = topic.partitions[number]
        now = (partition.leader_epoch, partition.partition_epoch)
        before = self._partition_epochs.get((topic_id, number), (0, 0))
        check(now[0] >= before[0] and now[1] >= before[1], "partition epochs fell:", before, now)
        self._partition_epochs[topic_id, number] = now
        is_known = all(one in partition.replicas for one in partition.isr)
        check(is_known, "not a replica, and in sync:", partition.isr, partition.replicas)
