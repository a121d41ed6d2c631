"""OffsetForLeaderEpoch (key 23), served v2-v4.

v2 the epoch in which the client believes the leader to be (KIP-320); v3 replica id, of no use here;
v4 flexible. Answers where the records of an epoch, or of the last known before it, end in the
leader's log: up to there a client that read in that epoch has read what still holds. An epoch that
the log does not know yet is answered with -1 and -1.

Followers do not ask this way: divergence is found on their replica stream.
"""

from barnabas_broker.absent_partition import absent_partition
from barnabas_broker.cluster_view import ClusterView
from barnabas_broker.partitions.registry import Partitions
from barnabas_core.server.dispatch import RequestContext
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
)
from barnabas_core.wire.messages.offset_for_leader_epoch_response import (
    EpochEndOffset,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)


class OffsetForLeaderEpochHandler:
    def __init__(self, partitions: Partitions, view: ClusterView) -> None:
        self._partitions = partitions
        self._view = view

    def handle(
        self, request: OffsetForLeaderEpochRequest, context: RequestContext
    ) -> OffsetForLeaderEpochResponse:
        return OffsetForLeaderEpochResponse(
            topics=[
                OffsetForLeaderTopicResult(
                    topic.topic, [self._answer(topic.topic, asked) for asked in topic.partitions]
                )
                for topic in request.topics
            ]
        )

    def _answer(self, topic: str, asked: OffsetForLeaderPartition) -> EpochEndOffset:
        index = asked.partition
        partition = self._partitions.find(topic, index)
        if partition is None:
            return EpochEndOffset(absent_partition(self._view, topic, index), index)
        if partition.log.is_offline:
            return EpochEndOffset(ErrorCode.KAFKA_STORAGE_ERROR, index)
        error = partition.check_leader(asked.current_leader_epoch)
        if error is not ErrorCode.NONE:
            return EpochEndOffset(error, index)
        epoch, end_offset = partition.log.end_offset_for_epoch(asked.leader_epoch)
        return EpochEndOffset(ErrorCode.NONE, index, epoch, end_offset)
