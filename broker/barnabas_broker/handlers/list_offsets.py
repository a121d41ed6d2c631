"""ListOffsets (key 2), served v1-v11.

v2 isolation level; v4 leader epoch; v6 flexible; v7 timestamp -3, the record with the largest
timestamp; v8 -4, the earliest offset on this disk; v9 -5, the last offset in the tier; v10
time-out (for a tier that answers late: there is none, nothing waits); v11 -6, the earliest offset
that waits for its upload. Without a tier -4 is the log start, and -5 and -6 are unknown (-1).

A new leader whose high watermark has not reached the start of its epoch does not know yet what is
committed: what may be beyond is OFFSET_NOT_AVAILABLE, LEADER_NOT_AVAILABLE before v5.
"""

from collections.abc import Awaitable
from typing import Final

from barnabas_broker.absent_partition import absent_partition
from barnabas_broker.cluster_view import ClusterView
from barnabas_broker.partitions.partition import Partition
from barnabas_broker.partitions.registry import Partitions
from barnabas_core.log.error import LogOffline
from barnabas_core.ports import DiskError, Executor
from barnabas_core.server.dispatch import RequestContext
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
)
from barnabas_core.wire.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6
_FIRST_VERSION: Final = {
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
_LEADER_EPOCH_VERSION: Final = 4
_UNCERTAIN_VERSION: Final = 5
_READ_COMMITTED: Final = 1
_UNKNOWN_OFFSET: Final = -1


class ListOffsetsHandler:
    def __init__(self, partitions: Partitions, view: ClusterView, executor: Executor) -> None:
        self._partitions = partitions
        self._view = view
        self._executor = executor

    def handle(
        self, request: ListOffsetsRequest, context: RequestContext
    ) -> ListOffsetsResponse | Awaitable[ListOffsetsResponse]:
        query = _Query(context.api_version, request.isolation_level == _READ_COMMITTED)
        response = ListOffsetsResponse()
        lookups: list[tuple[Partition, ListOffsetsPartition, ListOffsetsPartitionResponse]] = []
        for topic in request.topics:
            answers = []
            repeated = _repeated([each.partition_index for each in topic.partitions])
            for asked in topic.partitions:
                partition = self._partitions.find(topic.name, asked.partition_index)
                error = query.check(partition, asked, is_repeated=asked.partition_index in repeated)
                if partition is None and error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    error = absent_partition(self._view, topic.name, asked.partition_index)
                answer = ListOffsetsPartitionResponse(asked.partition_index, error)
                answers.append(answer)
                if partition is None or error is not ErrorCode.NONE:
                    continue
                if asked.timestamp >= 0 or asked.timestamp == MAX_TIMESTAMP:
                    lookups.append((partition, asked, answer))
                else:
                    query.answer_special(partition, asked.timestamp, answer)
            response.topics.append(ListOffsetsTopicResponse(topic.name, answers))
        return self._look_up(query, lookups, response) if lookups else response

    async def _look_up(
        self,
        query: "_Query",
        lookups: list[tuple[Partition, ListOffsetsPartition, ListOffsetsPartitionResponse]],
        response: ListOffsetsResponse,
    ) -> ListOffsetsResponse:
        """By timestamp: reads indexes and batches, so in a thread, one partition at a time."""
        for partition, asked, answer in lookups:
            try:
                await self._find_record(query, partition, asked.timestamp, answer)
            except LogOffline:
                answer.error_code = ErrorCode.KAFKA_STORAGE_ERROR
        return response

    async def _find_record(
        self,
        query: "_Query",
        partition: Partition,
        timestamp: int,
        answer: ListOffsetsPartitionResponse,
    ) -> None:
        log = partition.log
        try:
            if timestamp == MAX_TIMESTAMP:
                found = await self._executor.in_thread(log.max_timestamp_offset)
            else:
                found = await self._executor.in_thread(lambda: log.offset_for_timestamp(timestamp))
        except DiskError as failure:
            if not log.is_offline:  # else it was deleted or moved meanwhile
                self._partitions.fail(partition, failure)
            answer.error_code = ErrorCode.KAFKA_STORAGE_ERROR
            return
        if found is None:
            return
        if found.offset < partition.visible_end(read_committed=query.read_committed):
            answer.timestamp = found.timestamp_ms
            answer.offset = found.offset
            query.set_epoch(answer, found.leader_epoch)
        elif _is_uncertain(partition):
            answer.error_code = query.uncertain
        # Else it is not visible yet, and so not found either.


class _Query:
    """What holds for all partitions of a request."""

    __slots__ = ("read_committed", "version")

    def __init__(self, version: int, read_committed: bool) -> None:  # noqa: FBT001
        self.version = version
        self.read_committed = read_committed

    @property
    def uncertain(self) -> ErrorCode:
        if self.version < _UNCERTAIN_VERSION:
            return ErrorCode.LEADER_NOT_AVAILABLE
        return ErrorCode.OFFSET_NOT_AVAILABLE

    def check(
        self, partition: Partition | None, asked: ListOffsetsPartition, *, is_repeated: bool
    ) -> ErrorCode:
        if is_repeated:
            return ErrorCode.INVALID_REQUEST
        if asked.timestamp < EARLIEST_PENDING_UPLOAD:
            return ErrorCode.UNSUPPORTED_VERSION
        if self.version < _FIRST_VERSION.get(asked.timestamp, 0):
            return ErrorCode.UNSUPPORTED_VERSION
        if partition is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if partition.log.is_offline:
            return ErrorCode.KAFKA_STORAGE_ERROR
        return partition.check_leader(asked.current_leader_epoch)

    def answer_special(
        self, partition: Partition, timestamp: int, answer: ListOffsetsPartitionResponse
    ) -> None:
        if timestamp == LATEST and _is_uncertain(partition):
            answer.error_code = self.uncertain
        elif timestamp == LATEST:
            answer.offset = partition.visible_end(read_committed=self.read_committed)
            self.set_epoch(answer, partition.leader_epoch)
        elif timestamp in (EARLIEST, EARLIEST_LOCAL):
            answer.offset = partition.log.log_start_offset
            self.set_epoch(answer, partition.epoch_at(answer.offset))
        else:
            answer.offset = _UNKNOWN_OFFSET

    def set_epoch(self, answer: ListOffsetsPartitionResponse, leader_epoch: int) -> None:
        # Older versions cannot say it, and refuse to be encoded with it.
        if self.version >= _LEADER_EPOCH_VERSION:
            answer.leader_epoch = leader_epoch


def _is_uncertain(partition: Partition) -> bool:
    leadership = partition.leadership
    return leadership is not None and partition.high_watermark < leadership.start_offset


def _repeated(indexes: list[int]) -> frozenset[int]:
    if len(indexes) == len(set(indexes)):
        return frozenset()
    return frozenset(index for index in indexes if indexes.count(index) > 1)
