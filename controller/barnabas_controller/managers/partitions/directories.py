"""AssignReplicasToDirs (key 73), served v0: a broker tells in which directory replicas lie.

Known from metadata version 3.7-IV2 on (KIP-858). Where the directory told is offline, the broker
leaves the ISR of the partition, since it cannot serve it.
"""

from barnabas_controller.managers.partitions.broker_changes import records_without_broker
from barnabas_controller.managers.partitions.broker_epoch import check_broker_epoch
from barnabas_controller.managers.partitions.change import Target
from barnabas_controller.managers.partitions.changes import PartitionChanges
from barnabas_controller.managers.partitions.surroundings import has_directories
from barnabas_controller.managers.replica_index import PartitionKey
from barnabas_controller.managers.view import Context, Result, View
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.assign_replicas_to_dirs_request import (
    AssignReplicasToDirsRequest,
)
from barnabas_core.wire.messages.assign_replicas_to_dirs_request import DirectoryData as AskedDir
from barnabas_core.wire.messages.assign_replicas_to_dirs_response import (
    AssignReplicasToDirsResponse,
    DirectoryData,
    PartitionData,
    TopicData,
)


def decide_assign_replicas_to_dirs(
    view: View, request: AssignReplicasToDirsRequest, _: Context
) -> Result[AssignReplicasToDirsResponse]:
    if not has_directories(view):
        return _refused(ErrorCode.UNSUPPORTED_VERSION)
    stale = check_broker_epoch(view, request.broker_id, request.broker_epoch)
    if stale is not None:
        return _refused(stale)
    changes = PartitionChanges(view)
    offline: dict[PartitionKey, None] = {}
    answers = [_assign(changes, request.broker_id, asked, offline) for asked in request.directories]
    records_without_broker(changes, request.broker_id, offline)
    return Result(changes.records, AssignReplicasToDirsResponse(directories=answers))


def _assign(
    changes: PartitionChanges, broker_id: int, asked: AskedDir, offline: dict[PartitionKey, None]
) -> DirectoryData:
    """Those that the assignment takes offline are added to `offline`."""
    broker = changes.view.image.cluster.brokers[broker_id]
    is_online = broker.has_online_dir(asked.id)
    answer = DirectoryData(id=asked.id)
    for topic in asked.topics:
        of_topic = TopicData(topic_id=topic.topic_id)
        answer.topics.append(of_topic)
        for partition in topic.partitions:
            key = PartitionKey(topic.topic_id, partition.partition_index)
            error = _refusal(changes, broker_id, key)
            of_topic.partitions.append(PartitionData(key.partition, error))
            if error is ErrorCode.NONE:
                changes.change(key, Target(directories={broker_id: asked.id}))
                if is_online:
                    offline.pop(key, None)
                else:
                    offline[key] = None
    return answer


def _refusal(changes: PartitionChanges, broker_id: int, key: PartitionKey) -> ErrorCode:
    if key.topic_id not in changes.view.image.topics.by_id:
        return ErrorCode.UNKNOWN_TOPIC_ID
    partition = changes.get(key)
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if broker_id not in partition.replicas:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return ErrorCode.NONE


def _refused(error: ErrorCode) -> Result[AssignReplicasToDirsResponse]:
    return Result((), AssignReplicasToDirsResponse(error_code=error))
