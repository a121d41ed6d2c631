"""Produce (key 0), served v3-v13.

v5 log start offset in the answer; v7 zstd; v8 error message and per-record errors; v9 flexible;
v10 leader hints (KIP-951); v12 transactions of version 2; v13 topic ids instead of names. acks=0
gets no answer; when it fails, the connection is closed, which is all that such a client can notice.
acks=all is answered when every replica in sync has the records, or when the request's time is up.
Records stay as they are: each partition's one batch
is checked by its header and CRC, gets its offset, and is acknowledged when it is in the file.
Topics that look into batches (compacted ones, those with a codec of their own) have it done
beforehand, in a thread and in slices.

Missing: transactional batches are refused with INVALID_TXN_STATE, as long as there is no
transaction coordinator to have begun a transaction.
"""

import asyncio
from collections.abc import Awaitable
from typing import Final

from barnabas_broker.absent_partition import absent_partition
from barnabas_broker.cluster_view import ClusterView
from barnabas_broker.partitions.partition import ALL_IN_SYNC, Partition
from barnabas_broker.partitions.purgatory import Purgatory
from barnabas_broker.partitions.registry import Partitions
from barnabas_broker.partitions.turn_writer import TurnWriter
from barnabas_broker.producing.produce_answer import Opened, ProduceAnswer
from barnabas_broker.producing.record_errors import (
    RecordsRefused,
    is_about_keys,
    keyless,
    untimely,
)
from barnabas_broker.producing.request_check import (
    BadRequest,
    checked_records,
    drop_repetitions,
)
from barnabas_broker.topic_name import is_internal
from barnabas_core.log.append import OpenedAppend, opens_batches
from barnabas_core.log.error import AppendError, LogOffline
from barnabas_core.log.producers.producer_state import AppendOrigin
from barnabas_core.ports import Clock, DiskError, Executor
from barnabas_core.server.dispatch import RequestContext, RequestRefused
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas_core.wire.messages.produce_response import (
    LeaderIdAndEpoch,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)

_TOPIC_ID_VERSION: Final = 13
_ADMIN_CLIENT_ID: Final = "__admin_client"  # the one client that may write to internal topics

# Records that are looked at between two turns of the event loop: about a millisecond.
_SLICE_RECORDS: Final = 1_000

_ACKS: Final = (-1, 0, 1)
# Refusals that Kafka makes before it looks at the log.
_WITHOUT_LOG_START: Final = (
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.RECORD_LIST_TOO_LARGE,
    ErrorCode.CORRUPT_MESSAGE,
)
_NO_LEADER_HINT: Final = LeaderIdAndEpoch()


_NOTHING_OPENED: Final[Opened] = {}


class ProduceHandler:
    def __init__(
        self,
        partitions: Partitions,
        metadata: ClusterView,
        writer: TurnWriter,
        clock: Clock,
        executor: Executor,
        purgatory: Purgatory,
    ) -> None:
        self._purgatory = purgatory
        # Not yet timed: most are answered before the turn of the event loop is over.
        self._untimed: list[ProduceAnswer] = []
        self._partitions = partitions
        self._metadata = metadata
        self._writer = writer
        self._clock = clock
        self._executor = executor

    def handle(
        self, request: ProduceRequest, context: RequestContext
    ) -> ProduceResponse | ProduceAnswer | Awaitable[ProduceResponse | None] | None:
        topics = request.topic_data
        if len(topics) != 1 or len(topics[0].partition_data) != 1:
            drop_repetitions(request)
        for topic in request.topic_data:
            name = self._name_of(topic, context)
            for data in topic.partition_data:
                partition = self._partitions.find(name, data.index)
                if partition is not None and opens_batches(partition.config):
                    return self._open_and_append(request, context)
        return self._append(request, context, _NOTHING_OPENED)

    async def _open_and_append(
        self, request: ProduceRequest, context: RequestContext
    ) -> ProduceResponse | None:
        opened: Opened = {}
        for topic in request.topic_data:
            name = self._name_of(topic, context)
            for data in topic.partition_data:
                partition = self._partitions.find(name, data.index)
                if partition is not None and opens_batches(partition.config):
                    opened[name, data.index] = await self._open(partition, data, context)
        reply = self._append(request, context, opened)
        if not isinstance(reply, ProduceAnswer):
            return reply
        written = asyncio.Event()
        reply.then(lambda _: written.set())
        await written.wait()
        return reply.message

    async def _open(
        self, partition: Partition, data: PartitionProduceData, context: RequestContext
    ) -> OpenedAppend | AppendError:
        try:
            records = checked_records(data.records, context.api_version)
        except AppendError as refusal:
            return refusal
        try:
            opened = await self._executor.in_thread(lambda: OpenedAppend(records, partition.config))
            while not opened.advance(_SLICE_RECORDS):  # noqa: ASYNC110  no event: others' turn
                await asyncio.sleep(0)
        except AppendError as refusal:
            if is_about_keys(refusal):
                return await keyless(records, self._executor)
            return refusal
        return opened

    def _name_of(self, topic: TopicProduceData, context: RequestContext) -> str:
        """Empty if there is no topic of that id."""
        if context.api_version < _TOPIC_ID_VERSION:
            return topic.name
        image = self._metadata.topic_by_id(topic.topic_id)
        return "" if image is None else image.name

    def _append(
        self, request: ProduceRequest, context: RequestContext, opened: Opened
    ) -> ProduceResponse | ProduceAnswer | None:
        message = ProduceResponse()
        answer = ProduceAnswer(message, opened, self._metadata, context)
        for topic in request.topic_data:
            message.responses.append(self._topic(topic, request.acks, context, answer))
        if request.acks == 0:
            _close_if_failed(message)
            return None
        if answer.is_waiting:
            if request.acks == ALL_IN_SYNC:
                answer.timeout_ms = request.timeout_ms
                if not self._untimed:
                    # Behind the writer, which was called first.
                    asyncio.get_running_loop().call_soon(self._start_timers)
                self._untimed.append(answer)
            return answer
        answer.name_leaders()
        return message

    def _start_timers(self) -> None:
        """This turn's writes are done: who still waits does so for replicas, or for a thread."""
        untimed, self._untimed = self._untimed, []
        for answer in untimed:
            if not answer.is_done:
                answer.start_timer(self._purgatory)

    def _topic(
        self, topic: TopicProduceData, acks: int, context: RequestContext, answer: ProduceAnswer
    ) -> TopicProduceResponse:
        name = self._name_of(topic, context)
        error = ErrorCode.NONE
        if not name and context.api_version >= _TOPIC_ID_VERSION:
            error = ErrorCode.UNKNOWN_TOPIC_ID
        elif acks not in _ACKS:
            error = ErrorCode.INVALID_REQUIRED_ACKS
        elif is_internal(name) and context.client_id != _ADMIN_CLIENT_ID:
            error = ErrorCode.INVALID_TOPIC_EXCEPTION
        responses = []
        for data in topic.partition_data:
            if error is not ErrorCode.NONE:
                responses.append(self._refused(name, data, error))
                continue
            try:
                responses.append(self._partition(name, data, acks, context, answer))
            except AppendError as refusal:
                responses.append(self._failed_append(data.index, refusal, name))
            except (LogOffline, DiskError) as failure:
                self._maybe_fail(name, data.index, failure)
                storage = ErrorCode.KAFKA_STORAGE_ERROR
                responses.append(self._failed(data.index, storage, name, answer))
        return TopicProduceResponse(topic.name, topic.topic_id, responses)

    def _refused(
        self, name: str, data: PartitionProduceData, error: ErrorCode
    ) -> PartitionProduceResponse:
        """For what is wrong with the whole request or topic, if there is that partition at all."""
        if error is not ErrorCode.UNKNOWN_TOPIC_ID and not self._metadata.partition(
            name, data.index
        ):
            error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return _failure(data.index, error)

    def _partition(
        self,
        name: str,
        data: PartitionProduceData,
        acks: int,
        context: RequestContext,
        answer: ProduceAnswer,
    ) -> PartitionProduceResponse:
        partition = self._partitions.find(name, data.index)
        if partition is None:
            error = absent_partition(self._metadata, name, data.index)
            return self._failed(data.index, error, name, answer)
        log = partition.log
        opened = answer.opened.get((log.topic, data.index)) if answer.opened else None
        if opened is None:
            records: bytearray | memoryview = checked_records(data.records, context.api_version)
        elif isinstance(opened, AppendError):
            raise opened
        else:
            records = opened.buffer
        error = partition.check_append(acks)
        if error is not ErrorCode.NONE:
            return self._failed(data.index, error, name, answer)
        now_ms = self._clock.now_ms()
        try:
            appended = log.stage(
                records,
                leader_epoch=partition.leader_epoch,
                origin=AppendOrigin.CLIENT,
                now_ms=now_ms,
                is_opened=opened is not None,
            )
        except AppendError as refusal:
            if refusal.error_code is ErrorCode.INVALID_TIMESTAMP:
                raise untimely(refusal, records, partition.config, now_ms) from refusal
            raise
        response = PartitionProduceResponse(
            data.index,
            0,
            appended.first_offset,
            appended.log_append_time_ms,
            appended.log_start_offset,
            current_leader=_NO_LEADER_HINT,
        )
        if log.staged_end_offset > log.log_end_offset:
            self._writer.mark(partition)
        if acks == ALL_IN_SYNC and appended.last_offset >= log.high_watermark:
            answer.wait_committed(partition, appended.last_offset, response)
        elif acks != ALL_IN_SYNC and appended.last_offset >= log.log_end_offset:
            answer.wait_written(partition, appended.last_offset, response)
        return response

    # --- what went wrong

    def _failed(
        self, index: int, error: ErrorCode, name: str, answer: ProduceAnswer
    ) -> PartitionProduceResponse:
        response = _failure(index, error)
        answer.maybe_hint(response, name, self._partitions.find(name, index))
        return response

    def _failed_append(
        self, index: int, refusal: AppendError, name: str
    ) -> PartitionProduceResponse:
        response = _failure(index, refusal.error_code, str(refusal))
        partition = self._partitions.find(name, index)
        assert partition is not None, "it was asked"
        if not isinstance(refusal, BadRequest) and refusal.error_code not in _WITHOUT_LOG_START:
            response.log_start_offset = partition.log.log_start_offset
        if isinstance(refusal, RecordsRefused):
            response.record_errors = refusal.record_errors
        return response

    def _maybe_fail(self, name: str, index: int, failure: Exception) -> None:
        partition = self._partitions.find(name, index)
        if partition is not None and isinstance(failure, DiskError):
            self._partitions.fail(partition, failure)


def _failure(index: int, error: ErrorCode, reason: str | None = None) -> PartitionProduceResponse:
    return PartitionProduceResponse(
        index, error, -1, error_message=reason, current_leader=_NO_LEADER_HINT
    )


def _close_if_failed(message: ProduceResponse) -> None:
    for topic in message.responses:
        for partition in topic.partition_responses:
            if partition.error_code:
                name = ErrorCode(partition.error_code).name
                raise RequestRefused(f"Produce with acks=0 failed: {name}")
