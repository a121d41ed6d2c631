"""What the feed of metadata says, in Kafka's own messages: Fetch for records, FetchSnapshot.

A client asks as an observer of the quorum would, but any controller answers, and only with what is
committed. `last_fetched_epoch` is -1 for a client that has nothing yet. Where records below its
offset are gone, or it has nothing and there is a snapshot, the answer names the snapshot instead.
"""

from dataclasses import dataclass
from typing import Final

from barnabas_core.ports.disk import Buffer
from barnabas_core.ports.link import Call, CallRefused
from barnabas_core.raft.raft_log import SnapshotChunk, SnapshotId
from barnabas_core.raft.wire_request import PARTITION, TOPIC, TOPIC_ID
from barnabas_core.wire.api import ApiKey
from barnabas_core.wire.codec import decode, encode
from barnabas_core.wire.error import DecodeError
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages import fetch_request, fetch_response
from barnabas_core.wire.messages import fetch_snapshot_request as snapshot_request
from barnabas_core.wire.messages import fetch_snapshot_response as snapshot_response

FETCH_VERSION: Final = 17
SNAPSHOT_VERSION: Final = 1
NO_EPOCH: Final = -1


class BadAnswer(Exception):
    """A controller answered what makes no sense."""


@dataclass(frozen=True, slots=True)
class FeedRequest:
    """Records from `offset` on, please. Who asks is known from the stream."""

    offset: int
    epoch: int
    """Of the last record or snapshot that was applied; `NO_EPOCH`: nothing was."""
    max_bytes: int
    max_wait_ms: int


@dataclass(frozen=True, slots=True)
class FeedAnswer:
    high_watermark: int
    records: Buffer = b""
    """Whole batches, committed."""
    snapshot_id: SnapshotId | None = None
    """To be loaded first."""


@dataclass(frozen=True, slots=True)
class SnapshotRequest:
    snapshot_id: SnapshotId
    position: int
    max_bytes: int


def feed_call(request: FeedRequest) -> Call:
    partition = fetch_request.FetchPartition(
        partition=PARTITION,
        fetch_offset=request.offset,
        last_fetched_epoch=request.epoch,
        partition_max_bytes=request.max_bytes,
    )
    message = fetch_request.FetchRequest(
        max_wait_ms=request.max_wait_ms,
        max_bytes=request.max_bytes,
        topics=[fetch_request.FetchTopic(topic_id=TOPIC_ID, partitions=[partition])],
    )
    return Call(ApiKey.FETCH, FETCH_VERSION, encode(message, FETCH_VERSION))


def read_feed_call(call: Call) -> FeedRequest:
    if call.api_version != FETCH_VERSION:
        raise CallRefused(f"the feed of metadata is served in version {FETCH_VERSION} of Fetch")
    try:
        message = decode(fetch_request.FetchRequest, FETCH_VERSION, bytes(call.body))
    except DecodeError as error:
        raise CallRefused(f"malformed Fetch: {error}") from error
    if [topic.topic_id for topic in message.topics] != [TOPIC_ID]:
        raise CallRefused("the feed of metadata has one topic")
    partitions = message.topics[0].partitions
    if [partition.partition for partition in partitions] != [PARTITION]:
        raise CallRefused("the feed of metadata has one partition")
    return FeedRequest(
        max(partitions[0].fetch_offset, 0),
        partitions[0].last_fetched_epoch,
        message.max_bytes,
        message.max_wait_ms,
    )


def feed_answer(answer: FeedAnswer) -> bytes:
    partition = fetch_response.PartitionData(
        partition_index=PARTITION,
        high_watermark=answer.high_watermark,
        records=answer.records,
    )
    if answer.snapshot_id is not None:
        partition.snapshot_id = fetch_response.SnapshotId(*answer.snapshot_id)
    topic = fetch_response.FetchableTopicResponse(topic_id=TOPIC_ID, partitions=[partition])
    return encode(fetch_response.FetchResponse(responses=[topic]), FETCH_VERSION)


def read_feed_answer(body: Buffer) -> FeedAnswer:
    try:
        message = decode(fetch_response.FetchResponse, FETCH_VERSION, body)
        partition = message.responses[0].partitions[0]
    except (DecodeError, IndexError) as error:
        raise BadAnswer(f"Fetch: {error}") from error
    named = partition.snapshot_id
    snapshot_id = SnapshotId(named.end_offset, named.epoch) if named.end_offset >= 0 else None
    records = partition.records
    return FeedAnswer(
        partition.high_watermark, records if isinstance(records, Buffer) else b"", snapshot_id
    )


def snapshot_call(request: SnapshotRequest) -> Call:
    partition = snapshot_request.PartitionSnapshot(
        partition=PARTITION,
        current_leader_epoch=NO_EPOCH,
        snapshot_id=snapshot_request.SnapshotId(*request.snapshot_id),
        position=request.position,
    )
    message = snapshot_request.FetchSnapshotRequest(
        max_bytes=request.max_bytes,
        topics=[snapshot_request.TopicSnapshot(name=TOPIC, partitions=[partition])],
    )
    return Call(ApiKey.FETCH_SNAPSHOT, SNAPSHOT_VERSION, encode(message, SNAPSHOT_VERSION))


def read_snapshot_call(call: Call) -> SnapshotRequest:
    if call.api_version != SNAPSHOT_VERSION:
        raise CallRefused(f"snapshots are served in version {SNAPSHOT_VERSION} of FetchSnapshot")
    try:
        message = decode(snapshot_request.FetchSnapshotRequest, SNAPSHOT_VERSION, bytes(call.body))
        partition = message.topics[0].partitions[0]
    except (DecodeError, IndexError) as error:
        raise CallRefused(f"malformed FetchSnapshot: {error}") from error
    named = partition.snapshot_id
    return SnapshotRequest(
        SnapshotId(named.end_offset, named.epoch),
        max(partition.position, 0),
        message.max_bytes,
    )


def snapshot_answer(request: SnapshotRequest, chunk: SnapshotChunk | None) -> bytes:
    """None: there is no such snapshot (any more)."""
    partition = snapshot_response.PartitionSnapshot(
        index=PARTITION,
        error_code=ErrorCode.NONE if chunk else ErrorCode.SNAPSHOT_NOT_FOUND,
        snapshot_id=snapshot_response.SnapshotId(*request.snapshot_id),
        size=chunk.size_bytes if chunk else 0,
        position=request.position,
        unaligned_records=chunk.data if chunk else b"",
    )
    topic = snapshot_response.TopicSnapshot(name=TOPIC, partitions=[partition])
    return encode(snapshot_response.FetchSnapshotResponse(topics=[topic]), SNAPSHOT_VERSION)


def read_snapshot_answer(body: Buffer) -> SnapshotChunk | None:
    try:
        message = decode(snapshot_response.FetchSnapshotResponse, SNAPSHOT_VERSION, body)
        partition = message.topics[0].partitions[0]
    except (DecodeError, IndexError) as error:
        raise BadAnswer(f"FetchSnapshot: {error}") from error
    if partition.error_code:
        return None
    records = partition.unaligned_records
    return SnapshotChunk(partition.size, bytes(records) if isinstance(records, Buffer) else b"")
