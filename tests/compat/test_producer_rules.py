"""Idempotent and transactional producers: a real Kafka decides step by step what we decide.

Three producer ids write to one partition through the wire itself, in and out of order, with old
and new epochs, inside and outside transactions; markers come as a coordinator's would, late and
repeated ones among them. Error codes, offsets, the last stable offset and what Kafka tells of its
producers must be the same after each step. The partition does not ask the coordinator whether a
transaction exists, so that every order of events can be tried.
"""

import random
import time
from collections.abc import Iterator

import pytest

from barnabas_core.log.producers.producer_append import AppendOrigin, ProducerError
from barnabas_core.log.producers.producer_state import ProducerState
from barnabas_core.records.batch import parse_header
from barnabas_core.records.builder import build_batch
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.describe_producers_request import (
    DescribeProducersRequest,
    TopicRequest,
)
from barnabas_core.wire.messages.describe_producers_response import DescribeProducersResponse
from barnabas_core.wire.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from barnabas_core.wire.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
)
from barnabas_core.wire.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas_core.wire.messages.produce_response import ProduceResponse
from barnabas_core.wire.messages.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from barnabas_core.wire.messages.write_txn_markers_response import WriteTxnMarkersResponse
from tests.support.external import JavaRuntime
from tests.support.kafka_node import KafkaNode
from tests.support.producer_history import SEQUENCE_COUNT, Batch
from tests.support.raw_client import RawClient

STEPS = 150
NOW_MS = 1_800_000_000_000
LATEST = -1
READ_COMMITTED = 1


@pytest.fixture(scope="module")
def node(java: JavaRuntime, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaNode]:
    extra = "transaction.partition.verification.enable=false\n"
    node = KafkaNode(java, tmp_path_factory.mktemp("producer-rules"), extra)
    with node.running():
        yield node


class RealPartition:
    def __init__(self, client: RawClient, topic: str) -> None:
        self._client = client
        self._topic = topic

    def write(self, batch: Batch) -> tuple[int, int]:
        """(error code, base offset)"""
        records = build_batch(
            [(None, b"x")] * batch.count,
            timestamp_ms=batch.timestamp_ms,
            producer_id=batch.producer_id,
            producer_epoch=batch.epoch,
            base_sequence=batch.base_sequence,
            is_transactional=batch.is_transactional,
        )
        assert parse_header(records).last_sequence == batch.sequences[1]
        request = ProduceRequest(
            transactional_id="any" if batch.is_transactional else None,
            acks=-1,
            timeout_ms=10_000,
            topic_data=[
                TopicProduceData(
                    name=self._topic,
                    partition_data=[PartitionProduceData(index=0, records=bytes(records))],
                )
            ],
        )
        response = self._client.ask(request, 9, ProduceResponse)
        partition = response.responses[0].partition_responses[0]
        return partition.error_code, partition.base_offset

    def end_transaction(self, marker: Batch) -> int:
        request = WriteTxnMarkersRequest(
            markers=[
                WritableTxnMarker(
                    producer_id=marker.producer_id,
                    producer_epoch=marker.epoch,
                    transaction_result=bool(marker.is_commit),
                    topics=[WritableTxnMarkerTopic(name=self._topic, partition_indexes=[0])],
                    coordinator_epoch=marker.coordinator_epoch,
                    transaction_version=marker.transaction_version,
                )
            ]
        )
        response = self._client.ask(request, 2, WriteTxnMarkersResponse)
        return response.markers[0].topics[0].partitions[0].error_code

    def producers(self) -> list[tuple[int, ...]]:
        """Without timestamps: a marker's is the time of Kafka's clock."""
        request = DescribeProducersRequest(
            topics=[TopicRequest(name=self._topic, partition_indexes=[0])]
        )
        response = self._client.ask(request, 0, DescribeProducersResponse)
        return sorted(
            (
                each.producer_id,
                each.producer_epoch,
                each.last_sequence,
                each.coordinator_epoch,
                each.current_txn_start_offset,
            )
            for each in response.topics[0].partitions[0].active_producers
        )

    def wait_until_led(self) -> None:
        """A topic is created before its leader knows that it leads."""
        give_up_at = time.monotonic() + 30
        while self._list_offset().error_code != ErrorCode.NONE:
            assert time.monotonic() < give_up_at, "nobody leads the partition"

    def last_stable_offset(self) -> int:
        return self._list_offset().offset

    def _list_offset(self) -> ListOffsetsPartitionResponse:
        request = ListOffsetsRequest(
            replica_id=-1,
            isolation_level=READ_COMMITTED,
            topics=[
                ListOffsetsTopic(
                    name=self._topic,
                    partitions=[ListOffsetsPartition(partition_index=0, timestamp=LATEST)],
                )
            ],
        )
        response = self._client.ask(request, 7, ListOffsetsResponse)
        return response.topics[0].partitions[0]


class OurPartition:
    def __init__(self) -> None:
        self.state = ProducerState()
        self.end = 0

    def append(self, batch: Batch) -> tuple[int, int]:
        """(error code, base offset)"""
        origin = AppendOrigin.COORDINATOR if batch.is_marker else AppendOrigin.CLIENT
        append = self.state.begin(origin)
        try:
            duplicate = append.check_and_add(
                batch.header(),
                self.end,
                control=batch.control,
                transaction_version=batch.transaction_version,
            )
        except ProducerError as error:
            return error.error_code, -1
        if duplicate is not None:
            return ErrorCode.NONE, duplicate.first_offset
        self.state.apply(append)
        first_offset = self.end
        self.end += batch.count
        self.state.on_high_watermark(self.end)
        return ErrorCode.NONE, first_offset

    def producers(self) -> list[tuple[int, ...]]:
        return sorted(
            (
                each.producer_id,
                each.epoch,
                each.last_sequence,
                each.coordinator_epoch,
                each.transaction_first_offset,
            )
            for each in self.state.entries()
        )

    def last_stable_offset(self) -> int:
        unstable = self.state.first_unstable_offset()
        return self.end if unstable is None else unstable


def draw(rng: random.Random, ours: OurPartition, first_sequence: int) -> Batch:
    """Mostly what a producer in good order would send next, for it to get anywhere."""
    producer_id = rng.randrange(1, 4)
    entry = ours.state.entry(producer_id)
    epoch = max(0, (entry.epoch if entry else 0) + rng.choice([0] * 12 + [1, 1, -1]))
    if rng.random() < 0.25:
        version = rng.randrange(3)
        return Batch(
            producer_id,
            epoch + (1 if version == 2 and rng.random() < 0.6 else 0),
            is_commit=rng.random() < 0.5,
            coordinator_epoch=(entry.coordinator_epoch if entry else 0)
            + rng.choice([0, 0, 0, 1, -1]),
            transaction_version=version,
        )
    expected = first_sequence if entry is None else (entry.last_sequence + 1) % SEQUENCE_COUNT
    if entry is not None and epoch > entry.epoch:
        expected = 0
    is_transactional = rng.random() < 0.7
    if entry is not None and entry.transaction_first_offset >= 0:
        is_transactional = rng.random() < 0.95
    step = rng.choice([0] * 8 + [1, -1, -2, -3, -5, -6])
    retained = ours.state.batches(producer_id)
    if retained and rng.random() < 0.2:
        repeated = rng.choice(retained)
        return Batch(
            producer_id,
            epoch,
            repeated.first_sequence,
            repeated.offset_delta + 1,
            is_transactional,
            timestamp_ms=NOW_MS,
        )
    return Batch(
        producer_id,
        epoch,
        (expected + step) % SEQUENCE_COUNT,
        rng.randrange(1, 4),
        is_transactional,
        timestamp_ms=NOW_MS,
    )


@pytest.mark.parametrize(
    ("seed", "first_sequence"), [(1, 0), (2, 0), (3, 0), (4, SEQUENCE_COUNT - 4), (5, 9)]
)
def test_we_decide_like_a_real_kafka(node: KafkaNode, seed: int, first_sequence: int) -> None:
    rng = random.Random(seed)
    topic = f"rules-{seed}"
    node.create_topic(topic, {"message.timestamp.after.max.ms": str(2**62)})
    outcomes = set()
    with RawClient(("127.0.0.1", node.port)) as client:
        theirs, ours = RealPartition(client, topic), OurPartition()
        theirs.wait_until_led()
        for number in range(STEPS):
            batch = draw(rng, ours, first_sequence)
            expected = ours.append(batch)
            if batch.is_marker:
                outcome = theirs.end_transaction(batch)
                assert outcome == expected[0], (seed, number, batch)
            else:
                outcome, base_offset = theirs.write(batch)
                assert (outcome, base_offset) == expected, (seed, number, batch)
            outcomes.add(ErrorCode(outcome))
            assert theirs.producers() == ours.producers(), (seed, number, batch)
            assert theirs.last_stable_offset() == ours.last_stable_offset(), (seed, number, batch)

    assert outcomes >= {
        ErrorCode.NONE,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.TRANSACTION_COORDINATOR_FENCED,
    }
