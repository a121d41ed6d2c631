"""DescribeProducers (key 61), served v0 (KIP-664).

What a replica's log knows of the producers that wrote to it, idempotent and transactional; leaders
and followers answer alike. A producer whose transaction is ongoing tells where that began.
"""

from barnabas_broker.absent_partition import absent_partition
from barnabas_broker.cluster_view import ClusterView
from barnabas_broker.partitions.registry import Partitions
from barnabas_core.log.error import LogOffline
from barnabas_core.log.producers.producer_entry import ProducerEntry
from barnabas_core.metadata.topic_name import topic_name_fault
from barnabas_core.ports import DiskError
from barnabas_core.server.dispatch import RequestContext
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.describe_producers_request import DescribeProducersRequest
from barnabas_core.wire.messages.describe_producers_response import (
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)


class DescribeProducersHandler:
    def __init__(self, partitions: Partitions, view: ClusterView) -> None:
        self._partitions = partitions
        self._view = view

    def handle(
        self, request: DescribeProducersRequest, context: RequestContext
    ) -> DescribeProducersResponse:
        return DescribeProducersResponse(
            topics=[
                TopicResponse(
                    topic.name,
                    [self._answer(topic.name, index) for index in topic.partition_indexes],
                )
                for topic in request.topics
            ]
        )

    def _answer(self, topic: str, index: int) -> PartitionResponse:
        fault = topic_name_fault(topic)
        if fault is not None:
            return PartitionResponse(index, ErrorCode.INVALID_TOPIC_EXCEPTION, fault)
        partition = self._partitions.find(topic, index)
        if partition is None:
            return PartitionResponse(index, absent_partition(self._view, topic, index))
        if partition.log.is_offline:
            return PartitionResponse(index, ErrorCode.KAFKA_STORAGE_ERROR)
        try:
            entries = partition.log.producers.entries()
        except LogOffline:
            return PartitionResponse(index, ErrorCode.KAFKA_STORAGE_ERROR)
        except DiskError as failure:
            self._partitions.fail(partition, failure)
            return PartitionResponse(index, ErrorCode.KAFKA_STORAGE_ERROR)
        return PartitionResponse(index, active_producers=[_state(entry) for entry in entries])


def _state(entry: ProducerEntry) -> ProducerState:
    return ProducerState(
        entry.producer_id,
        entry.epoch,
        entry.last_sequence,
        entry.timestamp_ms,
        entry.coordinator_epoch,
        entry.transaction_first_offset,
    )
