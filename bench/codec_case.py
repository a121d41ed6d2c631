"""The messages that the codec is measured with: what a client and a broker send all day."""

from typing import NamedTuple

from barnabas_core.wire.api import API_BY_KEY
from barnabas_core.wire.messages.api_versions_request import ApiVersionsRequest
from barnabas_core.wire.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from barnabas_core.wire.messages.consumer_group_heartbeat_request import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from barnabas_core.wire.messages.consumer_group_heartbeat_response import (
    Assignment,
    ConsumerGroupHeartbeatResponse,
)
from barnabas_core.wire.messages.consumer_group_heartbeat_response import (
    TopicPartitions as AssignedPartitions,
)
from barnabas_core.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from barnabas_core.wire.messages.fetch_response import (
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from barnabas_core.wire.messages.heartbeat_request import HeartbeatRequest
from barnabas_core.wire.messages.heartbeat_response import HeartbeatResponse
from barnabas_core.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from barnabas_core.wire.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from barnabas_core.wire.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas_core.wire.messages.offset_commit_response import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from barnabas_core.wire.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas_core.wire.messages.produce_response import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from barnabas_core.wire.schema import Message

TOPIC_ID = bytes(range(16))
RECORDS = bytes(1024)


class Case(NamedTuple):
    label: str
    message: Message
    version: int


def cases() -> list[Case]:
    return [
        *_sessions(),
        Case("Metadata request", _metadata_request(), 13),
        Case("Metadata response, 1 partition", _metadata(1), 13),
        Case("Metadata response, 1,000 partitions", _metadata(1_000), 13),
        Case("Produce request", _produce_request(), 13),
        Case("Produce response", _produce_response(), 13),
        Case("Fetch request, 1 partition", _fetch_request(1), 17),
        Case("Fetch request, 100 partitions", _fetch_request(100), 17),
        Case("Fetch response, 1 partition", _fetch_response(1), 17),
        Case("Fetch response, 100 partitions", _fetch_response(100), 17),
        *_groups(),
    ]


def _sessions() -> list[Case]:
    apis = [ApiVersion(api.key, api.min_version, api.max_version) for api in API_BY_KEY.values()]
    request = ApiVersionsRequest(client_software_name="bench", client_software_version="1.0")
    return [
        Case("ApiVersions request", request, 4),
        Case("ApiVersions response", ApiVersionsResponse(api_keys=apis), 4),
    ]


def _groups() -> list[Case]:
    committed = OffsetCommitRequestTopic(
        topic_id=TOPIC_ID,
        partitions=[
            OffsetCommitRequestPartition(partition, 1_000_000, 3, "") for partition in range(3)
        ],
    )
    answered = OffsetCommitResponseTopic(
        topic_id=TOPIC_ID,
        partitions=[OffsetCommitResponsePartition(partition) for partition in range(3)],
    )
    commit = OffsetCommitRequest("orders", 5, "member-1", None, topics=[committed])
    assignment = Assignment([AssignedPartitions(TOPIC_ID, [0, 1, 2])])
    member = ConsumerGroupHeartbeatRequest(
        group_id="orders",
        member_id="Y2xpZW50LTE",
        member_epoch=5,
        rebalance_timeout_ms=300_000,
        subscribed_topic_names=["orders"],
        topic_partitions=[TopicPartitions(TOPIC_ID, [0, 1, 2])],
    )
    answer = ConsumerGroupHeartbeatResponse(
        member_id="Y2xpZW50LTE", member_epoch=5, assignment=assignment
    )
    return [
        Case("OffsetCommit request", commit, 10),
        Case("OffsetCommit response", OffsetCommitResponse(topics=[answered]), 10),
        Case("Heartbeat request", HeartbeatRequest("orders", 5, "member-1", None), 4),
        Case("Heartbeat response", HeartbeatResponse(), 4),
        Case("ConsumerGroupHeartbeat request", member, 1),
        Case("ConsumerGroupHeartbeat response", answer, 1),
    ]


def _metadata_request() -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequestTopic(name="orders")])


def _metadata(partition_count: int) -> MetadataResponse:
    partitions = [
        MetadataResponsePartition(0, index, index % 3, 7, [0, 1, 2], [0, 1, 2])
        for index in range(partition_count)
    ]
    return MetadataResponse(
        brokers=[MetadataResponseBroker(node, f"broker-{node}", 9092) for node in range(3)],
        cluster_id="Y2x1c3Rlci0xMjM0NTY3OA",
        controller_id=1,
        topics=[MetadataResponseTopic(0, "orders", TOPIC_ID, partitions=partitions)],
    )


def _produce_request() -> ProduceRequest:
    data = PartitionProduceData(0, memoryview(RECORDS))
    topic = TopicProduceData(topic_id=TOPIC_ID, partition_data=[data])
    return ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[topic])


def _produce_response() -> ProduceResponse:
    partition = PartitionProduceResponse(0, 0, 1_000_000)
    topic = TopicProduceResponse(topic_id=TOPIC_ID, partition_responses=[partition])
    return ProduceResponse(responses=[topic])


def _fetch_request(partition_count: int) -> FetchRequest:
    partitions = [
        FetchPartition(index, 7, 1_000_000, -1, -1, 1_048_576) for index in range(partition_count)
    ]
    topic = FetchTopic(topic_id=TOPIC_ID, partitions=partitions)
    return FetchRequest(max_wait_ms=500, min_bytes=1, session_id=12, topics=[topic])


def _fetch_response(partition_count: int) -> FetchResponse:
    partitions = [
        PartitionData(
            index,
            high_watermark=1_000_000,
            last_stable_offset=1_000_000,
            log_start_offset=0,
            aborted_transactions=[],
            records=memoryview(RECORDS),
        )
        for index in range(partition_count)
    ]
    topic = FetchableTopicResponse(topic_id=TOPIC_ID, partitions=partitions)
    return FetchResponse(session_id=12, responses=[topic])
