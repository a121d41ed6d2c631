"""What admin clients ask of brokers: librdkafka's admin client and raw requests, real brokers."""

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._listoffsets import OffsetSpec
from confluent_kafka.admin._resource import ResourceType

from barnabas import EmbeddedCluster
from barnabas_core.metadata.keyed_image import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    TOPIC_RESOURCE,
)
from barnabas_core.records.builder import build_batch
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from barnabas_core.wire.messages.delete_records_response import DeleteRecordsResponse
from barnabas_core.wire.messages.describe_cluster_request import DescribeClusterRequest
from barnabas_core.wire.messages.describe_cluster_response import DescribeClusterResponse
from barnabas_core.wire.messages.describe_configs_request import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from barnabas_core.wire.messages.describe_configs_response import DescribeConfigsResponse
from barnabas_core.wire.messages.describe_log_dirs_request import DescribeLogDirsRequest
from barnabas_core.wire.messages.describe_log_dirs_response import DescribeLogDirsResponse
from barnabas_core.wire.messages.describe_producers_request import (
    DescribeProducersRequest,
    TopicRequest,
)
from barnabas_core.wire.messages.describe_producers_response import DescribeProducersResponse
from barnabas_core.wire.messages.describe_topic_partitions_request import (
    Cursor,
    DescribeTopicPartitionsRequest,
)
from barnabas_core.wire.messages.describe_topic_partitions_response import (
    DescribeTopicPartitionsResponse,
)
from barnabas_core.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from barnabas_core.wire.messages.incremental_alter_configs_response import (
    IncrementalAlterConfigsResponse,
)
from barnabas_core.wire.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from barnabas_core.wire.messages.offset_for_leader_epoch_response import (
    OffsetForLeaderEpochResponse,
)
from barnabas_core.wire.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas_core.wire.messages.produce_response import ProduceResponse
from tests.support.raw_client import RawClient, highest_version

TOPIC = "administered"
TIMEOUT_S = 30
OFFSETS: Any = OffsetSpec  # untyped


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(brokers=2, config={"num.io.threads": "3"}) as running:
        running.create_topic(TOPIC, partitions=3, replication_factor=1)
        yield running


@pytest.fixture
def admin(cluster: EmbeddedCluster) -> AdminClient:
    return AdminClient({"bootstrap.servers": cluster.bootstrap_servers})


def leader_of(cluster: EmbeddedCluster, topic: str) -> RawClient:
    broker_id = cluster.leader_of(topic, 0)
    assert broker_id is not None
    return client_of(cluster, broker_id)


def client_of(cluster: EmbeddedCluster, broker_id: int) -> RawClient:
    broker = next(one for one in cluster.brokers if one.view.node_id == broker_id)
    (at,) = broker.advertised
    return RawClient((at.host, at.port))


def produce(client: RawClient, topic: str, count: int = 1, producer_id: int = -1) -> None:
    for number in range(count):
        batch = build_batch(
            [(b"k", b"v")],
            timestamp_ms=1_700_000_000_000,
            producer_id=producer_id,
            producer_epoch=-1 if producer_id < 0 else 1,
            base_sequence=-1 if producer_id < 0 else number,
        )
        data = TopicProduceData(topic, partition_data=[PartitionProduceData(0, batch)])
        request = ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[data])
        answer = client.ask(request, 12, ProduceResponse)
        assert answer.responses[0].partition_responses[0].error_code == 0


def test_the_cluster_is_described(admin: AdminClient, cluster: EmbeddedCluster) -> None:
    described = admin.describe_cluster(include_authorized_operations=True).result(TIMEOUT_S)

    assert sorted(node.id for node in described.nodes) == [1, 2]
    assert described.cluster_id == cluster.broker.view.cluster_id
    assert described.controller.id in (1, 2)
    assert len(described.authorized_operations) == 7


def test_topics_are_described(admin: AdminClient) -> None:
    futures = admin.describe_topics(TopicCollection([TOPIC]), include_authorized_operations=True)

    described = futures[TOPIC].result(TIMEOUT_S)

    assert [partition.id for partition in described.partitions] == [0, 1, 2]
    assert len(described.authorized_operations) == 8


def test_configs_of_topics_and_brokers_are_described(admin: AdminClient) -> None:
    topic = ConfigResource(ResourceType.TOPIC, TOPIC)
    broker = ConfigResource(ResourceType.BROKER, "1")

    configs = admin.describe_configs([topic])[topic].result(TIMEOUT_S)
    assert configs["cleanup.policy"].value == "delete"
    assert configs["cleanup.policy"].is_default
    configs = admin.describe_configs([broker])[broker].result(TIMEOUT_S)
    assert configs["num.io.threads"].value == "3"
    assert not configs["num.io.threads"].is_default
    assert configs["broker.id"].value == "1"
    assert configs["broker.id"].is_read_only


def test_a_topics_config_is_altered_and_told_with_what_is_behind_it(
    admin: AdminClient, cluster: EmbeddedCluster
) -> None:
    entry = ConfigEntry("retention.ms", "12345", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, TOPIC, incremental_configs=[entry])

    admin.incremental_alter_configs([resource])[resource].result(TIMEOUT_S)

    asked = DescribeConfigsResource(TOPIC_RESOURCE, TOPIC, ["retention.ms"])
    request = DescribeConfigsRequest([asked], include_synonyms=True)
    for broker_id in (1, 2):
        with client_of(cluster, broker_id) as client:
            # Each broker hears of it in its own time.
            while True:
                (config,) = client.ask(request, 4, DescribeConfigsResponse).results[0].configs
                if config.value == "12345":
                    break
        # Retention in hours, which is what is set by default, is not told (see the describer).
        assert [one.name for one in config.synonyms] == ["retention.ms"]


def test_the_level_of_a_logger_is_altered_together_with_a_topic(
    cluster: EmbeddedCluster,
) -> None:
    levels = cluster.broker.view.node_id
    request = IncrementalAlterConfigsRequest(
        [
            AlterConfigsResource(
                BROKER_LOGGER_RESOURCE, str(levels), [AlterableConfig("root", 0, "ERROR")]
            ),
            AlterConfigsResource(TOPIC_RESOURCE, TOPIC, [AlterableConfig("flush.ms", 0, "77")]),
            AlterConfigsResource(BROKER_RESOURCE, "99", []),
        ]
    )
    with client_of(cluster, levels) as client:
        answer = client.ask(request, 1, IncrementalAlterConfigsResponse)
        assert [one.error_code for one in answer.responses] == [0, 0, ErrorCode.INVALID_REQUEST]

        asked = DescribeConfigsRequest(
            [DescribeConfigsResource(BROKER_LOGGER_RESOURCE, str(levels), None)]
        )
        (result,) = client.ask(asked, 4, DescribeConfigsResponse).results

    assert {one.name: one.value for one in result.configs}["root"] == "ERROR"


def test_records_are_deleted_and_offsets_listed(
    admin: AdminClient, cluster: EmbeddedCluster
) -> None:
    cluster.create_topic("shortened", partitions=1, replication_factor=1)
    with leader_of(cluster, "shortened") as client:
        produce(client, "shortened", 5)
    partition = TopicPartition("shortened", 0)

    deleted = admin.delete_records([TopicPartition("shortened", 0, 3)])
    assert next(iter(deleted.values())).result(TIMEOUT_S).low_watermark == 3

    earliest = admin.list_offsets({partition: OFFSETS.earliest()})
    latest = admin.list_offsets({partition: OFFSETS.latest()})
    newest = admin.list_offsets({partition: OFFSETS.max_timestamp()})
    assert earliest[partition].result(TIMEOUT_S).offset == 3
    assert latest[partition].result(TIMEOUT_S).offset == 5
    assert newest[partition].result(TIMEOUT_S).timestamp == 1_700_000_000_000


def test_too_many_records_cannot_be_deleted(admin: AdminClient, cluster: EmbeddedCluster) -> None:
    cluster.create_topic("empty", partitions=1, replication_factor=1)

    deleted = admin.delete_records([TopicPartition("empty", 0, 1)])

    with pytest.raises(KafkaException) as refused:
        next(iter(deleted.values())).result(TIMEOUT_S)
    assert refused.value.args[0].code() == ErrorCode.OFFSET_OUT_OF_RANGE


def test_only_the_leader_deletes_records(cluster: EmbeddedCluster) -> None:
    leader_id = cluster.leader_of(TOPIC, 0)
    other_id = 1 if leader_id == 2 else 2
    request = DeleteRecordsRequest(
        [DeleteRecordsTopic(TOPIC, [DeleteRecordsPartition(0, 0)])], 10_000
    )

    with client_of(cluster, other_id) as client:
        answer = client.ask(request, 2, DeleteRecordsResponse)

    assert answer.topics[0].partitions[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_producers_are_described(cluster: EmbeddedCluster) -> None:
    cluster.create_topic("produced", partitions=1, replication_factor=1)
    with leader_of(cluster, "produced") as client:
        produce(client, "produced", producer_id=4711)
        request = DescribeProducersRequest([TopicRequest("produced", [0])])
        answer = client.ask(request, 0, DescribeProducersResponse)

    (producer,) = answer.topics[0].partitions[0].active_producers
    assert (producer.producer_id, producer.producer_epoch) == (4711, 1)
    assert producer.last_timestamp == 1_700_000_000_000


def test_an_epochs_end_is_told(cluster: EmbeddedCluster) -> None:
    cluster.create_topic("epochs", partitions=1, replication_factor=1)
    asked = OffsetForLeaderPartition(0, -1, 0)
    request = OffsetForLeaderEpochRequest(-1, [OffsetForLeaderTopic("epochs", [asked])])
    with leader_of(cluster, "epochs") as client:
        produce(client, "epochs", 2)
        answer = client.ask(request, 4, OffsetForLeaderEpochResponse)

    (found,) = answer.topics[0].partitions
    assert (found.error_code, found.leader_epoch, found.end_offset) == (0, 0, 2)


def test_log_directories_are_described(cluster: EmbeddedCluster) -> None:
    with client_of(cluster, 1) as client:
        answer = client.ask(DescribeLogDirsRequest(None), 5, DescribeLogDirsResponse)

    (directory,) = answer.results
    assert directory.error_code == 0
    assert directory.log_dir == f"{cluster.data}/node-1"
    assert directory.total_bytes >= directory.usable_bytes > 0
    described = {topic.name for topic in directory.topics}
    assert not any(name.startswith("__cluster_metadata") for name in described)
    kept = {
        partition.log.topic
        for broker in cluster.brokers
        if broker.view.node_id == 1
        for partition in broker.storage.partitions
    }
    assert described == kept


def test_partitions_are_described_page_by_page(cluster: EmbeddedCluster) -> None:
    found: list[tuple[str | None, int]] = []
    cursor: Cursor | None = None
    with client_of(cluster, 2) as client:
        for _ in range(100):
            request = DescribeTopicPartitionsRequest([], 2, cursor)
            answer = client.ask(request, 0, DescribeTopicPartitionsResponse)
            found += [
                (topic.name, partition.partition_index)
                for topic in answer.topics
                for partition in topic.partitions
            ]
            if answer.next_cursor is None:
                break
            following = answer.next_cursor
            cursor = Cursor(following.topic_name, following.partition_index)

    assert found == sorted(set(found), key=lambda it: (it[0] or "", it[1]))
    assert {(TOPIC, 0), (TOPIC, 1), (TOPIC, 2)} <= set(found)


def test_controllers_are_found_elsewhere(cluster: EmbeddedCluster) -> None:
    request = DescribeClusterRequest(endpoint_type=2)
    with client_of(cluster, 1) as client:
        answer = client.ask(request, highest_version(request), DescribeClusterResponse)

    assert answer.error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE
