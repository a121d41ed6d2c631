"""Metadata (key 3), served v0-v13.

v0 asks for all topics with an empty list, v1+ with null; v4 whether topics may be created; v7
leader epoch; v8 authorised operations (of the cluster up to v10); v9 flexible; v10 topic ids in
the answer, v12 in the request; v13 an error for the whole answer. An unknown topic is created
where both the client and `auto.create.topics.enable` allow it, and is in the answer at once:
Kafka answers an error first and lets the client ask again.

A leader that cannot be reached by this listener is none: LISTENER_NOT_FOUND where the broker is
known but does not have it (v6), else LEADER_NOT_AVAILABLE. v0 leaves out replicas that cannot be
reached, and says so with REPLICA_NOT_AVAILABLE; later clients look at the offline replicas (v5).
"""

from collections.abc import Awaitable, Callable
from typing import Final

from barnabas_broker.authorized_operations import CLUSTER_OPERATIONS, TOPIC_OPERATIONS
from barnabas_broker.cluster_view import ClusterView
from barnabas_broker.topic_name import is_internal
from barnabas_core.metadata.partition_image import NO_LEADER, PartitionImage
from barnabas_core.metadata.topic_name import topic_name_fault
from barnabas_core.metadata.topics_image import TopicImage
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

_NULL_MEANS_ALL_VERSION: Final = 1
_TOPIC_ID_VERSION: Final = 12
_ALL_REPLICAS_VERSION: Final = 1
_LISTENER_ERROR_VERSION: Final = 6

CreateTopics = Callable[[list[str]], Awaitable[dict[str, ErrorCode]]]


class MetadataHandler:
    def __init__(self, metadata: ClusterView, create_topics: CreateTopics | None) -> None:
        """`create_topics` None: topics are not created by asking for them."""
        self._metadata = metadata
        self._create_topics = create_topics

    def handle(
        self, request: MetadataRequest, context: RequestContext
    ) -> MetadataResponse | Awaitable[MetadataResponse]:
        missing = self._to_create(request)
        if missing:
            return self._create_and_answer(request, context, missing)
        return self._answer(request, context, {})

    def _to_create(self, request: MetadataRequest) -> list[str]:
        if self._create_topics is None or not request.allow_auto_topic_creation:
            return []
        return [
            topic.name
            for topic in request.topics or ()
            if topic.name
            and topic.topic_id == ZERO_UUID
            and topic_name_fault(topic.name) is None
            and self._metadata.topic(topic.name) is None
        ]

    async def _create_and_answer(
        self, request: MetadataRequest, context: RequestContext, missing: list[str]
    ) -> MetadataResponse:
        assert self._create_topics is not None
        errors = await self._create_topics(missing)
        return self._answer(request, context, errors)

    def _answer(
        self, request: MetadataRequest, context: RequestContext, errors: dict[str, ErrorCode]
    ) -> MetadataResponse:
        metadata = self._metadata
        version, listener = context.api_version, context.peer.listener
        response = MetadataResponse(
            brokers=[
                MetadataResponseBroker(node.node_id, node.host, node.port, node.rack)
                for node in metadata.nodes(listener)
            ],
            cluster_id=metadata.cluster_id,
            controller_id=metadata.controller_id,
        )
        if request.topics is None or (not request.topics and version < _NULL_MEANS_ALL_VERSION):
            response.topics = [self._topic(image, context) for image in metadata.topics()]
        else:
            asked = {(each.topic_id, each.name): each for each in request.topics}
            response.topics = [self._asked_for(each, context, errors) for each in asked.values()]
        if request.include_topic_authorized_operations:
            for topic in response.topics:
                if not topic.error_code:
                    topic.topic_authorized_operations = TOPIC_OPERATIONS
        if request.include_cluster_authorized_operations:
            response.cluster_authorized_operations = CLUSTER_OPERATIONS
        return response

    def _asked_for(
        self, asked: MetadataRequestTopic, context: RequestContext, errors: dict[str, ErrorCode]
    ) -> MetadataResponseTopic:
        if asked.topic_id != ZERO_UUID or asked.name is None:
            return self._asked_for_by_id(asked, context)
        name = asked.name
        if topic_name_fault(name) is not None:
            return MetadataResponseTopic(ErrorCode.INVALID_TOPIC_EXCEPTION, name)
        image = self._metadata.topic(name)
        if image is not None:
            return self._topic(image, context)
        error = errors.get(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return MetadataResponseTopic(error, name, is_internal=is_internal(name))

    def _asked_for_by_id(
        self, asked: MetadataRequestTopic, context: RequestContext
    ) -> MetadataResponseTopic:
        version = context.api_version
        name = asked.name if version >= _TOPIC_ID_VERSION else asked.name or ""
        if version < _TOPIC_ID_VERSION or asked.topic_id == ZERO_UUID:
            return MetadataResponseTopic(ErrorCode.INVALID_REQUEST, name, asked.topic_id)
        image = self._metadata.topic_by_id(asked.topic_id)
        if image is None:
            return MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_ID, name, asked.topic_id)
        return self._topic(image, context)

    def _topic(self, image: TopicImage, context: RequestContext) -> MetadataResponseTopic:
        return MetadataResponseTopic(
            0,
            image.name,
            image.id,
            is_internal(image.name),
            [
                self._partition(index, image.partitions[index], context)
                for index in sorted(image.partitions)
            ],
        )

    def _partition(
        self, index: int, image: PartitionImage, context: RequestContext
    ) -> MetadataResponsePartition:
        version, listener = context.api_version, context.peer.listener
        replicas, isr = list(image.replicas), list(image.isr)
        error = ErrorCode.NONE
        if version < _ALL_REPLICAS_VERSION:
            replicas, isr = self._reachable(replicas, listener), self._reachable(isr, listener)
            if len(replicas) < len(image.replicas) or len(isr) < len(image.isr):
                error = ErrorCode.REPLICA_NOT_AVAILABLE
        has_leader = self._metadata.has_listener(image.leader, listener)
        if not has_leader:
            error = self._leader_error(image, context)
        return MetadataResponsePartition(
            error,
            index,
            image.leader if has_leader else NO_LEADER,
            image.leader_epoch,
            replicas,
            isr,
            self._metadata.offline_replicas(image),
        )

    def _reachable(self, broker_ids: list[int], listener: str) -> list[int]:
        return [one for one in broker_ids if self._metadata.has_listener(one, listener)]

    def _leader_error(self, image: PartitionImage, context: RequestContext) -> ErrorCode:
        broker = self._metadata.image.cluster.brokers.get(image.leader)
        if broker is None or context.api_version < _LISTENER_ERROR_VERSION:
            return ErrorCode.LEADER_NOT_AVAILABLE
        return ErrorCode.LISTENER_NOT_FOUND
