"""What a broker refuses to append: a real Kafka and ours answer the same ill requests alike.

Three answers differ knowingly and are not here. Records that are null get no answer at all from
Kafka and INVALID_RECORD from us; an unknown codec UNKNOWN_SERVER_ERROR and
UNSUPPORTED_COMPRESSION_TYPE; a batch that claims the log's own time, for a topic that keeps the
producer's, is changed and taken by Kafka, and refused by us, which change no batch.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from barnabas_core.records.batch import CRC_POSITION, crc_of, parse_header
from barnabas_core.records.builder import build_batch
from barnabas_core.records.compression import Compression
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas_core.wire.messages.produce_response import (
    PartitionProduceResponse,
    ProduceResponse,
)
from tests.support.barnabas_process import running_barnabas
from tests.support.kafka_node import KafkaNode
from tests.support.raw_client import RawClient

HOUR_MS = 3_600_000
PLAIN, COMPACTED, SMALL, BOUNDED, APPEND_TIME = "plain", "compacted", "small", "bounded", "append"
MIN_ISR = "min-isr"
SEGMENT = "segment"
TOPICS: Mapping[str, Mapping[str, str]] = {
    PLAIN: {},
    COMPACTED: {"cleanup.policy": "compact"},
    SMALL: {"max.message.bytes": "200"},
    SEGMENT: {"segment.bytes": "1048576", "max.message.bytes": "4000000"},
    BOUNDED: {
        "message.timestamp.before.max.ms": str(HOUR_MS),
        "message.timestamp.after.max.ms": str(HOUR_MS),
    },
    APPEND_TIME: {"message.timestamp.type": "LogAppendTime"},
    MIN_ISR: {"min.insync.replicas": "2"},
}


def now_ms() -> int:
    return int(time.time() * 1000)


def batch(
    keys: Sequence[bytes | None] = (None,), value: bytes = b"value", age_ms: int = 0, **fields: int
) -> bytes:
    records = [(key, value) for key in keys]
    return bytes(build_batch(records, timestamp_ms=now_ms() - age_ms, **fields))  # type: ignore[arg-type]


def patched(position: int, value: bytes) -> bytes:
    """A batch with other bytes at `position`, and a checksum that agrees."""
    changed = bytearray(batch())
    changed[position : position + len(value)] = value
    crc = crc_of(changed, 0, parse_header(changed).batch_length)
    changed[CRC_POSITION : CRC_POSITION + 4] = crc.to_bytes(4)
    return bytes(changed)


def damaged() -> bytes:
    changed = bytearray(batch())
    changed[-1] ^= 1
    return bytes(changed)


@dataclass(frozen=True)
class Case:
    """A request: the partitions of one topic with what is to be written to each."""

    topic: str
    make: Callable[[], list[tuple[int, bytes | None]]]
    version: int = 9
    acks: int = -1
    error: ErrorCode | None = None
    """Expected of both, where the case is there to show it."""


def one(make: Callable[[], bytes | None]) -> Callable[[], list[tuple[int, bytes | None]]]:
    return lambda: [(0, make())]


CASES: Mapping[str, Case] = {
    "sound": Case(PLAIN, one(batch), error=ErrorCode.NONE),
    "empty": Case(PLAIN, one(lambda: b""), error=ErrorCode.INVALID_RECORD),
    "cut within the header": Case(PLAIN, one(lambda: batch()[:40])),
    "cut within the records": Case(PLAIN, one(lambda: batch()[:-1])),
    "two batches": Case(PLAIN, one(lambda: batch() + batch()), error=ErrorCode.INVALID_RECORD),
    "bytes behind": Case(PLAIN, one(lambda: batch() + b"tail")),
    "damaged": Case(PLAIN, one(damaged), error=ErrorCode.CORRUPT_MESSAGE),
    "magic 1": Case(PLAIN, one(lambda: patched(16, b"\1")), error=ErrorCode.INVALID_RECORD),
    "magic 3": Case(PLAIN, one(lambda: patched(16, b"\3"))),
    "base offset": Case(PLAIN, one(lambda: patched(0, b"\0" * 7 + b"\1"))),
    "count too large": Case(PLAIN, one(lambda: patched(57, b"\0\0\0\2"))),
    "no count": Case(PLAIN, one(lambda: patched(57, b"\0\0\0\0"))),
    "control batch": Case(PLAIN, one(lambda: patched(21, b"\0\x20"))),
    "zstd for an old client": Case(
        PLAIN,
        one(lambda: batch(compression=Compression.ZSTD)),
        version=6,
        error=ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
    ),
    "acks 2": Case(PLAIN, one(batch), acks=2, error=ErrorCode.INVALID_REQUIRED_ACKS),
    "acks 2 at no topic": Case("none-such", one(batch), acks=2),
    "no topic": Case("none-such", one(batch), error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    "no partition": Case(PLAIN, lambda: [(7, batch())], error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    "too large": Case(
        SMALL, one(lambda: batch(value=bytes(300))), error=ErrorCode.MESSAGE_TOO_LARGE
    ),
    "larger than a segment": Case(
        SEGMENT,
        one(lambda: batch(value=bytes(2_000_000))),
        error=ErrorCode.RECORD_LIST_TOO_LARGE,
    ),
    "without keys": Case(
        COMPACTED, one(lambda: batch([b"a", None, b"b", None])), error=ErrorCode.INVALID_RECORD
    ),
    "without keys, compressed": Case(
        COMPACTED, one(lambda: batch([None, b"b"], compression=Compression.GZIP))
    ),
    "without keys, old client": Case(COMPACTED, one(lambda: batch([None])), version=7),
    "with keys": Case(COMPACTED, one(lambda: batch([b"a", b"b"])), error=ErrorCode.NONE),
    "too old": Case(
        BOUNDED, one(lambda: batch(age_ms=2 * HOUR_MS)), error=ErrorCode.INVALID_TIMESTAMP
    ),
    "too new": Case(
        BOUNDED, one(lambda: batch(age_ms=-2 * HOUR_MS)), error=ErrorCode.INVALID_TIMESTAMP
    ),
    "too new by default": Case(PLAIN, one(lambda: batch([None, None], age_ms=-2 * HOUR_MS))),
    "the log's own time": Case(
        APPEND_TIME, one(lambda: patched(21, b"\0\x08")), error=ErrorCode.INVALID_TIMESTAMP
    ),
    "too few replicas": Case(MIN_ISR, one(batch)),
    "too few replicas, acks 1": Case(MIN_ISR, one(batch), acks=1),
    "out of order": Case(
        PLAIN,
        one(lambda: batch(producer_id=1000, producer_epoch=0, base_sequence=0)),
    ),
    "out of order, second": Case(
        PLAIN,
        one(lambda: batch(producer_id=1000, producer_epoch=0, base_sequence=5)),
        error=ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ),
    "no sequence": Case(PLAIN, one(lambda: batch(producer_id=1000, producer_epoch=0))),
    "a partition twice": Case(PLAIN, lambda: [(0, batch()), (0, batch([None, None]))]),
}


class Outcome(NamedTuple):
    partition: int
    error: ErrorCode
    offset_span: int
    """From the log's end before the request; -1 where there is none."""
    log_start_offset: int
    bad_records: list[int]


class Target:
    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self.address = address
        self._at = (host, int(port))
        self._create_topics()

    def _create_topics(self) -> None:
        admin = AdminClient({"bootstrap.servers": self.address})
        made = admin.create_topics(
            [NewTopic(name, 1, 1, config=dict(config)) for name, config in TOPICS.items()]
        )
        for each in made.values():
            each.result(30)
        give_up_at = time.monotonic() + 30
        for name in TOPICS:
            while self.send(name, [(0, batch([b"first"]))], 9, 1)[0].error_code in (3, 6):
                assert time.monotonic() < give_up_at, "nobody leads the partition"

    def send(
        self, topic: str, wanted: list[tuple[int, bytes | None]], version: int, acks: int
    ) -> list[PartitionProduceResponse]:
        data = [PartitionProduceData(index, records) for index, records in wanted]
        request = ProduceRequest(None, acks, 10_000, [TopicProduceData(topic, partition_data=data)])
        with RawClient(self._at, timeout_s=5) as client:
            response = client.ask(request, version, ProduceResponse)
        return [each for it in response.responses for each in it.partition_responses]

    def outcomes(self, case: Case) -> list[Outcome]:
        end = -1
        if case.topic in TOPICS:
            (marker,) = self.send(case.topic, [(0, batch([b"key"]))], 9, 1)
            end = marker.base_offset + 1
        return [
            Outcome(
                each.index,
                ErrorCode(each.error_code),
                each.base_offset if each.base_offset < 0 else each.base_offset - end,
                each.log_start_offset,
                [error.batch_index for error in each.record_errors],
            )
            for each in self.send(case.topic, case.make(), case.version, case.acks)
        ]


@pytest.fixture(scope="module")
def theirs(kafka: KafkaNode) -> Target:
    return Target(f"127.0.0.1:{kafka.port}")


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    with running_barnabas(tmp_path_factory.mktemp("barnabas"), "--ephemeral") as (_, address):
        yield Target(address)


@pytest.mark.parametrize("name", CASES)
def test_an_ill_request_is_answered_as_by_kafka(theirs: Target, ours: Target, name: str) -> None:
    case = CASES[name]
    if name == "out of order, second":
        for target in (theirs, ours):
            target.outcomes(CASES["out of order"])

    expected = theirs.outcomes(case)

    assert ours.outcomes(case) == expected
    if case.error is not None:
        assert {each.error for each in expected} == {case.error}
