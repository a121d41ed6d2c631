"""Fetch (key 1), served v4-v18.

v4 isolation level; v5 log start offset; v7 sessions; v9 leader epoch; v11 rack; v12 flexible,
last fetched epoch with a diverging epoch in the answer; v13 topic ids instead of names; v15
replica state; v16 leader hints (sent once there is another leader to hint at); v17, v18 for
followers. The answer comes when `min_bytes` are there, when `max_wait_ms` are over, or at once
when a partition has an error. The first partition with anything gives at least one batch, however
large; what does not fit `max_bytes` after that comes with the next fetch.

Missing: sessions (KIP-227). Whoever asks for one is answered in full with session id 0, as by a
Kafka whose session cache is full; an incremental fetch is answered with
FETCH_SESSION_ID_NOT_FOUND. A fetch with a replica id is refused: followers replicate by another
way.
"""

from collections.abc import Awaitable
from typing import Final

from barnabas_core.log.error import LogOffline, OffsetOutOfRange
from barnabas_core.log.read import LogRead, ReadPending
from barnabas_core.ports import DiskError
from barnabas_core.server.deferred import Deferred
from barnabas_core.server.dispatch import RequestContext
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from barnabas_core.wire.messages.fetch_response import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    PartitionData,
    SnapshotId,
)

from barnabas_broker.metadata_memory import MemoryMetadata
from barnabas_broker.partitions.cold_reader import ColdReader
from barnabas_broker.partitions.partition import Partition
from barnabas_broker.partitions.purgatory import Purgatory
from barnabas_broker.partitions.registry import Partitions

_TOPIC_ID_VERSION: Final = 13
_READ_COMMITTED: Final = 1
_INITIAL_EPOCH: Final = 0
_FINAL_EPOCH: Final = -1

# Shared by all answers: nobody changes what has no value.
_NO_DIVERGENCE: Final = EpochEndOffset()
_NO_LEADER_HINT: Final = LeaderIdAndEpoch()
_NO_SNAPSHOT: Final = SnapshotId()


class FetchHandler:
    def __init__(
        self,
        partitions: Partitions,
        metadata: MemoryMetadata,
        purgatory: Purgatory,
        cold_reader: ColdReader,
        response_bytes_max: int,
    ) -> None:
        self.partitions = partitions
        self.purgatory = purgatory
        self.cold_reader = cold_reader
        self._metadata = metadata
        self._response_bytes_max = response_bytes_max

    def handle(
        self, request: FetchRequest, context: RequestContext
    ) -> FetchResponse | Deferred[FetchResponse] | Awaitable[FetchResponse]:
        error = _check_request(request)
        if error is not ErrorCode.NONE:
            return FetchResponse(error_code=error)
        fetch = PendingFetch(self, request, min(request.max_bytes, self._response_bytes_max))
        for topic in request.topics:
            name, topic_error = self._name_of(topic, context.api_version)
            for wanted in topic.partitions:
                fetch.add(topic, wanted, self.partitions.find(name, wanted.partition), topic_error)
        return fetch.begin()

    def _name_of(self, topic: FetchTopic, version: int) -> tuple[str, ErrorCode]:
        """The name, and the error for partitions that are not found."""
        if version < _TOPIC_ID_VERSION:
            return topic.topic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        image = self._metadata.topic_by_id(topic.topic_id)
        if image is None:
            return "", ErrorCode.UNKNOWN_TOPIC_ID
        return image.name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _check_request(request: FetchRequest) -> ErrorCode:
    if request.replica_id >= 0 or request.replica_state.replica_id >= 0:
        return ErrorCode.INVALID_REQUEST
    if request.session_epoch in (_INITIAL_EPOCH, _FINAL_EPOCH):
        return ErrorCode.NONE
    return ErrorCode.FETCH_SESSION_ID_NOT_FOUND


class _Target:
    """One partition of a fetch."""

    __slots__ = ("available", "error", "partition", "topic", "wanted")

    def __init__(
        self,
        topic: FetchTopic,
        wanted: FetchPartition,
        partition: Partition | None,
        error: ErrorCode,
    ) -> None:
        self.topic = topic
        self.wanted = wanted
        self.partition = partition
        self.error = error  # if there is no such partition
        self.available = 0  # bytes it had when it was last looked at


class PendingFetch:
    """A fetch from its request to its answer; in between it may wait in the purgatory."""

    __slots__ = (
        "_answer",
        "_handler",
        "_max_bytes",
        "_may_block",
        "_read_committed",
        "_request",
        "_targets",
    )

    def __init__(self, handler: FetchHandler, request: FetchRequest, max_bytes: int) -> None:
        self._handler = handler
        self._request = request
        self._max_bytes = max_bytes
        self._read_committed = request.isolation_level == _READ_COMMITTED
        self._targets: list[_Target] = []
        self._may_block = False
        self._answer: Deferred[FetchResponse] | None = None

    def add(
        self,
        topic: FetchTopic,
        wanted: FetchPartition,
        partition: Partition | None,
        error: ErrorCode,
    ) -> None:
        self._targets.append(_Target(topic, wanted, partition, error))

    def begin(self) -> FetchResponse | Deferred[FetchResponse] | Awaitable[FetchResponse]:
        try:
            response, must_wait = self._read()
        except ReadPending as pending:
            return self._begin_cold(pending)
        return self._wait() if must_wait else response

    async def _begin_cold(self, pending: ReadPending) -> FetchResponse:
        """What is being read is not in memory: find it in a thread, and do not wait for more."""
        while True:
            try:
                await self._handler.cold_reader.warm(pending)
            except DiskError:
                # Reading it once more, waiting or not, shows whose log it was.
                self._may_block = True
            try:
                return self._read()[0]
            except ReadPending as more:
                pending = more

    def _wait(self) -> Deferred[FetchResponse]:
        self._answer = Deferred(lambda: self._handler.purgatory.forget(self))
        partitions = [target.partition for target in self._targets if target.partition is not None]
        self._handler.purgatory.wait(self, partitions, self._request.max_wait_ms)
        return self._answer

    # -- as an operation in the purgatory

    def is_satisfied(self, changed: Partition) -> bool:
        total = 0
        for target in self._targets:
            if target.partition is changed:
                try:
                    max_bytes = target.wanted.partition_max_bytes
                    target.available = len(self._read_log(changed, target.wanted, max_bytes))
                except (ReadPending, LogOffline, OffsetOutOfRange, DiskError):
                    return True  # reading it again will tell
            total += target.available
        return total >= self._request.min_bytes

    def complete(self) -> None:
        assert self._answer is not None
        try:
            response, _ = self._read()
        except ReadPending as pending:
            self._complete_cold(pending)
        else:
            self._answer.resolve(response)

    def _complete_cold(self, pending: ReadPending) -> None:
        answer = self._answer
        assert answer is not None

        async def finish() -> None:
            answer.resolve(await self._begin_cold(pending))

        self._handler.cold_reader.start(finish())

    # -- reading

    def _read(self) -> tuple[FetchResponse, bool]:
        """(the answer as of now, whether it is worth waiting for more)"""
        response = FetchResponse()
        room = self._max_bytes
        total = 0
        has_error = not self._targets
        topic: FetchTopic | None = None
        for target in self._targets:
            if target.topic is not topic:
                topic = target.topic
                partitions: list[PartitionData] = []
                response.responses.append(
                    FetchableTopicResponse(topic.topic, topic.topic_id, partitions)
                )
            data = self._read_target(target, room, is_first=not total)
            partitions.append(data)
            size = len(data.records or b"")
            target.available = size
            total += size
            room = max(room - size, 0)
            has_error |= data.error_code != 0 or data.diverging_epoch is not _NO_DIVERGENCE
        must_wait = (
            total < self._request.min_bytes and self._request.max_wait_ms > 0 and not has_error
        )
        return response, must_wait

    def _read_target(self, target: _Target, room: int, *, is_first: bool) -> PartitionData:
        index = target.wanted.partition
        partition = target.partition
        if partition is None:
            return _failed(index, target.error)
        error = partition.check_leader_epoch(target.wanted.current_leader_epoch)
        if error is not ErrorCode.NONE:
            return _failed(index, error)
        try:
            return self._read_partition(partition, target.wanted, room, is_first=is_first)
        except OffsetOutOfRange:
            return _failed(index, ErrorCode.OFFSET_OUT_OF_RANGE)
        except LogOffline:
            return _failed(index, ErrorCode.KAFKA_STORAGE_ERROR)
        except DiskError as failure:
            self._handler.partitions.fail(partition, failure)
            return _failed(index, ErrorCode.KAFKA_STORAGE_ERROR)

    def _read_partition(
        self, partition: Partition, wanted: FetchPartition, room: int, *, is_first: bool
    ) -> PartitionData:
        log = partition.log
        divergence = _divergence(partition, wanted)
        data = PartitionData(
            wanted.partition,
            0,
            log.high_watermark,
            log.last_stable_offset,
            log.log_start_offset,
            divergence,
            _NO_LEADER_HINT,
            _NO_SNAPSHOT,
            [] if self._read_committed else None,
            records=b"",
        )
        if divergence is not _NO_DIVERGENCE:
            return data
        if not room and not is_first:
            return data
        read = self._read_log(partition, wanted, min(wanted.partition_max_bytes, room))
        # At least one batch is read whatever the limit: that is for the first partition only.
        if len(read) and (is_first or len(read) <= room):
            data.records = read
            if self._read_committed:
                data.aborted_transactions = [
                    AbortedTransaction(each.producer_id, each.first_offset)
                    for each in log.aborted_transactions(
                        wanted.fetch_offset, log.last_stable_offset
                    )
                ]
        return data

    def _read_log(self, partition: Partition, wanted: FetchPartition, max_bytes: int) -> LogRead:
        up_to = partition.visible_end(read_committed=self._read_committed)
        return partition.log.read(
            wanted.fetch_offset, max_bytes, up_to=up_to, may_block=self._may_block
        )


def _divergence(partition: Partition, wanted: FetchPartition) -> EpochEndOffset:
    """Where the reader's log and this one part, if they do (KIP-595)."""
    if wanted.last_fetched_epoch < 0:
        return _NO_DIVERGENCE
    log = partition.log
    epoch, end_offset = log.end_offset_for_epoch(wanted.last_fetched_epoch)
    if epoch < 0 or end_offset < 0:
        raise OffsetOutOfRange(wanted.fetch_offset, log.log_start_offset, log.log_end_offset)
    if epoch < wanted.last_fetched_epoch or end_offset < wanted.fetch_offset:
        return EpochEndOffset(epoch, end_offset)
    return _NO_DIVERGENCE


def _failed(index: int, error: ErrorCode) -> PartitionData:
    return PartitionData(
        index,
        error,
        -1,
        -1,
        -1,
        _NO_DIVERGENCE,
        _NO_LEADER_HINT,
        _NO_SNAPSHOT,
        None,
        records=b"",
    )
