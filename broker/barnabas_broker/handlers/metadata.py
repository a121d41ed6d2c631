"""Metadata (key 3), served v0-v13.

v0 asks for all topics with an empty list, v1+ with null; v4 whether topics may be created; v7
leader epoch; v8 authorised operations (of the cluster up to v10); v9 flexible; v10 topic ids in
the answer, v12 in the request; v13 an error for the whole answer. An unknown topic is created
where both the client and `auto.create.topics.enable` allow it, and is in the answer at once:
Kafka answers an error first and lets the client ask again.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from barnabas_core.server.dispatch import RequestContext
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from barnabas_core.wire.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from barnabas_core.wire.schema import ZERO_UUID

from barnabas_broker.metadata_memory import MemoryMetadata, PartitionImage, TopicImage
from barnabas_broker.topic_name import is_internal, is_valid

_NULL_MEANS_ALL_VERSION: Final = 1
_TOPIC_ID_VERSION: Final = 12

# Bit n stands for operation n of Kafka's AclOperation. Without an authoriser everything is allowed.
_TOPIC_OPERATIONS: Final = sum(1 << bit for bit in (3, 4, 5, 6, 7, 8, 10, 11))
_CLUSTER_OPERATIONS: Final = sum(1 << bit for bit in (5, 7, 8, 9, 10, 11, 12))

CreateTopic = Callable[[str], Awaitable[ErrorCode]]


class MetadataHandler:
    def __init__(self, metadata: MemoryMetadata, create_topic: CreateTopic | None) -> None:
        """`create_topic` None: topics are not created by asking for them."""
        self._metadata = metadata
        self._create_topic = create_topic

    def handle(
        self, request: MetadataRequest, context: RequestContext
    ) -> MetadataResponse | Awaitable[MetadataResponse]:
        missing = self._to_create(request)
        if missing:
            return self._create_and_answer(request, context.api_version, missing)
        return self._answer(request, context.api_version, {})

    def _to_create(self, request: MetadataRequest) -> list[str]:
        if self._create_topic is None or not request.allow_auto_topic_creation:
            return []
        return [
            topic.name
            for topic in request.topics or ()
            if topic.name
            and topic.topic_id == ZERO_UUID
            and is_valid(topic.name)
            and self._metadata.topic(topic.name) is None
        ]

    async def _create_and_answer(
        self, request: MetadataRequest, version: int, missing: list[str]
    ) -> MetadataResponse:
        assert self._create_topic is not None
        errors = {name: await self._create_topic(name) for name in missing}
        return self._answer(request, version, errors)

    def _answer(
        self, request: MetadataRequest, version: int, errors: dict[str, ErrorCode]
    ) -> MetadataResponse:
        metadata = self._metadata
        response = MetadataResponse(
            brokers=[
                MetadataResponseBroker(node.node_id, node.host, node.port, node.rack)
                for node in metadata.brokers
            ],
            cluster_id=metadata.cluster_id,
            controller_id=metadata.controller_id,
        )
        if request.topics is None or (not request.topics and version < _NULL_MEANS_ALL_VERSION):
            response.topics = [_topic(image) for image in metadata.topics()]
        else:
            response.topics = [self._asked_for(each, version, errors) for each in request.topics]
        if request.include_topic_authorized_operations:
            for topic in response.topics:
                if not topic.error_code:
                    topic.topic_authorized_operations = _TOPIC_OPERATIONS
        if request.include_cluster_authorized_operations:
            response.cluster_authorized_operations = _CLUSTER_OPERATIONS
        return response

    def _asked_for(
        self, asked: MetadataRequestTopic, version: int, errors: dict[str, ErrorCode]
    ) -> MetadataResponseTopic:
        if asked.topic_id != ZERO_UUID or asked.name is None:
            return self._asked_for_by_id(asked, version)
        name = asked.name
        if not is_valid(name):
            return MetadataResponseTopic(ErrorCode.INVALID_TOPIC_EXCEPTION, name)
        image = self._metadata.topic(name)
        if image is not None:
            return _topic(image)
        error = errors.get(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return MetadataResponseTopic(error, name, is_internal=is_internal(name))

    def _asked_for_by_id(self, asked: MetadataRequestTopic, version: int) -> MetadataResponseTopic:
        name = asked.name if version >= _TOPIC_ID_VERSION else asked.name or ""
        if version < _TOPIC_ID_VERSION or asked.topic_id == ZERO_UUID:
            return MetadataResponseTopic(ErrorCode.INVALID_REQUEST, name, asked.topic_id)
        image = self._metadata.topic_by_id(asked.topic_id)
        if image is None:
            return MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_ID, name, asked.topic_id)
        return _topic(image)


def _topic(image: TopicImage) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        0,
        image.name,
        image.topic_id,
        is_internal(image.name),
        [_partition(index, each) for index, each in enumerate(image.partitions)],
    )


def _partition(index: int, image: PartitionImage) -> MetadataResponsePartition:
    error = ErrorCode.NONE if image.leader_id >= 0 else ErrorCode.LEADER_NOT_AVAILABLE
    return MetadataResponsePartition(
        error,
        index,
        image.leader_id,
        image.leader_epoch,
        list(image.replicas),
        list(image.isr),
        list(image.offline_replicas),
    )
