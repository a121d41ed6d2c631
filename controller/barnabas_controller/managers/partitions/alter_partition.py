"""AlterPartition (key 56), served v2-v3: the leader of a partition asks for another ISR.

v2 names topics by id; v3 tells the broker epoch of each member (KIP-903), so that a replica that
restarted since it was in sync is refused. Errors of one partition leave the others alone.
"""

from barnabas_controller.managers.partitions.broker_epoch import check_broker_epoch
from barnabas_controller.managers.partitions.change import Target
from barnabas_controller.managers.partitions.changes import PartitionChanges
from barnabas_controller.managers.replica_index import PartitionKey
from barnabas_controller.managers.view import Context, Result, View
from barnabas_core.metadata.partition_image import (
    NO_LEADER_CHANGE,
    RECOVERED,
    RECOVERING,
    PartitionImage,
)
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.alter_partition_request import (
    AlterPartitionRequest,
    BrokerState,
    PartitionData,
)
from barnabas_core.wire.messages.alter_partition_request import TopicData as AskedTopic
from barnabas_core.wire.messages.alter_partition_response import (
    AlterPartitionResponse,
    TopicData,
)
from barnabas_core.wire.messages.alter_partition_response import PartitionData as PartitionAnswer

_ANY_BROKER_EPOCH = -1


def decide_alter_partition(
    view: View, request: AlterPartitionRequest, context: Context
) -> Result[AlterPartitionResponse]:
    stale = check_broker_epoch(view, request.broker_id, request.broker_epoch)
    if stale is not None:
        return Result((), AlterPartitionResponse(error_code=stale))
    changes = PartitionChanges(view)
    topics = [_alter_topic(changes, request.broker_id, topic, context) for topic in request.topics]
    return Result(changes.records, AlterPartitionResponse(topics=topics))


def _alter_topic(
    changes: PartitionChanges, broker_id: int, asked: AskedTopic, context: Context
) -> TopicData:
    answer = TopicData(topic_id=asked.topic_id)
    is_known = asked.topic_id in changes.view.image.topics.by_id
    for wanted in asked.partitions:
        if is_known:
            key = PartitionKey(asked.topic_id, wanted.partition_index)
            answer.partitions.append(_alter(changes, broker_id, key, wanted, context))
        else:
            answer.partitions.append(_refused(wanted, ErrorCode.UNKNOWN_TOPIC_ID))
    return answer


def _alter(
    changes: PartitionChanges,
    broker_id: int,
    key: PartitionKey,
    wanted: PartitionData,
    context: Context,
) -> PartitionAnswer:
    members = _members(wanted, context.api_version)
    error = _refusal(changes, broker_id, key, wanted, members)
    if error is not ErrorCode.NONE:
        return _refused(wanted, error)
    target = Target(
        changes.rules(key).election,
        isr=[member.broker_id for member in members],
        leader_recovery_state=wanted.leader_recovery_state,
    )
    record = changes.change(key, target)
    if record is not None and record.leader not in (NO_LEADER_CHANGE, broker_id):
        # The new ISR ended a reassignment that takes the lead from who asked. Both an error and
        # a change: the asker must wait for new metadata before it asks for anything else.
        return _refused(wanted, ErrorCode.NEW_LEADER_ELECTED)
    return _accepted(wanted, changes.at(key))


def _members(wanted: PartitionData, version: int) -> list[BrokerState]:
    if version >= 3:
        return wanted.new_isr_with_epochs
    return [BrokerState(broker_id, _ANY_BROKER_EPOCH) for broker_id in wanted.new_isr]


def _refusal(
    changes: PartitionChanges,
    broker_id: int,
    key: PartitionKey,
    wanted: PartitionData,
    members: list[BrokerState],
) -> ErrorCode:
    partition = changes.get(key)
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    error = _stale(partition, broker_id, wanted)
    if error is not ErrorCode.NONE:
        return error
    isr = [member.broker_id for member in members]
    if not _is_possible_isr(partition, isr) or not _is_possible_recovery(partition, isr, wanted):
        return ErrorCode.INVALID_REQUEST
    if not all(_may_join(changes.view, member) for member in members):
        return ErrorCode.INELIGIBLE_REPLICA
    return ErrorCode.NONE


def _stale(partition: PartitionImage, broker_id: int, wanted: PartitionData) -> ErrorCode:
    """A leader that knows a later state than we do was told so by another controller."""
    is_ahead = (
        wanted.leader_epoch > partition.leader_epoch
        or wanted.partition_epoch > partition.partition_epoch
    )
    if is_ahead:
        return ErrorCode.NOT_CONTROLLER
    if wanted.leader_epoch < partition.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if broker_id != partition.leader:
        return ErrorCode.INVALID_REQUEST
    if wanted.partition_epoch < partition.partition_epoch:
        return ErrorCode.INVALID_UPDATE_VERSION
    return ErrorCode.NONE


def _is_possible_isr(partition: PartitionImage, isr: list[int]) -> bool:
    return (
        len(set(isr)) == len(isr)
        and set(isr) <= set(partition.replicas)
        and partition.leader in isr
    )


def _is_possible_recovery(partition: PartitionImage, isr: list[int], wanted: PartitionData) -> bool:
    """Recovery from an unclean election ends once, and others join only then."""
    if wanted.leader_recovery_state == RECOVERED:
        return True
    is_recovering = partition.leader_recovery_state == RECOVERING
    return wanted.leader_recovery_state == RECOVERING and is_recovering and len(isr) == 1


def _may_join(view: View, member: BrokerState) -> bool:
    broker = view.image.cluster.brokers.get(member.broker_id)
    if broker is None or not broker.is_active:
        return False
    return member.broker_epoch in (_ANY_BROKER_EPOCH, broker.epoch)


def _refused(wanted: PartitionData, error: ErrorCode) -> PartitionAnswer:
    return PartitionAnswer(partition_index=wanted.partition_index, error_code=error)


def _accepted(wanted: PartitionData, partition: PartitionImage) -> PartitionAnswer:
    return PartitionAnswer(
        partition_index=wanted.partition_index,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        isr=list(partition.isr),
        leader_recovery_state=partition.leader_recovery_state,
        partition_epoch=partition.partition_epoch,
    )
