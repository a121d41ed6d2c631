"""Record batches across languages: Java reads ours, we read Java's."""

import subprocess
from pathlib import Path
from random import Random

import pytest

from barnabas_core.ports import Buffer
from barnabas_core.records.batch import BatchHeader, check_batch, split_batches
from barnabas_core.records.builder import BatchBuilder
from barnabas_core.records.compression import LEVELS, Compression
from barnabas_core.records.control import end_transaction_batch
from barnabas_core.records.record import Header, Record, iter_records
from tests.support.dump_log import Dump, batch_field, dump_files
from tests.support.external import JavaRuntime
from tests.support.kafka_node import KafkaNode
from tests.support.record_samples import sample_batches

NOW_MS = 1_750_000_000_000
WORDS = ("log", "offset", "epoch", "leader", "replica")


def sample_values(random: Random, count: int) -> list[bytes]:
    """Text of all lengths, so that frames of one block and of several come up."""
    lengths = [0, 1, 10, 1_000, 100_000]
    return [
        " ".join(random.choices(WORDS, k=random.choice(lengths) // 5)).encode()
        for _ in range(count)
    ]


def dump_batches(java: JavaRuntime, directory: Path, batches: list[bytearray]) -> Dump:
    log = directory / "00000000000000000000.log"
    log.write_bytes(b"".join(batches))
    return dump_files(java, [log])


@pytest.mark.parametrize("codec", Compression, ids=lambda codec: codec.name.lower())
def test_java_reads_our_batches(java: JavaRuntime, tmp_path: Path, codec: Compression) -> None:
    random = Random(codec)
    batches, expected, offset = [], [], 0
    levels = LEVELS.get(codec, range(0))
    for level in (*levels[:1], *levels[-1:], None):
        builder = BatchBuilder(base_offset=offset, compression=codec, level=level)
        for value in sample_values(random, 20):
            key = None if offset % 3 == 0 else b"key %d" % offset
            headers = [Header(b"first", b"1"), Header(b"second", None)][: offset % 3]
            builder.append(key, value, NOW_MS + offset, headers)
            expected.append((offset, NOW_MS + offset, key, value))
            offset += 1
        batches.append(builder.build())

    dump = dump_batches(java, tmp_path, batches)

    assert dump.complaints == []
    assert dump.gaps == []
    assert {batch_field(line, "compresscodec") for line in dump.batches} == {codec.name.lower()}
    assert [(r.offset, r.timestamp_ms, r.key, r.value or "") for r in dump.records] == [
        (offset, timestamp, key and key.decode(), value.decode())
        for offset, timestamp, key, value in expected
    ]


def test_java_reads_every_kind_of_batch_that_we_write(java: JavaRuntime, tmp_path: Path) -> None:
    samples = list(sample_batches())
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(b"".join(sample.batch for sample in samples))

    dump = dump_files(java, [log], print_data=False)

    assert dump.complaints == []
    assert dump.gaps == []
    assert len(dump.batches) == len(samples)
    sizes = [
        f"offset: {record.offset} CreateTime: {record.timestamp} "
        f"keySize: {size(record.key)} valueSize: {size(record.value)} "
        for sample in samples
        for record in sample.records
    ]
    found = [record.line for record in dump.records if "endTxnMarker" not in record.line]
    assert len(found) == len(sizes)
    assert all(expected in line for expected, line in zip(sizes, found, strict=True))


def size(part: Buffer | None) -> int:
    return -1 if part is None else len(part)


def test_java_reads_our_transaction_markers(java: JavaRuntime, tmp_path: Path) -> None:
    commit, abort = (
        end_transaction_batch(
            commit=commit,
            coordinator_epoch=7,
            producer_id=42,
            producer_epoch=3,
            timestamp_ms=NOW_MS,
            base_offset=offset,
        )
        for offset, commit in enumerate((True, False))
    )

    dump = dump_batches(java, tmp_path, [commit, abort])

    assert dump.complaints == []
    assert [batch_field(line, "isControl") for line in dump.batches] == ["true", "true"]
    assert [batch_field(line, "producerId") for line in dump.batches] == ["42", "42"]
    assert [record.line.partition("endTxnMarker: ")[2] for record in dump.records] == [
        "COMMIT coordinatorEpoch: 7",
        "ABORT coordinatorEpoch: 7",
    ]


def test_java_reads_our_producer_fields_and_times(java: JavaRuntime, tmp_path: Path) -> None:
    builder = BatchBuilder(
        leader_epoch=5,
        producer_id=42,
        producer_epoch=3,
        base_sequence=2**31 - 2,
        is_transactional=True,
        append_time_ms=NOW_MS + 9,
    )
    for number in range(3):
        builder.append(b"key", b"value", NOW_MS + number)

    dump = dump_batches(java, tmp_path, [builder.build()])

    assert dump.complaints == []
    fields = ("partitionLeaderEpoch", "baseSequence", "lastSequence", "isTransactional")
    assert [batch_field(dump.batches[0], name) for name in fields] == [
        "5",
        "2147483646",
        "0",  # sequences wrap
        "true",
    ]
    assert [record.timestamp_ms for record in dump.records] == [NOW_MS + 9] * 3


@pytest.mark.parametrize("codec", Compression, ids=lambda codec: codec.name.lower())
def test_we_read_the_java_producers_batches(kafka: KafkaNode, codec: Compression) -> None:
    topic = f"from-java-{codec.name.lower()}"
    values = [value or b"-" for value in sample_values(Random(codec), 200)]
    lines = [b"kind:a,other:b\tkey %d\t%s" % (n, value) for n, value in enumerate(values)]
    kafka.create_topic(topic, {})
    command = kafka.java.command(
        "org.apache.kafka.tools.ConsoleProducer",
        *("--bootstrap-server", kafka.bootstrap, "--topic", topic),
        *("--compression-codec", codec.name.lower()),
        *("--reader-property", "parse.key=true", "--reader-property", "parse.headers=true"),
    )

    subprocess.run(command, input=b"\n".join(lines), check=True, capture_output=True, timeout=120)

    headers, records = read_log(kafka.data / f"{topic}-0" / "00000000000000000000.log")
    assert {header.compression for header in headers} == {codec}
    assert all(header.has_producer_id for header in headers)
    assert [record.offset for record in records] == list(range(len(values)))
    assert [bytes(record.value or b"") for record in records] == values
    assert [bytes(record.key or b"") for record in records] == [
        b"key %d" % number for number in range(len(values))
    ]
    assert [
        [(header.key, bytes(header.value or b"")) for header in record.headers]
        for record in records
    ] == [[(b"kind", b"a"), (b"other", b"b")]] * len(values)


def read_log(path: Path) -> tuple[list[BatchHeader], list[Record]]:
    data = path.read_bytes()
    headers: list[BatchHeader] = []
    records: list[Record] = []
    for position, header in split_batches(data):
        check_batch(data, position, header)
        headers.append(header)
        records += iter_records(data, position)
    return headers, records
