"""CreateTopics (key 19), served v2-v7.

v5 configs, partition count and replication factor in the answer; v7 topic ids. A topic that cannot
be created is told of in its own place, the others are created all the same; only a request that
asks for too much at once is refused as a whole. Knowingly missing: a create-topic policy, quotas
for mutations (KIP-599).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from barnabas_controller.managers.configs.validation import validate_topic_config
from barnabas_controller.managers.topics.created_config import created_configs
from barnabas_controller.managers.topics.new_partition import (
    assigned_partition,
    partition_record,
    placed_partitions,
)
from barnabas_controller.managers.topics.refusal import (
    TOO_MANY_PARTITIONS,
    TOO_MANY_RECORDS,
    Refused,
)
from barnabas_controller.managers.topics.topic_id import new_topic_id
from barnabas_controller.managers.topics.topic_name import (
    CLUSTER_METADATA_TOPIC,
    colliding_name,
    collision_key,
    name_fault,
)
from barnabas_controller.managers.view import Context, Result, View
from barnabas_core.metadata.keyed_image import TOPIC_RESOURCE
from barnabas_core.metadata.partition_image import PartitionImage
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.config_record import ConfigRecord
from barnabas_core.wire.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from barnabas_core.wire.messages.create_topics_response import (
    CreatableTopicResult,
    CreateTopicsResponse,
)
from barnabas_core.wire.messages.topic_record import TopicRecord
from barnabas_core.wire.schema import Message

USE_DEFAULT = -1
CONFIGS_FROM = 5
"""The api version whose answer has them."""


def decide_create_topics(
    view: View, request: CreateTopicsRequest, context: Context
) -> Result[CreateTopicsResponse]:
    names = list(dict.fromkeys(topic.name for topic in request.topics))
    if _partition_count(view, request) > view.settings.max_records_per_decision:
        return _all_refused(names, TOO_MANY_PARTITIONS)
    creation = _Creation(view, context.api_version, Counter(topic.name for topic in request.topics))
    by_name = {topic.name: topic for topic in request.topics}
    answers = [creation.answer(by_name[name]) for name in names]
    if len(creation.records) > view.settings.max_records_per_decision:
        return _all_refused(names, TOO_MANY_RECORDS)
    records = [] if request.validate_only else creation.records
    return Result(records, CreateTopicsResponse(topics=answers))


@dataclass(slots=True)
class _Creation:
    """One request's topics, one after the other."""

    view: View
    api_version: int
    name_counts: Counter[str]
    records: list[Message] = field(default_factory=list)
    new_names: dict[str, str] = field(default_factory=dict)
    """By the key under which two names collide."""

    def answer(self, topic: CreatableTopic) -> CreatableTopicResult:
        try:
            self._check_name(topic.name)
            self._check_configs(topic)
            partitions = _new_partitions(self.view, topic)
        except Refused as refused:
            return CreatableTopicResult(
                name=topic.name, error_code=refused.code, error_message=refused.message
            )
        topic_id = new_topic_id(self.view.rng, self.view.image.topics)
        self._write(topic, topic_id, partitions)
        return self._created(topic, topic_id, partitions)

    def _check_name(self, name: str) -> None:
        topics = self.view.image.topics
        if self.name_counts[name] > 1:
            raise Refused(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
        if name == CLUSTER_METADATA_TOPIC:
            raise Refused(
                ErrorCode.INVALID_REQUEST, f"Creation of internal topic {name} is prohibited."
            )
        if name in topics.id_by_name:
            raise Refused(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        fault = name_fault(name)
        if fault is not None:
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, fault)
        created = self.new_names.get(collision_key(name))
        other = colliding_name(topics, name) if created is None else created
        if other is not None:
            raise Refused(
                ErrorCode.INVALID_TOPIC_EXCEPTION,
                f"Topic '{name}' collides with existing topic: {other}",
            )

    def _check_configs(self, topic: CreatableTopic) -> None:
        wanted = {config.name: config.value for config in topic.configs}
        fault = validate_topic_config(self.view, topic.name, wanted)
        if fault is not None:
            raise Refused(ErrorCode.INVALID_CONFIG, fault)

    def _write(
        self, topic: CreatableTopic, topic_id: bytes, partitions: dict[int, PartitionImage]
    ) -> None:
        self.new_names[collision_key(topic.name)] = topic.name
        self.records.append(TopicRecord(name=topic.name, topic_id=topic_id))
        self.records.extend(
            ConfigRecord(TOPIC_RESOURCE, topic.name, config, value)
            for config, value in _overrides(topic).items()
        )
        self.records.extend(
            partition_record(self.view.image, topic_id, number, partition)
            for number, partition in partitions.items()
        )

    def _created(
        self, topic: CreatableTopic, topic_id: bytes, partitions: dict[int, PartitionImage]
    ) -> CreatableTopicResult:
        result = CreatableTopicResult(name=topic.name, topic_id=topic_id, error_message=None)
        if self.api_version >= CONFIGS_FROM:
            result.num_partitions = len(partitions)
            result.replication_factor = len(partitions[0].replicas)
            result.configs = created_configs(self.view, _overrides(topic))
        return result


def _new_partitions(view: View, topic: CreatableTopic) -> dict[int, PartitionImage]:
    if topic.assignments:
        return _assigned(view, topic)
    if topic.replication_factor < USE_DEFAULT or topic.replication_factor == 0:
        raise Refused(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if topic.num_partitions < USE_DEFAULT or topic.num_partitions == 0:
        raise Refused(
            ErrorCode.INVALID_PARTITIONS,
            "Number of partitions was set to an invalid non-positive value.",
        )
    settings = view.settings
    count, factor = topic.num_partitions, topic.replication_factor
    return placed_partitions(
        view,
        0,
        settings.partition_count if count == USE_DEFAULT else count,
        settings.default_replication_factor if factor == USE_DEFAULT else factor,
    )


def _assigned(view: View, topic: CreatableTopic) -> dict[int, PartitionImage]:
    for what, value in (
        ("replication factor", topic.replication_factor),
        ("numPartitions", topic.num_partitions),
    ):
        if value != USE_DEFAULT:
            raise Refused(
                ErrorCode.INVALID_REQUEST,
                f"A manual partition assignment was specified, but {what} was not set to -1.",
            )
    partitions: dict[int, PartitionImage] = {}
    factor: int | None = None
    for assignment in topic.assignments:
        number = assignment.partition_index
        if number in partitions:
            raise Refused(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Found multiple manual partition assignments for partition {number}",
            )
        partitions[number] = assigned_partition(view.image, number, assignment.broker_ids, factor)
        factor = len(assignment.broker_ids)
    if sorted(partitions) != list(range(len(partitions))):
        raise Refused(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "partitions should be a consecutive 0-based integer sequence",
        )
    return dict(sorted(partitions.items()))


def _partition_count(view: View, request: CreateTopicsRequest) -> int:
    """How many partitions a request asks for, before anything is placed."""
    total = 0
    for topic in request.topics:
        if topic.assignments:
            total += len(topic.assignments)
        elif topic.num_partitions == USE_DEFAULT:
            total += view.settings.partition_count
        else:
            total += max(topic.num_partitions, 0)
    return total


def _overrides(topic: CreatableTopic) -> dict[str, str]:
    return {config.name: config.value for config in topic.configs if config.value is not None}


def _all_refused(names: Sequence[str], message: str) -> Result[CreateTopicsResponse]:
    code = ErrorCode.POLICY_VIOLATION
    answers = [CreatableTopicResult(name=n, error_code=code, error_message=message) for n in names]
    return Result([], CreateTopicsResponse(topics=answers))
