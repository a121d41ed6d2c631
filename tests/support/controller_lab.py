"""A controller without a log: decisions are asked for, and their records replayed, as it does it.

Every record goes through its bytes at the version that the features of the cluster mean, and every
request and response through theirs, so a field that is not on the wire is not seen here either.

    lab = ControllerLab()
    lab.register_broker(1)
    answer = lab.decide(decide_create_topics, CreateTopicsRequest(...))  # at its latest version
    assert lab.records, lab.image and lab.partition("topic", 0) are what came of it
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from barnabas_controller.managers.liveness import BrokerLiveness, BrokerSession
from barnabas_controller.managers.replica_index import ReplicaIndex
from barnabas_controller.managers.view import Context, ControllerSettings, Result, View
from barnabas_core.metadata.delta import Delta
from barnabas_core.metadata.feature import (
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    FEATURES,
    METADATA_VERSION,
    latest_production,
    record_version,
)
from barnabas_core.metadata.image import EMPTY_IMAGE, Image, Provenance
from barnabas_core.metadata.keyed_image import TOPIC_RESOURCE
from barnabas_core.metadata.partition_image import NO_LEADER, UNASSIGNED_DIRECTORY, PartitionImage
from barnabas_core.metadata.record import decode_record, encode_record
from barnabas_core.metadata.snapshot import image_records
from barnabas_core.runtime.rng import SeededRng
from barnabas_core.wire.codec import decode, encode
from barnabas_core.wire.messages.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from barnabas_core.wire.messages.config_record import ConfigRecord
from barnabas_core.wire.messages.feature_level_record import FeatureLevelRecord
from barnabas_core.wire.messages.partition_record import PartitionRecord
from barnabas_core.wire.messages.register_broker_record import (
    BrokerEndpoint,
    BrokerFeature,
    RegisterBrokerRecord,
)
from barnabas_core.wire.messages.topic_record import TopicRecord
from barnabas_core.wire.schema import Message
from tests.support.manual_clock import ManualClock

M = TypeVar("M", bound=Message)
R = TypeVar("R")

SETTINGS = ControllerSettings(node_id=3000, cluster_id="bGFiLWNsdXN0ZXItaWQtMQ")
EPOCH = 1


def directory_id(broker_id: int, number: int = 0) -> bytes:
    """The id of a broker's directory, readable in a failed assert."""
    return f"dir-{broker_id:05}-{number:06}".encode()


def incarnation_id(broker_id: int, number: int = 0) -> bytes:
    return f"inc-{broker_id:05}-{number:06}".encode()


class ControllerLab:
    """`metadata_level` and the other features are as told, or as a new cluster has them."""

    def __init__(
        self,
        settings: ControllerSettings = SETTINGS,
        *,
        metadata_level: int | None = None,
        features: Mapping[str, int] | None = None,
        seed: int = 0,
    ) -> None:
        self.settings = settings
        self.clock = ManualClock()
        self.rng = SeededRng(seed)
        self.liveness = BrokerLiveness(settings.broker_session_timeout_ms)
        self.image: Image = EMPTY_IMAGE
        self.replicas = ReplicaIndex(EMPTY_IMAGE.topics)
        self.next_offset = 0
        self.records: list[Message] = []
        """Of the last decision, as they came out of their bytes."""
        level = latest_production() if metadata_level is None else metadata_level
        self.set_feature(METADATA_VERSION, level)
        for name, at in self._feature_levels(level, features).items():
            self.set_feature(name, at)

    @property
    def has_elr(self) -> bool:
        return self.image.feature(ELIGIBLE_LEADER_REPLICAS_VERSION) >= 1

    # --- decisions

    def view(self) -> View:
        return View(
            image=self.image,
            replicas=self.replicas,
            liveness=self.liveness,
            settings=self.settings,
            rng=self.rng,
            now_ms=self.clock.now_ms(),
            monotonic_ms=self.clock.monotonic_ms(),
            next_offset=self.next_offset,
        )

    def decide(
        self,
        function: Callable[[View, Any, Context], Result[M]],
        request: Message,
        version: int | None = None,
        context: Context | None = None,
    ) -> M:
        """The answer, as its reader gets it; the records are replayed."""
        at = type(request).MAX_VERSION if version is None else version
        asked = replace(context or Context(at), api_version=at)
        received = decode(type(request), at, encode(request, at))
        result = function(self.view(), received, asked)
        self.apply(result.records)
        self.check_snapshot()
        return decode(type(result.response), at, encode(result.response, at))

    def run(self, function: Callable[[View], Result[R]]) -> R:
        """A decision that a timer asks for."""
        result = function(self.view())
        self.apply(result.records)
        self.check_snapshot()
        return result.response

    def apply(self, records: Sequence[Message]) -> None:
        """What the controller does with a decision: append, replay, follow in the index."""
        self.records = [self._through_bytes(record) for record in records]
        if not self.records:
            return
        delta = Delta(self.image)
        for record in self.records:
            delta.replay(record)
        self.next_offset += len(self.records)
        self.image = delta.apply(Provenance(self.next_offset - 1, EPOCH, self.clock.now_ms()))
        self.replicas.update(delta.topics, self.image.topics)

    def check_snapshot(self) -> None:
        """A controller that starts from a snapshot of this image has this image."""
        delta = Delta(EMPTY_IMAGE)
        for record in image_records(self.image):
            delta.replay(self._through_bytes(record))
        assert delta.apply(self.image.provenance) == self.image

    # --- state, by records

    def set_feature(self, name: str, level: int) -> None:
        self.apply([FeatureLevelRecord(name=name, feature_level=level)])

    def set_config(self, resource_type: int, name: str, key: str, value: str | None) -> None:
        self.apply(
            [ConfigRecord(resource_type=resource_type, resource_name=name, name=key, value=value)]
        )

    def set_topic_config(self, topic: str, key: str, value: str | None) -> None:
        self.set_config(TOPIC_RESOURCE, topic, key, value)

    def register_broker(
        self,
        broker_id: int,
        rack: str | None = None,
        dirs: int = 1,
        unfenced: bool = True,
        incarnation: int = 0,
    ) -> int:
        """Its broker epoch. Registering again is a new incarnation."""
        epoch = self.next_offset
        has_dirs = record_version("RegisterBrokerRecord", self.image.metadata_level) >= 3
        self.apply(
            [
                RegisterBrokerRecord(
                    broker_id=broker_id,
                    broker_epoch=epoch,
                    incarnation_id=incarnation_id(broker_id, incarnation),
                    end_points=[BrokerEndpoint(name="PLAINTEXT", host=f"b{broker_id}", port=9092)],
                    features=[
                        BrokerFeature(
                            name=feature.name,
                            min_supported_version=feature.minimum,
                            max_supported_version=feature.maximum(),
                        )
                        for feature in FEATURES.values()
                    ],
                    rack=rack,
                    fenced=not unfenced,
                    log_dirs=[directory_id(broker_id, n) for n in range(dirs)] if has_dirs else [],
                )
            ]
        )
        self.liveness.sessions[broker_id] = BrokerSession(epoch, self.clock.monotonic_ms(), epoch)
        return epoch

    def change_broker(
        self,
        broker_id: int,
        *,
        fenced: bool | None = None,
        in_controlled_shutdown: bool = False,
        log_dirs: Sequence[bytes] = (),
    ) -> None:
        """The registration alone: partitions stay as they are."""
        self.apply(
            [
                BrokerRegistrationChangeRecord(
                    broker_id=broker_id,
                    broker_epoch=self.image.cluster.brokers[broker_id].epoch,
                    fenced=0 if fenced is None else (1 if fenced else -1),
                    in_controlled_shutdown=int(in_controlled_shutdown),
                    log_dirs=list(log_dirs),
                )
            ]
        )

    def create_topic(
        self,
        name: str,
        partitions: Mapping[int, Sequence[int]],
        isr: Sequence[int] | None = None,
    ) -> bytes:
        """Its id. The ISR is `isr`, or every replica that is active; its first one leads."""
        topic_id = self.rng.randbytes(16)
        records: list[Message] = [TopicRecord(name=name, topic_id=topic_id)]
        for number, replicas in partitions.items():
            record = self._partition_record(replicas, isr)
            record.topic_id, record.partition_id = topic_id, number
            records.append(record)
        self.apply(records)
        return topic_id

    def partition(self, name: str, number: int = 0) -> PartitionImage:
        topic = self.image.topics.named(name)
        assert topic is not None, name
        return topic.partitions[number]

    def topic_id(self, name: str) -> bytes:
        return self.image.topics.id_by_name[name]

    def _partition_record(
        self, replicas: Sequence[int], isr: Sequence[int] | None
    ) -> PartitionRecord:
        brokers = self.image.cluster.brokers
        in_sync = list(isr or (b for b in replicas if b in brokers and brokers[b].is_active))
        has_dirs = record_version("PartitionRecord", self.image.metadata_level) >= 1
        return PartitionRecord(
            replicas=list(replicas),
            isr=in_sync or [replicas[0]],
            leader=in_sync[0] if in_sync else NO_LEADER,
            leader_epoch=0,
            partition_epoch=0,
            directories=[self._directory(b) for b in replicas] if has_dirs else [],
        )

    def _directory(self, broker_id: int) -> bytes:
        broker = self.image.cluster.brokers.get(broker_id)
        alone = broker is not None and len(broker.log_dirs) == 1
        return broker.log_dirs[0] if broker and alone else UNASSIGNED_DIRECTORY

    def _through_bytes(self, record: Message) -> Message:
        version = record_version(type(record).__name__, self.image.metadata_level)
        return decode_record(encode_record(record, version))

    def _feature_levels(
        self, metadata_level: int, features: Mapping[str, int] | None
    ) -> Mapping[str, int]:
        if features is not None:
            return features
        defaults = {
            name: feature.default_level_at(metadata_level)
            for name, feature in FEATURES.items()
            if name != METADATA_VERSION
        }
        return {name: level for name, level in defaults.items() if level > 0}
