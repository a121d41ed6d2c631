"""AlterPartitionReassignments (key 45), served v0-v1; ListPartitionReassignments (key 46), v0.

A reassignment first adds its new replicas to the old ones. It ends with the AlterPartition that
has all of them in sync (see `change`): then the replicas that were to go are dropped. Null instead
of replicas cancels it: what was being added is dropped and the rest stays. v1 may forbid to change
the number of replicas.
"""

from barnabas_controller.managers.partitions.change import Target
from barnabas_controller.managers.partitions.changes import PartitionChanges
from barnabas_controller.managers.partitions.refusal import TOO_LARGE, Refused
from barnabas_controller.managers.replica_index import PartitionKey
from barnabas_controller.managers.view import Context, Result, View
from barnabas_core.metadata.partition_image import RECOVERING, PartitionImage
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
)
from barnabas_core.wire.messages.alter_partition_reassignments_response import (
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from barnabas_core.wire.messages.list_partition_reassignments_request import (
    ListPartitionReassignmentsRequest,
)
from barnabas_core.wire.messages.list_partition_reassignments_response import (
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)


def decide_alter_partition_reassignments(
    view: View, request: AlterPartitionReassignmentsRequest, _: Context
) -> Result[AlterPartitionReassignmentsResponse]:
    changes = PartitionChanges(view)
    may_resize = request.allow_replication_factor_change
    response = AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=may_resize, error_message=None
    )
    for topic in request.topics:
        answers = [
            _answer(changes, topic.name, wanted, may_resize=may_resize)
            for wanted in topic.partitions
        ]
        response.responses.append(ReassignableTopicResponse(topic.name, answers))
    return Result(changes.records, response)


def decide_list_partition_reassignments(
    view: View, request: ListPartitionReassignmentsRequest, _: Context
) -> Result[ListPartitionReassignmentsResponse]:
    wanted: list[tuple[str, list[int]]]
    if request.topics is None:
        wanted = _all_reassigning(view)
    else:
        wanted = [(topic.name, topic.partition_indexes) for topic in request.topics]
    topics = [OngoingTopicReassignment(name, _ongoing(view, name, all_)) for name, all_ in wanted]
    found = [topic for topic in topics if topic.partitions]
    return Result((), ListPartitionReassignmentsResponse(error_message=None, topics=found))


def _answer(
    changes: PartitionChanges, topic: str, wanted: ReassignablePartition, *, may_resize: bool
) -> ReassignablePartitionResponse:
    answer = ReassignablePartitionResponse(wanted.partition_index, error_message=None)
    try:
        _alter(changes, topic, wanted, may_resize=may_resize)
    except Refused as refused:
        answer.error_code, answer.error_message = refused.error, refused.message
    return answer


def _alter(
    changes: PartitionChanges, topic: str, wanted: ReassignablePartition, *, may_resize: bool
) -> None:
    key, partition = _find(changes, topic, wanted.partition_index)
    if wanted.replicas is None:
        target = _cancelled(changes, topic, key, partition)
    else:
        _check_replicas(changes.view, wanted.replicas)
        if not may_resize:
            _check_size(partition, wanted.replicas)
        target = _reassigned(partition, wanted.replicas)
    if not changes.has_room:
        raise Refused(ErrorCode.POLICY_VIOLATION, TOO_LARGE)
    changes.change(key, target)


def _find(changes: PartitionChanges, name: str, number: int) -> tuple[PartitionKey, PartitionImage]:
    topic_id = changes.view.image.topics.id_by_name.get(name)
    if topic_id is None:
        reason = f"Unable to find a topic named {name}."
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, reason)
    key = PartitionKey(topic_id, number)
    partition = changes.get(key)
    if partition is None:
        reason = f"Unable to find partition {name}:{number}."
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, reason)
    return key, partition


def _check_replicas(view: View, replicas: list[int]) -> None:
    what = "The manual partition assignment includes"
    error = ErrorCode.INVALID_REPLICA_ASSIGNMENT
    if not replicas:
        raise Refused(error, f"{what} an empty replica list.")
    previous = None
    for broker_id in sorted(replicas):
        if broker_id not in view.image.cluster.brokers:
            raise Refused(error, f"{what} broker {broker_id}, but no such broker is registered.")
        if broker_id == previous:
            raise Refused(error, f"{what} the broker {broker_id} more than once.")
        previous = broker_id


def _check_size(partition: PartitionImage, replicas: list[int]) -> None:
    """Against what a reassignment under way would lead to."""
    size = len(set(partition.replicas) - set(partition.removing_replicas))
    if size != len(replicas):
        reason = f"The replication factor is changed from {size} to {len(replicas)}"
        raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR, reason)


def _reassigned(partition: PartitionImage, replicas: list[int]) -> Target:
    """One that is under way is replaced: what it was adding, and is not wanted now, is to go."""
    removing = sorted(set(partition.replicas) - set(replicas))
    adding = sorted(set(replicas) - set(partition.replicas))
    return Target(
        replicas=[*replicas, *removing], removing_replicas=removing, adding_replicas=adding
    )


def _cancelled(
    changes: PartitionChanges, topic: str, key: PartitionKey, partition: PartitionImage
) -> Target:
    if not partition.is_reassigning:
        reason = "No partition reassignment is in progress."
        raise Refused(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, reason)
    adding = partition.adding_replicas
    rules = changes.rules(key)
    replicas = [broker_id for broker_id in partition.replicas if broker_id not in adding]
    isr = [broker_id for broker_id in partition.isr if broker_id not in adding]
    waits_for_elr = not partition.isr and not set(partition.eligible_leader_replicas) <= set(adding)
    recovery = None
    if not isr and not waits_for_elr:
        # Only what is dropped has all the data: one that stays is to lead without it.
        if not rules.allows_unclean:
            reason = (
                f"Unable to revert partition assignment for {topic}:{key.partition} because it "
                "would require an unclean leader election."
            )
            raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, reason)
        isr, recovery = replicas[:1], RECOVERING
    return Target(
        rules.election,
        isr=isr,
        replicas=replicas,
        removing_replicas=(),
        adding_replicas=(),
        leader_recovery_state=recovery,
    )


def _all_reassigning(view: View) -> list[tuple[str, list[int]]]:
    numbers: dict[bytes, list[int]] = {}
    for key in view.replicas.reassigning():
        numbers.setdefault(key.topic_id, []).append(key.partition)
    topics = view.image.topics.by_id
    return [(topics[topic_id].name, sorted(found)) for topic_id, found in numbers.items()]


def _ongoing(view: View, name: str, numbers: list[int]) -> list[OngoingPartitionReassignment]:
    topic = view.image.topics.named(name)
    if topic is None:
        return []
    found = [(number, topic.partitions.get(number)) for number in numbers]
    return [
        OngoingPartitionReassignment(
            number,
            list(partition.replicas),
            list(partition.adding_replicas),
            list(partition.removing_replicas),
        )
        for number, partition in found
        if partition is not None and partition.is_reassigning
    ]
