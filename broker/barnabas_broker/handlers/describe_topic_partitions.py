"""DescribeTopicPartitions (key 75), served v0 (KIP-966).

Topics in the order of their names, with the replicas that may be elected although they are not in
sync (ELR). At most `max.request.partition.size.limit` partitions at a time, or fewer if the client
wants so: a cursor in the answer says where to go on, and in the next request where to begin. The
cursor's topic must be among the topics asked for; a request that breaks this has no field for an
error, so every topic of the answer carries INVALID_REQUEST.
"""

from typing import Final

from barnabas_broker.authorized_operations import TOPIC_OPERATIONS
from barnabas_broker.cluster_view import ClusterView
from barnabas_broker.topic_name import is_internal
from barnabas_core.metadata.partition_image import NO_LEADER, PartitionImage
from barnabas_core.metadata.topic_name import topic_name_fault
from barnabas_core.metadata.topics_image import TopicImage
from barnabas_core.server.dispatch import RequestContext
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.describe_topic_partitions_request import (
    DescribeTopicPartitionsRequest,
)
from barnabas_core.wire.messages.describe_topic_partitions_response import (
    Cursor,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)

_PARTITION_COUNT_MAX: Final = 2_000


class DescribeTopicPartitionsHandler:
    def __init__(self, view: ClusterView, partition_count_max: int = _PARTITION_COUNT_MAX) -> None:
        """`partition_count_max`: `max.request.partition.size.limit`."""
        self._view = view
        self._partition_count_max = partition_count_max

    def handle(
        self, request: DescribeTopicPartitionsRequest, context: RequestContext
    ) -> DescribeTopicPartitionsResponse:
        if not _is_valid(request):
            return _refused(request)
        page = _Page(self._view, context.peer.listener, self._limit(request))
        page.fill(self._wanted(request), request)
        return page.response

    def _limit(self, request: DescribeTopicPartitionsRequest) -> int:
        return max(min(self._partition_count_max, request.response_partition_limit), 1)

    def _wanted(self, request: DescribeTopicPartitionsRequest) -> list[str]:
        names = dict.fromkeys(topic.name for topic in request.topics or self._view.topics())
        first = request.cursor.topic_name if request.cursor is not None else ""
        return sorted(name for name in names if name >= first)


def _is_valid(request: DescribeTopicPartitionsRequest) -> bool:
    cursor = request.cursor
    if cursor is None:
        return True
    is_asked_for = any(topic.name == cursor.topic_name for topic in request.topics)
    return cursor.partition_index >= 0 and (is_asked_for or not request.topics)


def _refused(request: DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse:
    return DescribeTopicPartitionsResponse(
        topics=[
            DescribeTopicPartitionsResponseTopic(ErrorCode.INVALID_REQUEST, topic.name)
            for topic in request.topics
        ]
    )


class _Page:
    """One answer, filled topic by topic until it is full."""

    def __init__(self, view: ClusterView, listener: str, room: int) -> None:
        self._view = view
        self._listener = listener
        self._room = room
        self.response = DescribeTopicPartitionsResponse()

    def fill(self, names: list[str], request: DescribeTopicPartitionsRequest) -> None:
        cursor = request.cursor
        for name in names:
            if not self._room:
                self.response.next_cursor = Cursor(name, 0)
                return
            first = 0
            if cursor is not None and cursor.topic_name == name:
                first = cursor.partition_index
            image = self._view.topic(name)
            if image is None:
                self.response.topics.append(_unknown(name))
                continue
            following = self._add(image, first)
            if following is not None:
                self.response.next_cursor = Cursor(name, following)
                return

    def _add(self, image: TopicImage, first: int) -> int | None:
        """The partition with which to go on, if there is no room for all."""
        end = min(len(image.partitions), first + self._room)
        partitions = [
            self._partition(index, image.partitions[index])
            for index in range(first, end)
            if index in image.partitions
        ]
        self._room -= len(partitions)
        self.response.topics.append(
            DescribeTopicPartitionsResponseTopic(
                ErrorCode.NONE,
                image.name,
                image.id,
                is_internal(image.name),
                partitions,
                TOPIC_OPERATIONS,
            )
        )
        return end if end < len(image.partitions) else None

    def _partition(
        self, index: int, image: PartitionImage
    ) -> DescribeTopicPartitionsResponsePartition:
        has_leader = self._view.has_listener(image.leader, self._listener)
        return DescribeTopicPartitionsResponsePartition(
            ErrorCode.NONE,
            index,
            image.leader if has_leader else NO_LEADER,
            image.leader_epoch,
            list(image.replicas),
            list(image.isr),
            list(image.eligible_leader_replicas),
            list(image.last_known_elr),
            self._view.offline_replicas(image),
        )


def _unknown(name: str) -> DescribeTopicPartitionsResponseTopic:
    error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if topic_name_fault(name) is not None:
        error = ErrorCode.INVALID_TOPIC_EXCEPTION
    return DescribeTopicPartitionsResponseTopic(
        error,
        name,
        is_internal=is_internal(name),
        topic_authorized_operations=TOPIC_OPERATIONS,
    )
