"""Batches made by Kafka's own builder (kafka-clients 4.3.1), read by ours and rebuilt to the byte.

`java/RecordVectors.java` made them: `java -cp 'kafka-jars/*' RecordVectors.java | gzip -9n`.
"""

import gzip
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from barnabas_core.records.batch import HEADER_BYTES, BatchHeader, check_batch, split_batches
from barnabas_core.records.builder import build_batch, builder_like, empty_batch
from barnabas_core.records.compression import Compression
from barnabas_core.records.control import (
    ControlType,
    EndTransaction,
    end_transaction_batch,
    end_transaction_in,
)
from barnabas_core.records.quorum_control import parse_quorum_control, quorum_batch
from barnabas_core.records.record import Header, Record, iter_records
from barnabas_core.records.record_scan import check_records
from barnabas_core.wire.messages import voters_record
from barnabas_core.wire.messages.kraft_version_record import KRaftVersionRecord
from barnabas_core.wire.messages.leader_change_message import LeaderChangeMessage, Voter
from barnabas_core.wire.messages.snapshot_footer_record import SnapshotFooterRecord
from barnabas_core.wire.messages.snapshot_header_record import SnapshotHeaderRecord
from barnabas_core.wire.messages.voters_record import VotersRecord
from tests.support.record_samples import plain_record

VECTORS = Path(__file__).parent / "java" / "batches.txt.gz"
TIME_MS = 1_700_000_000_000
CODECS = [codec.name.lower() for codec in Compression]


@cache
def vectors() -> dict[str, bytes]:
    lines = gzip.decompress(VECTORS.read_bytes()).decode().splitlines()
    return {name: bytes.fromhex(data) for name, data in (line.split() for line in lines)}


def header_of(batch: bytes) -> BatchHeader:
    [(position, header)] = split_batches(batch)
    check_batch(batch, position, header)
    return header


def many_records() -> list[Record]:
    return [
        Record(
            number,
            TIME_MS + number * 7,
            f"key-{number % 10}".encode(),
            f"value number {number}{' ' * (number % 50)}".encode(),
            (Header(b"n", str(number).encode()),) if number % 3 == 0 else (),
        )
        for number in range(300)
    ]


def noise(size: int) -> bytes:
    out = bytearray()
    state = 42
    for _ in range(3000):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        out.append(state >> 56 & 15)
    return bytes((out * (size // 3000 + 1))[:size])


def epoch_start() -> bytearray:
    voters = [Voter(1), Voter(2)]
    endpoint = voters_record.Endpoint("CONTROLLER", "localhost", 9093)
    feature = voters_record.KRaftVersionFeature(0, 1)
    directory = (1).to_bytes(8, "big") + (2).to_bytes(8, "big")
    return quorum_batch(
        [
            LeaderChangeMessage(0, 1, voters, voters[:1]),
            KRaftVersionRecord(0, 1),
            VotersRecord(0, [voters_record.Voter(1, directory, [endpoint], feature)]),
        ],
        leader_epoch=9,
        timestamp_ms=TIME_MS,
        base_offset=100,
    )


def leader_epoch_2(batch: bytearray) -> bytearray:
    batch[12:16] = (2).to_bytes(4, "big")
    return batch


OURS: dict[str, Callable[[], bytearray]] = {
    "plain": lambda: build_batch(
        [
            Record(0, TIME_MS, None, b"v"),
            Record(1, TIME_MS + 5, b"k", None),
            Record(2, TIME_MS - 5, b"", b"", (Header(b"a", b"1"), Header(b"", None))),
            Record(3, TIME_MS + 100000, b"key", b"x" * 300),
        ]
    ),
    "many_none": lambda: build_batch(many_records()),
    "noise_none": lambda: build_batch([(b"noise", noise(150_000))], timestamp_ms=TIME_MS),
    "append_time": lambda: build_batch(
        [Record(10, TIME_MS, b"k", b"v"), Record(11, TIME_MS + 1, b"k", b"w")],
        base_offset=10,
        leader_epoch=3,
        append_time_ms=TIME_MS + 99,
    ),
    "transactional": lambda: build_batch(
        [Record(2**40 + n, TIME_MS + n, b"k", value) for n, value in enumerate((b"v", b"w", b"x"))],
        base_offset=2**40,
        leader_epoch=5,
        producer_id=4000,
        producer_epoch=7,
        base_sequence=2147483646,
        is_transactional=True,
    ),
    "commit": lambda: leader_epoch_2(end_transaction_batch(True, 17, 1234, 6, TIME_MS, 55)),
    "abort": lambda: leader_epoch_2(end_transaction_batch(False, 17, 1234, 6, TIME_MS, 55)),
    "epoch_start": epoch_start,
    "snapshot_header": lambda: quorum_batch(
        [SnapshotHeaderRecord(0, TIME_MS - 1)], leader_epoch=9, timestamp_ms=TIME_MS
    ),
    "snapshot_footer": lambda: quorum_batch(
        [SnapshotFooterRecord(0)], leader_epoch=9, timestamp_ms=TIME_MS, base_offset=7
    ),
    "delete_horizon": lambda: build_batch(
        [Record(21, TIME_MS, b"k", None), Record(24, TIME_MS + 1, b"l", b"w")],
        base_offset=20,
        leader_epoch=3,
        delete_horizon_ms=TIME_MS + 86_400_000,
        last_offset=29,
    ),
    "empty": lambda: empty_batch(
        BatchHeader(500, 999, 3, 2, 0, 0x14, 9, TIME_MS, TIME_MS, 1234, 6, 77, 10)
    ),
}


@pytest.mark.parametrize("name", OURS)
def test_ours_is_the_same_to_the_byte(name: str) -> None:
    assert OURS[name]().hex() == vectors()[name].hex()


@pytest.mark.parametrize("name", vectors())
def test_every_batch_of_javas_passes_our_checks(name: str) -> None:
    batch = vectors()[name]

    header = header_of(batch)

    assert header.size_bytes == len(batch)
    assert len(list(iter_records(batch))) == header.record_count


@pytest.mark.parametrize("name", [*CODECS, "lz4_17", "gzip_9", "zstd_-7"])
def test_records_come_out_of_every_codec(name: str) -> None:
    batch = vectors()[f"many_{name}"]

    assert [plain_record(record) for record in iter_records(batch)] == many_records()
    check_records(batch, 0, header_of(batch), keys_required=True)


@pytest.mark.parametrize("name", CODECS)
def test_a_value_larger_than_any_block_comes_out_of_every_codec(name: str) -> None:
    [record] = iter_records(vectors()[f"noise_{name}"])

    assert record.value == noise(150_000)


def test_append_time_counts_for_each_record() -> None:
    records = list(iter_records(vectors()["append_time"]))

    assert [record.timestamp for record in records] == [TIME_MS + 99] * 2


def test_a_sequence_goes_on_at_zero() -> None:
    assert header_of(vectors()["transactional"]).last_sequence == 0


@pytest.mark.parametrize(
    ("name", "kind"), [("commit", ControlType.COMMIT), ("abort", ControlType.ABORT)]
)
def test_a_marker_tells_type_and_coordinator_epoch(name: str, kind: ControlType) -> None:
    batch = vectors()[name]

    assert end_transaction_in(batch, 0, header_of(batch)) == EndTransaction(kind, 17)


def test_the_start_of_an_epoch_tells_leader_version_and_voters() -> None:
    batch = vectors()["epoch_start"]

    messages = [parse_quorum_control(record) for record in iter_records(batch)]

    leader, version, voters = messages
    assert isinstance(leader, LeaderChangeMessage)
    assert (leader.leader_id, [voter.voter_id for voter in leader.voters]) == (1, [1, 2])
    assert isinstance(version, KRaftVersionRecord)
    assert version.kraft_version == 1
    assert isinstance(voters, VotersRecord)
    assert voters.voters[0].endpoints[0].host == "localhost"


def test_timestamps_count_from_the_delete_horizon() -> None:
    batch = vectors()["delete_horizon"]

    header = header_of(batch)

    assert header.delete_horizon_ms == TIME_MS + 86_400_000
    assert [record.timestamp for record in iter_records(batch)] == [TIME_MS, TIME_MS + 1]


@pytest.mark.parametrize("name", ["plain", "many_none", "transactional", "delete_horizon"])
def test_a_batch_rebuilt_from_its_records_is_the_same(name: str) -> None:
    batch = vectors()[name]
    header = header_of(batch)
    builder = builder_like(header, header.delete_horizon_ms)

    for record in iter_records(batch):
        builder.append(record.key, record.value, record.timestamp, record.headers, record.offset)

    assert builder.build(header.last_offset) == batch


def test_an_empty_batch_is_a_header_with_the_last_sequence() -> None:
    header = header_of(vectors()["empty"])

    assert header.size_bytes == HEADER_BYTES
    assert (header.base_sequence, header.last_sequence) == (77, 86)
