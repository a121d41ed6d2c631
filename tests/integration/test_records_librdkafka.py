"""Record batches across libraries: librdkafka reads ours, we read librdkafka's.

No server of ours is involved: librdkafka brings a mock cluster, which keeps the batches it is sent
as they are. We speak to it over a socket.
"""

import socket
import struct
from collections.abc import Iterator
from contextlib import closing
from typing import TypeVar, cast

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition

from barnabas_core.records.batch import (
    BatchHeader,
    check_batch,
    check_produced_batch,
    split_batches,
)
from barnabas_core.records.compression import Compression
from barnabas_core.records.record import Header, Record, iter_records
from barnabas_core.records.record_scan import check_records, iter_keys
from barnabas_core.wire import schema
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.frame import decode_response, encode_request
from barnabas_core.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from barnabas_core.wire.messages.fetch_response import FetchResponse
from barnabas_core.wire.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas_core.wire.messages.produce_response import ProduceResponse
from tests.support.record_samples import (
    plain_bytes,
    plain_record,
    sample_batches,
    sample_records,
)

M = TypeVar("M", bound=schema.Message)
PRODUCE_VERSION = 7
FETCH_VERSION = 11
TIMEOUT_S = 30.0
_SIZE = struct.Struct(">i")


class MockCluster:
    """librdkafka's own, in the producer that made it, and a connection to its one broker."""

    def __init__(self) -> None:
        # The producer never sends: the cluster lives as long as it does.
        self.owner = Producer({"test.mock.num.brokers": 1, "log_level": 0})
        [broker] = self.owner.list_topics(timeout=TIMEOUT_S).brokers.values()
        self.bootstrap = f"{broker.host}:{broker.port}"
        self.connection = socket.create_connection((broker.host, broker.port), TIMEOUT_S)

    def close(self) -> None:
        self.connection.close()
        self.owner.flush(TIMEOUT_S)

    def ask(self, request: schema.Message, version: int, response: type[M]) -> M:
        parts = cast("list[bytes]", encode_request(request, version, 1, "test"))
        self.connection.sendall(b"".join(parts))
        (size,) = _SIZE.unpack(self._receive(_SIZE.size))
        return decode_response(response, version, self._receive(size))[1]

    def _receive(self, size: int) -> bytes:
        received = bytearray()
        while len(received) < size:
            piece = self.connection.recv(size - len(received))
            assert piece, "the mock broker closed the connection"
            received += piece
        return bytes(received)

    def produce(self, topic: str, batch: bytearray) -> ErrorCode:
        data = [TopicProduceData(topic, partition_data=[PartitionProduceData(0, batch)])]
        request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=data)
        answer = self.ask(request, PRODUCE_VERSION, ProduceResponse)
        return ErrorCode(answer.responses[0].partition_responses[0].error_code)

    def fetch_all(self, topic: str) -> list[tuple[bytes, BatchHeader]]:
        """Every batch in the partition, checked as the broker does."""
        batches: list[tuple[bytes, BatchHeader]] = []
        while found := self._fetch(topic, batches[-1][1].next_offset if batches else 0):
            batches += found
        return batches

    def _fetch(self, topic: str, offset: int) -> list[tuple[bytes, BatchHeader]]:
        partition = FetchPartition(0, fetch_offset=offset, partition_max_bytes=2**24)
        request = FetchRequest(topics=[FetchTopic(topic, partitions=[partition])])
        answer = self.ask(request, FETCH_VERSION, FetchResponse)
        data = answer.responses[0].partitions[0]
        assert data.error_code == ErrorCode.NONE
        records = bytes(cast("bytes", data.records or b""))
        return [
            (records[position : position + header.size_bytes], header)
            for position, header in split_batches(records, allow_partial_tail=True)
        ]

    def consume(self, topic: str, count: int) -> list[Record]:
        consumer = Consumer(
            {"bootstrap.servers": self.bootstrap, "group.id": "g", "check.crcs": True}
        )
        consumer.assign([TopicPartition(topic, 0, 0)])
        records: list[Record] = []
        with closing(consumer):
            while len(records) < count:
                message = consumer.poll(TIMEOUT_S)
                assert message is not None, f"{len(records)} of {count} records, then silence"
                assert message.error() is None, message.error()
                records.append(as_record(message))
        return records


def as_record(message: Message) -> Record:
    pairs = cast("list[tuple[str, bytes | None]]", message.headers() or [])
    headers = tuple(Header(key.encode(), value) for key, value in pairs)
    offset, (_, timestamp) = cast("int", message.offset()), message.timestamp()
    key, value = cast("list[bytes | None]", [message.key(), message.value()])
    return Record(offset, timestamp, key, value, headers)


@pytest.fixture(scope="module")
def cluster() -> Iterator[MockCluster]:
    with closing(MockCluster()) as cluster:
        yield cluster


def create(cluster: MockCluster, topic: str) -> None:
    """The mock makes a topic when it is asked about it."""
    assert topic in cluster.owner.list_topics(topic, timeout=TIMEOUT_S).topics


@pytest.mark.parametrize("codec", Compression, ids=lambda codec: codec.name.lower())
def test_we_read_what_librdkafka_produces(cluster: MockCluster, codec: Compression) -> None:
    topic = f"from-librdkafka-{codec.name.lower()}"
    create(cluster, topic)
    expected = sample_records(0)
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "compression.type": codec.name.lower(),
            "linger.ms": 100,
            "enable.idempotence": True,
        }
    )
    for record in expected:
        producer.produce(
            topic,
            plain_bytes(record.value),
            plain_bytes(record.key),
            partition=0,
            timestamp=record.timestamp,
            headers=[(header.key.decode(), plain_bytes(header.value)) for header in record.headers],
        )
    assert producer.flush(TIMEOUT_S) == 0

    batches = cluster.fetch_all(topic)

    read: list[Record] = []
    for batch, header in batches:
        check_batch(batch, 0, header)
        check_produced_batch(header._replace(base_offset=0))
        check_records(batch, 0, header)
        read += map(plain_record, iter_records(batch))
        assert len(list(iter_keys(batch))) == header.record_count
    assert read == list(expected)
    assert {header.has_producer_id for _, header in batches} == {True}
    # librdkafka sends a batch as it is where compression would make it larger.
    assert {header.compression for _, header in batches} <= {codec, Compression.NONE}
    assert codec in {header.compression for _, header in batches}


def test_librdkafka_reads_ours(cluster: MockCluster) -> None:
    topic = "from-us"
    create(cluster, topic)
    samples = list(sample_batches())

    for sample in samples:
        assert cluster.produce(topic, sample.batch) == ErrorCode.NONE, sample.name

    expected = [record for sample in samples for record in sample.records]
    read = cluster.consume(topic, len(expected))
    assert read == expected
