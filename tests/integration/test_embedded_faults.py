"""Faults that a test of an application asks for, as its clients see them."""

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition

from barnabas import ApiKey, EmbeddedCluster, ErrorCode
from barnabas.fault_response import can_fail, fault_response
from barnabas_core.server.dispatch import RequestContext
from barnabas_core.wire.api import API_BY_KEY
from barnabas_core.wire.messages.api_versions_request import ApiVersionsRequest
from barnabas_core.wire.messages.api_versions_response import ApiVersionsResponse
from barnabas_core.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from barnabas_core.wire.messages.fetch_response import FetchResponse
from barnabas_core.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from barnabas_core.wire.messages.metadata_response import MetadataResponse
from barnabas_core.wire.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from tests.support.librdkafka import consumer, produce, read
from tests.support.raw_client import ConnectionClosed, RawClient


@pytest.fixture(scope="module")
def running() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(brokers=2, config={"default.replication.factor": "1"}) as cluster:
        yield cluster


@pytest.fixture
def cluster(running: EmbeddedCluster) -> Iterator[EmbeddedCluster]:
    yield running
    running.faults.clear()


def connect(cluster: EmbeddedCluster, client_id: str = "raw", broker_id: int = 1) -> RawClient:
    host, _, port = cluster.bootstrap_servers.split(",")[broker_id - 1].rpartition(":")
    return RawClient((host, int(port)), client_id)


def ask_versions(client: RawClient) -> int:
    return client.ask(ApiVersionsRequest("raw", "1"), 3, ApiVersionsResponse).error_code


def test_an_error_is_answered_as_often_as_it_was_asked_for(cluster: EmbeddedCluster) -> None:
    fault = cluster.faults.fail(
        ApiKey.API_VERSIONS, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, count=2
    )

    with connect(cluster) as client:
        answers = [ask_versions(client) for _ in range(3)]

    assert answers == [ErrorCode.CLUSTER_AUTHORIZATION_FAILED] * 2 + [0]
    assert fault.fired == 2


def test_a_client_repeats_what_the_wrong_leader_refused(cluster: EmbeddedCluster) -> None:
    cluster.create_topic("refused")
    fault = cluster.faults.fail(ApiKey.PRODUCE, ErrorCode.NOT_LEADER_OR_FOLLOWER, count=3)

    produce(cluster.bootstrap_servers, "refused", [b"once"], retry_backoff_ms=10)

    assert fault.fired == 3
    assert [message.value() for message in read(cluster.bootstrap_servers, "refused", 1)] == [
        b"once"
    ]


def test_an_error_without_a_remedy_reaches_the_application(cluster: EmbeddedCluster) -> None:
    cluster.create_topic("denied")
    cluster.faults.fail(ApiKey.PRODUCE, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    errors: list[KafkaError | None] = []

    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    producer.produce("denied", b"x", on_delivery=lambda error, _: errors.append(error))
    producer.flush(30)

    assert [error and error.code() for error in errors] == [KafkaError.TOPIC_AUTHORIZATION_FAILED]


def test_a_consumer_is_told_what_a_fetch_failed_with(cluster: EmbeddedCluster) -> None:
    with connect(cluster) as client:
        cluster.create_topic("unread")
        cluster.faults.fail(ApiKey.FETCH, ErrorCode.KAFKA_STORAGE_ERROR, count=1)
        topic = FetchTopic("unread", partitions=[FetchPartition(0), FetchPartition(7)])
        answer = client.ask(FetchRequest(topics=[topic]), 11, FetchResponse)

    assert answer.error_code == 0
    (found,) = answer.responses
    assert [(one.partition_index, one.error_code) for one in found.partitions] == [
        (0, ErrorCode.KAFKA_STORAGE_ERROR),
        (7, ErrorCode.KAFKA_STORAGE_ERROR),
    ]


def test_metadata_can_fail_for_one_topic_alone(cluster: EmbeddedCluster) -> None:
    def asks_for_it(request: MetadataRequest, _: RequestContext) -> bool:
        return any(topic.name == "gone" for topic in request.topics or ())

    cluster.faults.fail(ApiKey.METADATA, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, when=asks_for_it)

    with connect(cluster) as client:
        errors = [
            client.ask(MetadataRequest([MetadataRequestTopic(name=name)]), 12, MetadataResponse)
            .topics[0]
            .error_code
            for name in ("there", "gone")
        ]

    assert errors == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_a_late_answer_comes_all_the_same(cluster: EmbeddedCluster) -> None:
    fault = cluster.faults.delay(ApiKey.API_VERSIONS, 200, count=1)

    with connect(cluster) as client:
        begun = time.monotonic()
        assert ask_versions(client) == 0
        assert time.monotonic() - begun >= 0.2

    assert fault.fired == 1


@pytest.mark.parametrize("api", [ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.LIST_OFFSETS])
def test_whatever_is_late_is_carried_out_in_the_end(cluster: EmbeddedCluster, api: ApiKey) -> None:
    name = f"late-{api.name}"
    cluster.create_topic(name)
    fault = cluster.faults.delay(api, 50, count=2)

    produce(cluster.bootstrap_servers, name, [b"1", b"2"])
    found = read(cluster.bootstrap_servers, name, 2)
    reader = consumer(cluster.bootstrap_servers)

    assert reader.get_watermark_offsets(TopicPartition(name, 0), timeout=30) == (0, 2)
    reader.close()

    assert [message.value() for message in found] == [b"1", b"2"]
    assert fault.fired >= 1


def test_a_request_that_is_dropped_is_not_carried_out(cluster: EmbeddedCluster) -> None:
    cluster.faults.drop(ApiKey.METADATA, count=1)
    creating = MetadataRequest([MetadataRequestTopic(name="never-made")])

    with connect(cluster) as hanging, connect(cluster) as other:
        hanging.send(creating, 12)
        hanging.send(ApiVersionsRequest("raw", "1"), 3)  # behind it, on the same connection
        while cluster.faults.fired(ApiKey.METADATA) == 0:
            time.sleep(0.01)
        all_topics = other.ask(MetadataRequest(None), 12, MetadataResponse).topics

    assert "never-made" not in [topic.name for topic in all_topics]


def test_a_request_whose_answer_is_lost_was_carried_out(cluster: EmbeddedCluster) -> None:
    """An idempotent producer sends it again, and it is there once."""
    cluster.create_topic("once")
    fault = cluster.faults.drop_answer(ApiKey.PRODUCE, count=1)

    produce(
        cluster.bootstrap_servers,
        "once",
        [b"1", b"2", b"3"],
        enable_idempotence="true",
        socket_timeout_ms=1000,
        retry_backoff_ms=10,
    )

    assert fault.fired == 1
    found = read(cluster.bootstrap_servers, "once", 3)
    assert [message.value() for message in found] == [b"1", b"2", b"3"]


def test_a_connection_can_be_closed_instead_of_an_answer(cluster: EmbeddedCluster) -> None:
    cluster.faults.close(ApiKey.API_VERSIONS, count=1)

    with connect(cluster) as client, pytest.raises(ConnectionClosed):
        ask_versions(client)
    with connect(cluster) as client:
        assert ask_versions(client) == 0


def test_a_fault_is_for_one_client_and_one_broker_if_that_was_said(
    cluster: EmbeddedCluster,
) -> None:
    error = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    mine = cluster.faults.fail(ApiKey.API_VERSIONS, error, client_id="mine", broker=2)

    answers = {}
    for client_id in ("mine", "yours"):
        for broker_id in (1, 2):
            with connect(cluster, client_id, broker_id) as client:
                answers[client_id, broker_id] = ask_versions(client)

    assert {which for which, answer in answers.items() if answer == error} == {("mine", 2)}
    assert mine.fired == 1


def test_the_first_of_two_faults_takes_the_request(cluster: EmbeddedCluster) -> None:
    first = cluster.faults.fail(ApiKey.API_VERSIONS, ErrorCode.INVALID_REQUEST, count=1)
    second = cluster.faults.fail(ApiKey.API_VERSIONS, ErrorCode.UNSUPPORTED_VERSION, count=1)

    with connect(cluster) as client:
        answers = [ask_versions(client) for _ in range(3)]

    assert answers == [ErrorCode.INVALID_REQUEST, ErrorCode.UNSUPPORTED_VERSION, 0]
    assert (first.fired, second.fired) == (1, 1)


def test_a_fault_ends_when_it_is_cancelled_or_its_block_is_left(cluster: EmbeddedCluster) -> None:
    before = cluster.faults.fired()
    error = ErrorCode.INVALID_REQUEST

    with connect(cluster) as client:
        with cluster.faults.fail(ApiKey.API_VERSIONS, error):
            assert ask_versions(client) == error
        assert ask_versions(client) == 0
        fault = cluster.faults.fail(ApiKey.API_VERSIONS, error)
        fault.cancel()
        assert ask_versions(client) == 0

    assert fault.fired == 0
    assert cluster.faults.fired() == before + 1


def test_a_produce_that_wants_no_answer_gets_none_even_for_an_error() -> None:
    topic = TopicProduceData("t", partition_data=[PartitionProduceData(0, b"")])
    request = ProduceRequest(acks=0, topic_data=[topic])

    assert fault_response(ApiKey.PRODUCE, request, ErrorCode.INVALID_REQUEST) is None


def test_what_has_no_room_for_an_error_is_refused_when_it_is_asked_for(
    cluster: EmbeddedCluster,
) -> None:
    without = [key for key in API_BY_KEY if not can_fail(ApiKey(key))]
    served_by_brokers = {ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.METADATA, ApiKey.CREATE_TOPICS}

    assert not served_by_brokers & set(without)
    for key in without:
        with pytest.raises(ValueError, match="close it instead"):
            cluster.faults.fail(ApiKey(key), ErrorCode.INVALID_REQUEST)


def test_an_application_can_be_tested_for_a_broker_that_does_not_answer(
    cluster: EmbeddedCluster,
) -> None:
    cluster.create_topic("silent")
    cluster.faults.drop(ApiKey.LIST_OFFSETS)
    reader = consumer(cluster.bootstrap_servers)

    with pytest.raises(KafkaException) as raised:
        reader.get_watermark_offsets(TopicPartition("silent", 0), timeout=0.5)
    reader.close()

    assert raised.value.args[0].code() == KafkaError._TIMED_OUT
