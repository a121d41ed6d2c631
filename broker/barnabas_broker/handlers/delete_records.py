"""DeleteRecords (key 21), served v0-v2.

v1 nothing new; v2 flexible. Moves the start of the leader's log, to the high watermark for offset
-1, and answers when every live replica has moved its own: when the partition's low watermark has
come so far, or with REQUEST_TIMED_OUT. Refused: what is not committed yet, internal topics, and
topics that are only compacted. The files of segments that hold nothing else go with the next
retention check.
"""

from barnabas_broker.absent_partition import absent_partition
from barnabas_broker.cluster_view import ClusterView
from barnabas_broker.partitions.partition import Partition
from barnabas_broker.partitions.purgatory import Purgatory
from barnabas_broker.partitions.registry import Partitions
from barnabas_broker.topic_name import is_internal
from barnabas_core.log.error import LogOffline, OffsetOutOfRange
from barnabas_core.server.deferred import Deferred
from barnabas_core.server.dispatch import RequestContext
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
)
from barnabas_core.wire.messages.delete_records_response import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

HIGH_WATERMARK = -1
_NO_LOW_WATERMARK = -1

Awaited = tuple[Partition, int, DeleteRecordsPartitionResult]
"""A partition, the offset that its low watermark has to reach, and where to say so."""


class DeleteRecordsHandler:
    def __init__(self, partitions: Partitions, view: ClusterView, purgatory: Purgatory) -> None:
        self._partitions = partitions
        self._view = view
        self._purgatory = purgatory

    def handle(
        self, request: DeleteRecordsRequest, context: RequestContext
    ) -> DeleteRecordsResponse | Deferred[DeleteRecordsResponse]:
        response = DeleteRecordsResponse()
        awaited: list[Awaited] = []
        for topic in request.topics:
            results = [self._delete(topic.name, asked, awaited) for asked in topic.partitions]
            response.topics.append(DeleteRecordsTopicResult(topic.name, results))
        waiting = [one for one in awaited if not _is_reached(one)]
        if not waiting:
            return response
        operation = _Deletion(response, waiting, self._purgatory)
        self._purgatory.wait(operation, operation.partitions, request.timeout_ms)
        return operation

    def _delete(
        self, topic: str, asked: DeleteRecordsPartition, awaited: list[Awaited]
    ) -> DeleteRecordsPartitionResult:
        result = DeleteRecordsPartitionResult(asked.partition_index, _NO_LOW_WATERMARK)
        partition = self._partitions.find(topic, asked.partition_index)
        if partition is None:
            result.error_code = absent_partition(self._view, topic, asked.partition_index)
        elif is_internal(topic):
            result.error_code = ErrorCode.INVALID_TOPIC_EXCEPTION
        else:
            result.error_code = _refusal(partition)
        if partition is None or result.error_code:
            return result
        offset = partition.high_watermark if asked.offset == HIGH_WATERMARK else asked.offset
        try:
            _advance(partition, offset)
        except OffsetOutOfRange:
            result.error_code = ErrorCode.OFFSET_OUT_OF_RANGE
            return result
        except LogOffline:
            result.error_code = ErrorCode.KAFKA_STORAGE_ERROR
            return result
        result.low_watermark = partition.low_watermark
        awaited.append((partition, offset, result))
        return result


class _Deletion(Deferred[DeleteRecordsResponse]):
    """Waits until every replica has followed."""

    __slots__ = ("_response", "_waiting")

    def __init__(
        self, response: DeleteRecordsResponse, waiting: list[Awaited], purgatory: Purgatory
    ) -> None:
        super().__init__(lambda: purgatory.forget(self))
        self._response = response
        self._waiting = waiting

    @property
    def partitions(self) -> list[Partition]:
        return [partition for partition, _, _ in self._waiting]

    def is_satisfied(self, changed: Partition) -> bool:
        return all(_is_settled(one) for one in self._waiting)

    def complete(self) -> None:
        for one in self._waiting:
            partition, _, result = one
            result.error_code = _error_of(partition)
            result.low_watermark = partition.low_watermark if partition.is_leader else -1
            if result.error_code == ErrorCode.NONE and not _is_reached(one):
                result.error_code = ErrorCode.REQUEST_TIMED_OUT
        self.resolve(self._response)


def _refusal(partition: Partition) -> ErrorCode:
    error = _error_of(partition)
    if error is ErrorCode.NONE and not partition.config.cleanup_delete:
        return ErrorCode.POLICY_VIOLATION
    return error


def _error_of(partition: Partition) -> ErrorCode:
    if partition.log.is_offline:
        return ErrorCode.KAFKA_STORAGE_ERROR
    return ErrorCode.NONE if partition.is_leader else ErrorCode.NOT_LEADER_OR_FOLLOWER


def _advance(partition: Partition, offset: int) -> None:
    if offset < 0:
        log = partition.log
        raise OffsetOutOfRange(offset, log.log_start_offset, log.high_watermark)
    if partition.log.advance_log_start(offset):
        partition.on_log_start_moved()


def _is_reached(awaited: Awaited) -> bool:
    partition, offset, _ = awaited
    return partition.low_watermark >= offset


def _is_settled(awaited: Awaited) -> bool:
    return _error_of(awaited[0]) is not ErrorCode.NONE or _is_reached(awaited)
