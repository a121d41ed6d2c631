"""librdkafka and a raw client against a whole cluster on real sockets."""

import threading
from collections.abc import Iterator

import pytest
from confluent_kafka import TopicPartition

from barnabas import EmbeddedCluster
from barnabas_core.records.builder import build_batch
from barnabas_core.records.record import iter_records
from barnabas_core.runtime.clock import SystemClock
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from barnabas_core.wire.messages.fetch_response import FetchResponse, PartitionData
from barnabas_core.wire.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from barnabas_core.wire.messages.list_offsets_response import ListOffsetsResponse
from barnabas_core.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from barnabas_core.wire.messages.metadata_response import MetadataResponse
from barnabas_core.wire.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas_core.wire.messages.produce_response import ProduceResponse
from tests.support.librdkafka import consumer, produce, read
from tests.support.raw_client import RawClient

COUNT = 2_000


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as running:
        yield running


@pytest.fixture
def bootstrap(cluster: EmbeddedCluster) -> str:
    return cluster.bootstrap_servers


@pytest.fixture
def client(bootstrap: str) -> Iterator[RawClient]:
    host, _, port = bootstrap.rpartition(":")
    with RawClient((host, int(port))) as connected:
        yield connected


@pytest.fixture
def topic(request: pytest.FixtureRequest, client: RawClient) -> str:
    """A new topic, named after the test."""
    name = "".join(each if each.isalnum() else "-" for each in request.node.name)
    asked = MetadataRequest([MetadataRequestTopic(name=name)])
    assert client.ask(asked, 12, MetadataResponse).topics[0].error_code == 0
    return name


def values(count: int = COUNT) -> list[bytes]:
    return [b"value %d" % number for number in range(count)]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_is_written_and_read_back(bootstrap: str, topic: str, codec: str) -> None:
    placed = produce(bootstrap, topic, values(), compression_type=codec)

    found = read(bootstrap, topic, COUNT, check_crcs="true")

    assert [offset for _, offset in placed] == list(range(COUNT))
    assert [message.value() for message in found] == values()
    assert [message.offset() for message in found] == list(range(COUNT))


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_every_kind_of_acknowledgement_works(bootstrap: str, topic: str, acks: str) -> None:
    produce(bootstrap, topic, values(), acks=acks)

    assert [message.value() for message in read(bootstrap, topic, COUNT)] == values()


def test_an_idempotent_producer_is_served(bootstrap: str, topic: str) -> None:
    placed = produce(
        bootstrap, topic, values(), enable_idempotence="true", batch_num_messages=50, linger_ms=1
    )

    assert [offset for _, offset in placed] == list(range(COUNT))
    assert [message.value() for message in read(bootstrap, topic, COUNT)] == values()


def test_keys_headers_and_timestamps_come_back(bootstrap: str, topic: str) -> None:
    from confluent_kafka import Producer

    now_ms = SystemClock().now_ms()
    producer = Producer({"bootstrap.servers": bootstrap})
    headers: list[tuple[str, str | bytes | None]] = [("first", b"1"), ("second", None)]
    producer.produce(topic, b"value", b"key", headers=headers, timestamp=now_ms)
    producer.produce(topic, None, b"tombstone")
    assert producer.flush(30) == 0

    first, second = read(bootstrap, topic, 2)

    assert (first.key(), first.value(), first.headers()) == (b"key", b"value", headers)
    assert first.timestamp()[1] == now_ms
    assert (second.key(), second.value()) == (b"tombstone", None)


def test_watermarks_and_offsets_by_time_are_found(bootstrap: str, topic: str) -> None:
    produce(bootstrap, topic, values(10))
    reader = consumer(bootstrap)
    try:
        asked = TopicPartition(topic, 0)
        assert reader.get_watermark_offsets(asked, timeout=30) == (0, 10)
        (found,) = reader.offsets_for_times([TopicPartition(topic, 0, 1)], timeout=30)
        assert found.offset == 0
        (beyond,) = reader.offsets_for_times([TopicPartition(topic, 0, 2**50)], timeout=30)
        assert beyond.offset == -1
    finally:
        reader.close()


def test_a_reader_sees_what_is_produced_while_it_waits(bootstrap: str, topic: str) -> None:
    reader = consumer(bootstrap, fetch_wait_max_ms=20_000)
    try:
        reader.assign([TopicPartition(topic, 0, 0)])
        assert reader.consume(1, 0.2) == []
        produce(bootstrap, topic, [b"now"])
        (message,) = reader.consume(1, 30)
        assert message.value() == b"now"
    finally:
        reader.close()


def test_a_reader_beyond_the_end_starts_over_as_it_is_told(bootstrap: str, topic: str) -> None:
    produce(bootstrap, topic, values(5))
    reader = consumer(bootstrap, auto_offset_reset="earliest")
    try:
        reader.assign([TopicPartition(topic, 0, 1_000)])
        messages = reader.consume(5, 30)
        assert [message.offset() for message in messages] == [0, 1, 2, 3, 4]
    finally:
        reader.close()


# -- the raw client


def produce_request(topic: str, *payloads: bytes, acks: int = 1) -> ProduceRequest:
    records = [(None, payload) for payload in payloads]
    batch = build_batch(records, timestamp_ms=SystemClock().now_ms())
    data = [PartitionProduceData(0, memoryview(batch))]
    return ProduceRequest(None, acks, 30_000, [TopicProduceData(topic, partition_data=data)])


def fetch_request(topic: str, offset: int, *, wait_ms: int = 0, min_bytes: int = 1) -> FetchRequest:
    wanted = FetchPartition(0, fetch_offset=offset, partition_max_bytes=1 << 20)
    topics = [FetchTopic(topic, partitions=[wanted])]
    return FetchRequest(max_wait_ms=wait_ms, min_bytes=min_bytes, topics=topics)


def fetched(response: FetchResponse) -> tuple[PartitionData, list[bytes]]:
    (data,) = response.responses[0].partitions
    records = data.records
    assert isinstance(records, bytes | memoryview)
    found: list[bytes] = []
    position = 0
    while position < len(records):
        end = position + 12 + int.from_bytes(records[position + 8 : position + 12])
        if end > len(records):
            break  # cut by the limit on bytes: it comes with the next fetch
        found += [bytes(each.value or b"") for each in iter_records(records, position)]
        position = end
    return data, found


def test_pipelined_produce_requests_are_answered_in_order(client: RawClient, topic: str) -> None:
    sent = [client.send(produce_request(topic, b"%d" % each), 9) for each in range(200)]

    answers = [client.receive(ProduceResponse, 9, correlation) for correlation in sent]

    offsets = [it.responses[0].partition_responses[0].base_offset for it in answers]
    assert offsets == list(range(200))


def test_acks_0_is_silent(client: RawClient, topic: str) -> None:
    for number in range(10):
        client.send(produce_request(topic, b"%d" % number, acks=0), 9)
    (answer,) = client.ask(produce_request(topic, b"last"), 9, ProduceResponse).responses

    assert answer.partition_responses[0].base_offset == 10


def test_large_records_pass_in_both_directions(client: RawClient, topic: str) -> None:
    payloads = [bytes([number]) * 1_000_000 for number in range(5)]
    for payload in payloads:
        answer = client.ask(produce_request(topic, payload), 9, ProduceResponse)
        assert answer.responses[0].partition_responses[0].error_code == 0

    found = []
    for offset in range(5):
        found += fetched(client.ask(fetch_request(topic, offset), 12, FetchResponse))[1][:1]

    assert found == payloads


def test_a_fetch_waits_for_enough_bytes(client: RawClient, bootstrap: str, topic: str) -> None:
    host, _, port = bootstrap.rpartition(":")
    with RawClient((host, int(port))) as writer:
        waiting = client.send(fetch_request(topic, 0, wait_ms=60_000, min_bytes=300), 12)
        for _ in range(3):
            writer.ask(produce_request(topic, bytes(100)), 9, ProduceResponse)

        _, found = fetched(client.receive(FetchResponse, 12, waiting))

    # Two batches are 322 bytes with their headers and frames, one is not enough.
    assert len(found) == 2


def test_a_fetch_returns_empty_when_its_time_is_up(client: RawClient, topic: str) -> None:
    data, found = fetched(client.ask(fetch_request(topic, 0, wait_ms=50), 12, FetchResponse))

    assert found == []
    assert (data.error_code, data.high_watermark) == (0, 0)


def test_a_client_that_leaves_while_it_waits_harms_nobody(
    cluster: EmbeddedCluster, client: RawClient, bootstrap: str, topic: str
) -> None:
    host, _, port = bootstrap.rpartition(":")
    leaving = [RawClient((host, int(port))) for _ in range(20)]
    for each in leaving:
        each.send(fetch_request(topic, 0, wait_ms=60_000), 12)
        each.close()
    still_there = cluster.broker.purgatory
    pause = threading.Event()
    while len(still_there) > 0:
        pause.wait(0.01)

    assert client.ask(produce_request(topic, b"x"), 9, ProduceResponse)


def test_topics_are_created_only_by_valid_names(client: RawClient) -> None:
    asked = MetadataRequest([MetadataRequestTopic(name="not a name")])

    (answer,) = client.ask(asked, 12, MetadataResponse).topics

    assert answer.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_offsets_are_listed(client: RawClient, topic: str) -> None:
    client.ask(produce_request(topic, b"a", b"b", b"c"), 9, ProduceResponse)

    def offset_at(timestamp: int) -> int:
        partitions = [ListOffsetsPartition(0, -1, timestamp)]
        asked = ListOffsetsRequest(-1, 0, [ListOffsetsTopic(topic, partitions)])
        return client.ask(asked, 8, ListOffsetsResponse).topics[0].partitions[0].offset

    assert [offset_at(each) for each in (-1, -2, -3, -4, 0)] == [3, 0, 0, 0, 0]
