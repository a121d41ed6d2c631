"""Produce (key 0), served v3-v13.

v5 log start offset in the answer; v7 zstd; v8 error message and per-record errors; v9 flexible;
v10 leader hints (sent once there is another leader to hint at); v12 transactions of version 2;
v13 topic ids instead of names. acks=0 gets no answer; when it fails, the connection is closed,
which is all that such a client can notice. Records stay as they are: each partition's one batch
is checked by its header and CRC, gets its offset, and is acknowledged when it is in the file.
Topics that look into batches (compacted ones, those with a codec of their own) have it done
beforehand, in a thread and in slices.

Missing: transactional batches are refused with INVALID_TXN_STATE, as long as there is no
transaction coordinator to have begun a transaction.
"""

import asyncio
from collections.abc import Awaitable
from struct import Struct
from typing import Final, TypeAlias, cast

from barnabas_core.log.append import OpenedAppend, opens_batches
from barnabas_core.log.error import AppendError, LogOffline
from barnabas_core.log.producers.producer_state import AppendOrigin
from barnabas_core.ports import Buffer, Clock, DiskError, Executor
from barnabas_core.records.batch import (
    COMPRESSION_MASK,
    LENGTH_OVERHEAD_BYTES,
    MAGIC,
    TRANSACTIONAL,
)
from barnabas_core.records.compression import Compression
from barnabas_core.server.deferred import Deferred
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

from barnabas_broker.metadata_memory import MemoryMetadata
from barnabas_broker.partitions.partition import Partition
from barnabas_broker.partitions.registry import Partitions
from barnabas_broker.partitions.turn_writer import TurnWriter
from barnabas_broker.topic_name import is_internal

_ZSTD_VERSION: Final = 7
_TOPIC_ID_VERSION: Final = 13
_ADMIN_CLIENT_ID: Final = "__admin_client"  # the one client that may write to internal topics

_BATCH_START: Final = Struct(">8xi4xb4xh")  # length, magic, attributes
# Records that are looked at between two turns of the event loop: about a millisecond.
_SLICE_RECORDS: Final = 1_000

_ACKS: Final = (-1, 0, 1)
_NO_LEADER_HINT: Final = LeaderIdAndEpoch()


Opened: TypeAlias = dict[tuple[str, int], OpenedAppend | AppendError]
"""What became of the batches that were looked into, by topic and partition."""
_NOTHING_OPENED: Final[Opened] = {}


class ProduceAnswer(Deferred[ProduceResponse]):
    """The answer, complete but for the writes it waits for; a token is a place in `_responses`."""

    __slots__ = ("_responses", "_waits_for", "message", "opened")

    def __init__(self, message: ProduceResponse, opened: Opened) -> None:
        super().__init__()
        self.opened = opened
        self.message = message
        self._responses: list[PartitionProduceResponse] = []
        self._waits_for = 0

    @property
    def is_waiting(self) -> bool:
        return self._waits_for > 0

    def wait(
        self, partition: Partition, last_offset: int, answer: PartitionProduceResponse
    ) -> None:
        self._waits_for += 1
        self._responses.append(answer)
        partition.when_written(last_offset, self, len(self._responses) - 1)

    def on_written(self, token: int) -> None:
        self._waits_for -= 1
        if not self._waits_for:
            self.resolve(self.message)

    def on_write_failed(self, token: int) -> None:
        response = self._responses[token]
        response.error_code = ErrorCode.KAFKA_STORAGE_ERROR
        response.base_offset = response.log_append_time_ms = response.log_start_offset = -1
        self.on_written(token)


class ProduceHandler:
    def __init__(
        self,
        partitions: Partitions,
        metadata: MemoryMetadata,
        writer: TurnWriter,
        clock: Clock,
        executor: Executor,
    ) -> None:
        self._partitions = partitions
        self._metadata = metadata
        self._writer = writer
        self._clock = clock
        self._executor = executor

    def handle(
        self, request: ProduceRequest, context: RequestContext
    ) -> ProduceResponse | ProduceAnswer | Awaitable[ProduceResponse | None] | None:
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
            records = _checked(data.records, context.api_version)
            opened = await self._executor.in_thread(lambda: OpenedAppend(records, partition.config))
            while not opened.advance(_SLICE_RECORDS):  # noqa: ASYNC110  no event: others' turn
                await asyncio.sleep(0)
        except AppendError as refusal:
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
        answer = ProduceAnswer(message, opened)
        for topic in request.topic_data:
            message.responses.append(self._topic(topic, request.acks, context, answer))
        if request.acks == 0:
            _close_if_failed(message)
            return None
        return answer if answer.is_waiting else message

    def _topic(
        self, topic: TopicProduceData, acks: int, context: RequestContext, answer: ProduceAnswer
    ) -> TopicProduceResponse:
        error = ErrorCode.NONE if acks in _ACKS else ErrorCode.INVALID_REQUIRED_ACKS
        name = self._name_of(topic, context)
        if context.api_version >= _TOPIC_ID_VERSION and not name:
            error = error or ErrorCode.UNKNOWN_TOPIC_ID
        if is_internal(name) and context.client_id != _ADMIN_CLIENT_ID:
            error = error or ErrorCode.INVALID_TOPIC_EXCEPTION
        responses = []
        for data in topic.partition_data:
            if error is not ErrorCode.NONE:
                responses.append(_failed(data.index, error, None))
                continue
            try:
                responses.append(self._partition(name, data, context.api_version, answer))
            except AppendError as refusal:
                responses.append(_failed(data.index, refusal.error_code, str(refusal)))
            except LogOffline:
                responses.append(_failed(data.index, ErrorCode.KAFKA_STORAGE_ERROR, None))
        return TopicProduceResponse(topic.name, topic.topic_id, responses)

    def _partition(
        self, name: str, data: PartitionProduceData, version: int, answer: ProduceAnswer
    ) -> PartitionProduceResponse:
        partition = self._partitions.find(name, data.index)
        if partition is None:
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return _failed(data.index, code, None)
        opened = answer.opened.get((name, data.index))
        if isinstance(opened, AppendError):
            raise opened
        records = _checked(data.records, version) if opened is None else opened.buffer
        log = partition.log
        try:
            appended = log.stage(
                records,
                leader_epoch=partition.leader_epoch,
                origin=AppendOrigin.CLIENT,
                now_ms=self._clock.now_ms(),
                is_opened=opened is not None,
            )
        except DiskError as failure:
            self._partitions.fail(partition, failure)
            return _failed(data.index, ErrorCode.KAFKA_STORAGE_ERROR, None)
        response = PartitionProduceResponse(
            data.index,
            0,
            appended.first_offset,
            appended.log_append_time_ms,
            appended.log_start_offset,
            current_leader=_NO_LEADER_HINT,
        )
        if appended.last_offset >= log.log_end_offset:
            answer.wait(partition, appended.last_offset, response)
            self._writer.mark(partition)
        return response


def _checked(records: Buffer | None, version: int) -> memoryview:
    """What the request may not hold whatever the log thinks of it; the log checks the rest."""
    # A frame is a bytearray of its own, and so records are a writable view of it.
    view = cast("memoryview", records)
    if view is None or len(view) < _BATCH_START.size:
        raise AppendError(ErrorCode.INVALID_RECORD, "no record batch")
    length, magic, attributes = _BATCH_START.unpack_from(view)
    if magic != MAGIC or LENGTH_OVERHEAD_BYTES + length < len(view):
        reason = "exactly one record batch of magic 2 is wanted"
        raise AppendError(ErrorCode.INVALID_RECORD, reason)
    if attributes & COMPRESSION_MASK == Compression.ZSTD and version < _ZSTD_VERSION:
        reason = f"zstd needs version {_ZSTD_VERSION}"
        raise AppendError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, reason)
    if attributes & TRANSACTIONAL:
        raise AppendError(ErrorCode.INVALID_TXN_STATE, "there is no transaction coordinator")
    return view


def _failed(index: int, error: ErrorCode, reason: str | None) -> PartitionProduceResponse:
    return PartitionProduceResponse(
        index, error, -1, error_message=reason, current_leader=_NO_LEADER_HINT
    )


def _close_if_failed(message: ProduceResponse) -> None:
    for topic in message.responses:
        for partition in topic.partition_responses:
            if partition.error_code:
                name = ErrorCode(partition.error_code).name
                raise RequestRefused(f"Produce with acks=0 failed: {name}")
