"""CreatePartitions (key 37), served v0-v3.

Partitions are only ever added, at the end. `count` is what the topic will have; without
assignments new ones have as many replicas as partition 0. Knowingly missing: quotas for mutations.
"""

from collections import Counter

from barnabas_controller.managers.topics.new_partition import (
    assigned_partition,
    partition_record,
    placed_partitions,
)
from barnabas_controller.managers.topics.refusal import TOO_MANY_PARTITIONS, Refused
from barnabas_controller.managers.view import Context, Result, View
from barnabas_core.metadata.partition_image import PartitionImage
from barnabas_core.metadata.topics_image import TopicImage
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.create_partitions_request import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from barnabas_core.wire.messages.create_partitions_response import (
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from barnabas_core.wire.schema import Message


def decide_create_partitions(
    view: View, request: CreatePartitionsRequest, context: Context
) -> Result[CreatePartitionsResponse]:
    counts = Counter(topic.name for topic in request.topics)
    records: list[Message] = []
    results: list[CreatePartitionsTopicResult] = []
    for topic in {topic.name: topic for topic in request.topics}.values():
        result = CreatePartitionsTopicResult(name=topic.name)
        try:
            _check_named_once(counts[topic.name])
            records += _added(view, topic, view.settings.max_records_per_decision - len(records))
        except Refused as refused:
            result.error_code = refused.code
            result.error_message = refused.message
        results.append(result)
    written = [] if request.validate_only else records
    return Result(written, CreatePartitionsResponse(results=results))


def _check_named_once(count: int) -> None:
    if count > 1:
        raise Refused(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")


def _added(view: View, wanted: CreatePartitionsTopic, room: int) -> list[Message]:
    topic = view.image.topics.named(wanted.name)
    if topic is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None)
    _check_count(topic, wanted)
    if wanted.count - len(topic.partitions) > room:
        raise Refused(ErrorCode.POLICY_VIOLATION, TOO_MANY_PARTITIONS)
    return [
        partition_record(view.image, topic.id, number, partition)
        for number, partition in _new_partitions(view, topic, wanted).items()
    ]


def _check_count(topic: TopicImage, wanted: CreatePartitionsTopic) -> None:
    existing = len(topic.partitions)
    if wanted.count == existing:
        raise Refused(ErrorCode.INVALID_PARTITIONS, f"Topic already has {existing} partition(s).")
    if wanted.count < existing:
        raise Refused(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {topic.name} currently has {existing} partition(s); "
            f"{wanted.count} would not be an increase.",
        )
    assigned = wanted.assignments
    if assigned is not None and len(assigned) != wanted.count - existing:
        raise Refused(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Attempted to add {wanted.count - existing} additional partition(s), "
            f"but only {len(assigned)} assignment(s) were specified.",
        )


def _new_partitions(
    view: View, topic: TopicImage, wanted: CreatePartitionsTopic
) -> dict[int, PartitionImage]:
    first = len(topic.partitions)
    factor = len(topic.partitions[0].replicas)
    if wanted.assignments is None:
        return placed_partitions(view, first, wanted.count - first, factor)
    return {
        number: assigned_partition(view.image, number, assignment.broker_ids, factor)
        for number, assignment in enumerate(wanted.assignments, first)
    }
