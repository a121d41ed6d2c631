"""The answer to a request that is to fail: every item that was asked for gets the error.

What the broker itself answers so (requests that it forwards) is in `error_response`; here are the
requests that a broker answers item by item and never refuses as a whole.
"""

from collections.abc import Callable
from typing import Any, Final

from barnabas_core.server.error_response import NoErrorResponse, error_response
from barnabas_core.wire.api import API_BY_KEY, ApiKey
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages import (
    delete_records_response,
    fetch_response,
    list_offsets_response,
    metadata_response,
    offset_for_leader_epoch_response,
    produce_response,
)
from barnabas_core.wire.messages.delete_records_request import DeleteRecordsRequest
from barnabas_core.wire.messages.fetch_request import FetchRequest
from barnabas_core.wire.messages.list_offsets_request import ListOffsetsRequest
from barnabas_core.wire.messages.metadata_request import MetadataRequest
from barnabas_core.wire.messages.offset_for_leader_epoch_request import OffsetForLeaderEpochRequest
from barnabas_core.wire.messages.produce_request import ProduceRequest
from barnabas_core.wire.schema import Message

_OF_THE_SESSION: Final = (
    ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
    ErrorCode.INVALID_FETCH_SESSION_EPOCH,
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
)


def can_fail(key: ApiKey) -> bool:
    """Has its response room for an error?"""
    try:
        fault_response(key, API_BY_KEY[key].request(), ErrorCode.UNKNOWN_SERVER_ERROR)
    except NoErrorResponse:
        return False
    return True


def fault_response(key: ApiKey, request: Message, error: ErrorCode) -> Message | None:
    """None where the request is to have no answer (Produce with acks=0)."""
    answer = _PER_PARTITION.get(key)
    if answer is None:
        return error_response(key, request, error, "a fault was asked for")
    return answer(request, int(error))


def _produce(request: ProduceRequest, error: int) -> Message | None:
    module = produce_response
    if request.acks == 0 and request.topic_data:
        return None
    return module.ProduceResponse(
        [
            module.TopicProduceResponse(
                topic.name,
                topic.topic_id,
                [
                    module.PartitionProduceResponse(partition.index, error, base_offset=-1)
                    for partition in topic.partition_data
                ],
            )
            for topic in request.topic_data
        ]
    )


def _fetch(request: FetchRequest, error: int) -> Message:
    module = fetch_response
    # An incremental fetch names no partition that goes on as before: only the whole can fail.
    is_whole = error in _OF_THE_SESSION or not request.topics
    return module.FetchResponse(
        error_code=error if is_whole else 0,
        responses=[
            module.FetchableTopicResponse(
                topic.topic,
                topic.topic_id,
                [
                    module.PartitionData(one.partition, error, high_watermark=-1, records=b"")
                    for one in topic.partitions
                ],
            )
            for topic in (() if is_whole else request.topics)
        ],
    )


def _metadata(request: MetadataRequest, error: int) -> Message:
    module = metadata_response
    return module.MetadataResponse(
        topics=[
            module.MetadataResponseTopic(error, topic.name, topic.topic_id)
            for topic in request.topics or ()
        ],
        error_code=error,
    )


def _list_offsets(request: ListOffsetsRequest, error: int) -> Message:
    module = list_offsets_response
    return module.ListOffsetsResponse(
        topics=[
            module.ListOffsetsTopicResponse(
                topic.name,
                [
                    module.ListOffsetsPartitionResponse(one.partition_index, error)
                    for one in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _offset_for_leader_epoch(request: OffsetForLeaderEpochRequest, error: int) -> Message:
    module = offset_for_leader_epoch_response
    return module.OffsetForLeaderEpochResponse(
        topics=[
            module.OffsetForLeaderTopicResult(
                topic.topic,
                [module.EpochEndOffset(error, one.partition) for one in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _delete_records(request: DeleteRecordsRequest, error: int) -> Message:
    module = delete_records_response
    return module.DeleteRecordsResponse(
        topics=[
            module.DeleteRecordsTopicResult(
                topic.name,
                [
                    module.DeleteRecordsPartitionResult(one.partition_index, -1, error)
                    for one in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


_PER_PARTITION: Final[dict[ApiKey, Callable[[Any, int], Message | None]]] = {
    ApiKey.PRODUCE: _produce,
    ApiKey.FETCH: _fetch,
    ApiKey.METADATA: _metadata,
    ApiKey.LIST_OFFSETS: _list_offsets,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: _offset_for_leader_epoch,
    ApiKey.DELETE_RECORDS: _delete_records,
}
