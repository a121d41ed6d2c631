"""Histories of a cluster's metadata: random records, each valid where it stands.

    history = data.draw(histories())
    image = image_of(history)

Every record is drawn with the image before it in view, as a controller would decide on it, so any
history can be replayed from its start. One draw gives an integer; the rest comes from it as a seed,
which keeps Hypothesis quick and a failure replayable.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from hypothesis import strategies as st

from barnabas_core.metadata.delta import Delta
from barnabas_core.metadata.feature import METADATA_VERSION
from barnabas_core.metadata.image import EMPTY_IMAGE, NOWHERE, Image
from barnabas_core.metadata.topics_image import TopicImage
from barnabas_core.wire.messages.access_control_entry_record import AccessControlEntryRecord
from barnabas_core.wire.messages.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from barnabas_core.wire.messages.clear_elr_record import ClearElrRecord
from barnabas_core.wire.messages.client_quota_record import ClientQuotaRecord, EntityData
from barnabas_core.wire.messages.config_record import ConfigRecord
from barnabas_core.wire.messages.delegation_token_record import DelegationTokenRecord
from barnabas_core.wire.messages.feature_level_record import FeatureLevelRecord
from barnabas_core.wire.messages.fence_broker_record import FenceBrokerRecord
from barnabas_core.wire.messages.no_op_record import NoOpRecord
from barnabas_core.wire.messages.partition_change_record import PartitionChangeRecord
from barnabas_core.wire.messages.partition_record import PartitionRecord
from barnabas_core.wire.messages.producer_ids_record import ProducerIdsRecord
from barnabas_core.wire.messages.register_broker_record import (
    BrokerEndpoint,
    BrokerFeature,
    RegisterBrokerRecord,
)
from barnabas_core.wire.messages.register_controller_record import (
    ControllerEndpoint,
    ControllerFeature,
    RegisterControllerRecord,
)
from barnabas_core.wire.messages.remove_access_control_entry_record import (
    RemoveAccessControlEntryRecord,
)
from barnabas_core.wire.messages.remove_delegation_token_record import RemoveDelegationTokenRecord
from barnabas_core.wire.messages.remove_topic_record import RemoveTopicRecord
from barnabas_core.wire.messages.remove_user_scram_credential_record import (
    RemoveUserScramCredentialRecord,
)
from barnabas_core.wire.messages.topic_record import TopicRecord
from barnabas_core.wire.messages.unfence_broker_record import UnfenceBrokerRecord
from barnabas_core.wire.messages.unregister_broker_record import UnregisterBrokerRecord
from barnabas_core.wire.messages.user_scram_credential_record import UserScramCredentialRecord
from barnabas_core.wire.schema import Message

LATEST_LEVEL = 30


def histories(max_size: int = 60) -> st.SearchStrategy[list[Message]]:
    return st.builds(history, st.integers(0, 2**32), st.integers(0, max_size))


def history(seed: int, size: int) -> list[Message]:
    """`metadata.version`, then `size` records."""
    writer = _Writer(random.Random(seed))
    writer.write(FeatureLevelRecord(name=METADATA_VERSION, feature_level=LATEST_LEVEL))
    while len(writer.records) <= size:
        writer.write_one()
    return writer.records


def image_of(records: Iterable[Message], base: Image = EMPTY_IMAGE) -> Image:
    """All at once, with no provenance."""
    delta = Delta(base)
    for record in records:
        delta.replay(record)
    return delta.apply(NOWHERE)


@dataclass
class _Writer:
    random: random.Random
    image: Image = EMPTY_IMAGE
    records: list[Message] = field(default_factory=list)

    def write(self, record: Message) -> None:
        self.image = image_of([record], self.image)
        self.records.append(record)

    def write_one(self) -> None:
        makers: Sequence[Callable[[], Message | None]] = (
            self._topic, self._topic, self._partition, self._partition, self._partition,
            self._change, self._change, self._change, self._remove_topic, self._clear_elr,
            self._register, self._register, self._unregister, self._fence, self._registration,
            self._controller, self._feature, self._config, self._config, self._quota,
            self._producer_ids, self._acl, self._remove_acl, self._scram, self._remove_scram,
            self._token, self._remove_token, NoOpRecord,
        )  # fmt: skip
        record = self.random.choice(makers)()
        if record is not None:
            self.write(record)

    # --- topics

    def _topic(self) -> Message | None:
        name = f"topic-{self.random.randrange(6)}"
        if self.image.topics.named(name) is not None:
            return None
        return TopicRecord(name=name, topic_id=self.random.randbytes(16))

    def _partition(self) -> Message | None:
        topic = self._any_topic()
        if topic is None:
            return None
        replicas = self._brokers()
        elr = self._brokers()[:1]
        return PartitionRecord(
            partition_id=len(topic.partitions),
            topic_id=topic.id,
            replicas=replicas,
            isr=replicas[:2],
            leader=replicas[0],
            leader_epoch=self.random.randrange(5),
            partition_epoch=self.random.randrange(5),
            leader_recovery_state=self.random.randrange(2),
            directories=[self.random.randbytes(16) for _ in replicas],
            adding_replicas=self.random.choice([[], [7]]),
            removing_replicas=self.random.choice([[], [8]]),
            eligible_leader_replicas=self.random.choice([None, elr]),
            last_known_elr=self.random.choice([None, elr]),
        )

    def _change(self) -> Message | None:
        topic = self._any_topic()
        if topic is None or not topic.partitions:
            return None
        number = self.random.choice(list(topic.partitions))
        replicas = self._brokers()
        maybe = self.random.choice
        return PartitionChangeRecord(
            partition_id=number,
            topic_id=topic.id,
            isr=maybe([None, replicas]),
            leader=maybe([-2, -1, *replicas]),
            removing_replicas=maybe([None, [], replicas[:1]]),
            adding_replicas=maybe([None, [], replicas[:1]]),
            leader_recovery_state=maybe([-1, 0, 1]),
            eligible_leader_replicas=maybe([None, [], replicas[:1]]),
            last_known_elr=maybe([None, [], replicas[:1]]),
        )

    def _remove_topic(self) -> Message | None:
        topic = self._any_topic()
        return None if topic is None else RemoveTopicRecord(topic_id=topic.id)

    def _clear_elr(self) -> Message:
        topic = self._any_topic()
        every = topic is None or self.random.random() < 0.5
        return ClearElrRecord(topic_name="" if every or topic is None else topic.name)

    def _any_topic(self) -> TopicImage | None:
        topics = list(self.image.topics)
        return self.random.choice(topics) if topics else None

    def _brokers(self) -> list[int]:
        return self.random.sample(range(1, 7), self.random.randint(1, 3))

    # --- nodes

    def _register(self) -> Message:
        directories = [self.random.randbytes(16) for _ in range(self.random.randrange(3))]
        return RegisterBrokerRecord(
            broker_id=self.random.randrange(1, 5),
            broker_epoch=len(self.records),
            incarnation_id=self.random.randbytes(16),
            end_points=[BrokerEndpoint("PLAINTEXT", "host", 9092, 0)],
            features=[BrokerFeature("group.version", 0, 1)],
            rack=self.random.choice([None, "", "east"]),
            fenced=self.random.random() < 0.5,
            in_controlled_shutdown=self.random.random() < 0.5,
            log_dirs=directories,
            cordoned_log_dirs=self.random.choice([None, [], directories[:1]]),
        )

    def _unregister(self) -> Message | None:
        known = self._any_broker()
        return None if known is None else UnregisterBrokerRecord(*known)

    def _fence(self) -> Message | None:
        known = self._any_broker()
        if known is None:
            return None
        return self.random.choice([FenceBrokerRecord, UnfenceBrokerRecord])(*known)

    def _registration(self) -> Message | None:
        known = self._any_broker()
        if known is None:
            return None
        directories = [self.random.randbytes(16)]
        return BrokerRegistrationChangeRecord(
            *known,
            fenced=self.random.choice([-1, 0, 1]),
            in_controlled_shutdown=self.random.choice([0, 1]),
            log_dirs=self.random.choice([[], directories]),
            cordoned_log_dirs=self.random.choice([None, [], directories]),
        )

    def _any_broker(self) -> tuple[int, int] | None:
        brokers = list(self.image.cluster.brokers.values())
        if not brokers:
            return None
        broker = self.random.choice(brokers)
        return broker.id, broker.epoch

    def _controller(self) -> Message:
        return RegisterControllerRecord(
            controller_id=self.random.randrange(3000, 3003),
            incarnation_id=self.random.randbytes(16),
            end_points=[ControllerEndpoint("CONTROLLER", "host", 9093, 1)],
            features=[ControllerFeature("kraft.version", 0, 1)],
        )

    # --- tables

    def _feature(self) -> Message:
        names = ["group.version", "transaction.version", "kraft.version"]
        return FeatureLevelRecord(
            name=self.random.choice(names), feature_level=self.random.randrange(3)
        )

    def _config(self) -> Message:
        topic = self._any_topic()
        kind, name = (4, "1") if topic is None else (2, topic.name)
        return ConfigRecord(
            resource_type=kind,
            resource_name=name,
            name=self.random.choice(["retention.ms", "cleanup.policy", "min.insync.replicas"]),
            value=self.random.choice([None, "1", "2", ""]),
        )

    def _quota(self) -> Message:
        name = self.random.choice([None, "alice", ""])
        entity = [EntityData("user", name), EntityData("client-id", "app")]
        return ClientQuotaRecord(
            entity=entity[: self.random.randint(1, 2)],
            key=self.random.choice(["producer_byte_rate", "consumer_byte_rate"]),
            value=self.random.choice([0.5, 1024.0]),
            remove=self.random.random() < 0.3,
        )

    def _producer_ids(self) -> Message:
        following = self.image.next_producer_id + 1000
        return ProducerIdsRecord(broker_id=1, broker_epoch=2, next_producer_id=following)

    def _acl(self) -> Message:
        return AccessControlEntryRecord(
            self.random.randbytes(16), 2, "orders", 3, "User:alice", "*", 3, 3
        )

    def _remove_acl(self) -> Message | None:
        acls = list(self.image.acls)
        return RemoveAccessControlEntryRecord(id=self.random.choice(acls)) if acls else None

    def _scram(self) -> Message:
        user, mechanism = f"user-{self.random.randrange(3)}", self.random.randint(1, 2)
        return UserScramCredentialRecord(user, mechanism, b"salt", b"stored", b"server", 4096)

    def _remove_scram(self) -> Message | None:
        keys = list(self.image.scram)
        return RemoveUserScramCredentialRecord(*self.random.choice(keys)) if keys else None

    def _token(self) -> Message:
        token_id = f"token-{self.random.randrange(3)}"
        return DelegationTokenRecord("User:a", "User:b", ["User:c"], 1, 9, 5, token_id)

    def _remove_token(self) -> Message | None:
        tokens = list(self.image.tokens)
        return RemoveDelegationTokenRecord(self.random.choice(tokens)) if tokens else None
