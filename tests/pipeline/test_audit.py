"""Defects planted in topics and tables: each is found, and nothing else."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from barnabas_core.log.directories.checkpoint import CLEANER_FILE, encode_offsets
from barnabas_core.log.producers.producer_state import AppendOrigin
from barnabas_core.records.batch import HEADER_BYTES
from barnabas_core.records.builder import build_batch, builder_like
from barnabas_core.records.compression import Compression
from barnabas_core.records.record import Header, iter_records
from barnabas_pipeline.audit.command import DEFECTS
from barnabas_pipeline.audit.page import html_page
from barnabas_pipeline.audit.report import Report
from barnabas_pipeline.audit.run import run_audit
from barnabas_pipeline.audit.spec import (
    Against,
    AuditSpec,
    Kind,
    SegmentsEndpoint,
    TableEndpoint,
)
from barnabas_pipeline.audit.steps import BUCKET_OFFSETS
from tests.support.log_directory import append
from tests.support.segment_lab import (
    TIME_MS,
    TOPIC,
    LogWriter,
    batches_in,
    cut_out,
    flip,
    segment_paths,
    writing,
)

PROGRAM = str(Path(sys.executable).parent / "barnabas")
PRODUCER = 7
SEQUENCE = "cast(cast(value as string) as bigint)"


def found(report: Report) -> dict[Kind, int]:
    return {finding.kind: finding.count for finding in report.findings}


def number_records(writer: LogWriter, first: int, count: int) -> None:
    """Batches of three records of an idempotent producer, whose keys and values are numbered."""
    for number in range(first, first + count, 3):
        names = [b"%d" % n for n in range(number, number + 3)]
        writer.write(names, keys=names, producer_id=PRODUCER)


def audit(spark: SparkSession, path: Path, **more: object) -> Report:
    endpoint = SegmentsEndpoint((str(path),), TOPIC)
    return run_audit(spark, AuditSpec(endpoint, **more))  # type: ignore[arg-type]


def test_a_sound_topic_has_no_finding(spark: SparkSession, tmp_path: Path) -> None:
    """Everything that looks like a defect and is none."""
    with writing(tmp_path) as writer:
        number_records(writer, 0, 90)
        writer.write([b"aborted"], producer_id=8, is_transactional=True, keys=[b"0"])
        writer.end(8, commit=False)
        number_records(writer, 90, 90)
        for codec in Compression:
            writer.write([b"%d" % (180 + codec)], keys=[b"%d" % (180 + codec)], codec=codec)
        writer.roll()
        number_records(writer, 185, 3)
        writer.log.advance_log_start(1)
    with writing(tmp_path, partition=1) as writer:
        number_records(writer, 1000, 30)
    [segment] = segment_paths(tmp_path, 1)
    compact(segment, batch=2)
    cut_out(segment, 4)
    (tmp_path / CLEANER_FILE).write_bytes(encode_offsets({(TOPIC, 1): 15}))

    report = audit(spark, tmp_path, id=("key",), checks_timestamps=True, sequence=SEQUENCE)

    assert found(report) == {}
    assert report.is_sound
    first, second = report.partitions
    assert (first.first_offset, first.last_offset, first.record_count) == (1, 189, 187)
    assert (second.first_offset, second.last_offset, second.record_count) == (0, 29, 26)


def compact(segment: Path, batch: int) -> None:
    """Take one record out of a batch, as the cleaner does."""
    data = segment.read_bytes()
    position, header = batches_in(segment)[batch]
    builder = builder_like(header)
    for record in list(iter_records(data, position))[1:]:
        builder.append(record.key, record.value, record.timestamp, (), record.offset)
    kept = builder.build(header.last_offset)
    segment.write_bytes(data[:position] + kept + data[position + header.size_bytes :])


def corrupt_a_batch(segments: list[Path]) -> tuple[Kind, int]:
    flip(segments[0], batches_in(segments[0])[3][0] + HEADER_BYTES + 2)
    return Kind.DAMAGED, 1


def corrupt_a_length(segments: list[Path]) -> tuple[Kind, int]:
    flip(segments[1], batches_in(segments[1])[3][0] + 10)
    return Kind.DAMAGED, 1


def cut_the_last_segment_short(segments: list[Path]) -> tuple[Kind, int]:
    segments[-1].write_bytes(segments[-1].read_bytes()[:-10])
    return Kind.DAMAGED, 1


def lose_a_record(segments: list[Path]) -> tuple[Kind, int]:
    compact(segments[0], batch=2)
    return Kind.GAP, 1


def lose_a_batch(segments: list[Path]) -> tuple[Kind, int]:
    cut_out(segments[0], 3)
    return Kind.GAP, 3


def lose_a_whole_segment(segments: list[Path]) -> tuple[Kind, int]:
    count = sum(header.record_count for _, header in batches_in(segments[1]))
    segments[1].unlink()
    return Kind.GAP, count


def lose_the_end(segments: list[Path]) -> tuple[Kind, int]:
    cut_out(segments[-1], len(batches_in(segments[-1])) - 1)
    return Kind.GAP, 3


PLANTS: tuple[Callable[[list[Path]], tuple[Kind, int]], ...] = (
    corrupt_a_batch,
    corrupt_a_length,
    cut_the_last_segment_short,
    lose_a_record,
    lose_a_batch,
    lose_a_whole_segment,
    lose_the_end,
)


def test_each_damage_to_the_files_is_found_once_and_in_its_place(
    spark: SparkSession, tmp_path: Path
) -> None:
    """One in each partition: what it takes with it (numbers, sequences) is not told again."""
    total: Counter[Kind] = Counter()
    places = set()
    for partition in range(len(PLANTS)):
        with writing(tmp_path, partition=partition) as writer:
            number_records(writer, partition * 1000, 600)
    for partition, plant in enumerate(PLANTS):
        segments = segment_paths(tmp_path, partition)
        assert len(segments) > 2
        kind, count = plant(segments)
        total[kind] += count
        places.add((kind, partition))

    report = audit(spark, tmp_path, id=("key",), checks_timestamps=True, sequence=SEQUENCE)

    assert found(report) == total
    examples = [(it.kind, example) for it in report.findings for example in it.examples]
    assert {(kind, example["partition"]) for kind, example in examples} == places
    assert len(examples) == len(PLANTS)
    assert json.loads(report.to_json())["verdict"] == "defects"
    assert html_page(report).count("#c1121f") >= len(PLANTS)


def test_what_records_say_of_themselves_is_found(spark: SparkSession, tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        number_records(writer, 0, 30)
        writer.write([b"30"], keys=[b"30"], timestamp_ms=TIME_MS - 5_000)
        writer.write([b"33", b"33", b"32"], keys=[b"33", b"x", b"30"])
        # A producer that jumps, as only a fault of the broker's lets it.
        jumped = build_batch(
            [(b"a", b"33")],
            timestamp_ms=TIME_MS + 10_000,
            producer_id=PRODUCER,
            producer_epoch=0,
            base_sequence=99,
        )
        append(writer.log, jumped, origin=AppendOrigin.COORDINATOR, now_ms=TIME_MS)

    report = audit(spark, tmp_path, id=("key",), checks_timestamps=True, sequence=SEQUENCE)

    assert found(report) == {
        Kind.PRODUCER_SEQUENCE: 1,
        Kind.TIMESTAMP_BACK: 1,
        Kind.SEQUENCE_SKIPPED: 2,
        Kind.SEQUENCE_REPEATED: 1,
        Kind.SEQUENCE_BACK: 1,
        Kind.REPEATED_ID: 1,
    }
    [repeated] = [it for it in report.findings if it.kind is Kind.REPEATED_ID]
    assert repeated.examples[0]["id0"] == b"30"


def test_ids_in_headers_and_sequences_per_key_are_checked(
    spark: SparkSession, tmp_path: Path
) -> None:
    with writing(tmp_path) as writer:
        for number, (key, value) in enumerate([(b"a", 1), (b"b", 7), (b"a", 2), (b"b", 9)]):
            header = Header(b"id", b"%d" % (number % 3))
            writer.write([b"%d" % value], keys=[key], headers=[Header(b"id", b"not"), header])
        writer.write([b"3"], keys=[b"a"])

    report = audit(spark, tmp_path, id=("header:id",), sequence=SEQUENCE, sequence_per=("key",))

    assert found(report) == {Kind.SEQUENCE_SKIPPED: 1, Kind.REPEATED_ID: 1}
    assert report.remarks == ["1 records have no id (header:id) and stay out"]


def test_a_comparison_tells_what_is_missing_doubled_different_and_extra(
    spark: SparkSession, tmp_path: Path
) -> None:
    with writing(tmp_path / "log") as writer:
        number_records(writer, 0, 30)
    rows = [(b"%d" % n, b"%d" % n) for n in range(30) if n not in (4, 5)]
    rows[10] = (rows[10][0], b"changed")
    rows += [(b"7", b"7"), (b"new", b"new")]
    table = str(tmp_path / "table")
    spark.createDataFrame(rows, "key binary, value binary").write.parquet(table)

    report = audit(spark, tmp_path / "log", id=("key",), against=Against(TableEndpoint(table)))

    assert found(report) == {
        Kind.MISSING: 2,
        Kind.DOUBLED: 1,
        Kind.DIFFERENT: 1,
        Kind.EXTRA: 1,
    }
    assert report.comparison is not None
    assert (report.comparison.record_count, report.comparison.against_count) == (30, 30)
    assert report.comparison.equal_count == 26


def test_a_null_that_moved_to_another_column_is_a_difference(
    spark: SparkSession, tmp_path: Path
) -> None:
    one, other = str(tmp_path / "one"), str(tmp_path / "other")
    spark.sql("select 1 as id, 'x' as key, null as value").write.parquet(one)
    spark.sql("select 1 as id, null as key, 'x' as value").write.parquet(other)

    report = run_audit(
        spark, AuditSpec(TableEndpoint(one), id=("id",), against=Against(TableEndpoint(other)))
    )

    assert found(report) == {Kind.DIFFERENT: 1}


def test_neighbours_are_compared_across_buckets_and_not_across_partitions(
    spark: SparkSession, tmp_path: Path
) -> None:
    edge = BUCKET_OFFSETS
    # (partition, offset, second, number): a hole and a step back in time right at the edge.
    rows = [
        (0, edge - 2, 10, 1),
        (0, edge - 1, 11, 2),
        (0, edge + 2, 6, 5),
        (0, edge + 2, 5, 5),
        (0, 5 * edge, 7, 6),
        (1, 0, 1, 100),
        (1, 1, 2, 101),
    ]
    table = str(tmp_path / "table")
    spark.createDataFrame(rows, "partition int, offset long, second long, number long").selectExpr(
        "'orders' as topic", "*", "timestamp_seconds(second) as timestamp"
    ).write.parquet(table)
    spec = AuditSpec(
        TableEndpoint(table), id=("number",), checks_timestamps=True, sequence="number"
    )

    report = run_audit(spark, spec)

    assert found(report) == {
        Kind.GAP: 2 + 5 * edge - (edge + 2) - 1,
        Kind.REPEATED_OFFSET: 1,
        Kind.TIMESTAMP_BACK: 1,
        Kind.SEQUENCE_REPEATED: 1,
        Kind.REPEATED_ID: 1,
    }
    assert [it.record_count for it in report.partitions] == [5, 2]
    assert report.times is not None
    assert sum(report.times.counts) == len(rows)


def test_the_command_writes_its_reports_and_says_how_it_ended(tmp_path: Path) -> None:
    with writing(tmp_path / "log") as writer:
        number_records(writer, 0, 30)
    cut_out(segment_paths(tmp_path / "log")[0], 3)
    words = ["--topic", TOPIC, "--log-dirs", str(tmp_path / "log"), "--master", "local[2]"]
    reports = ["--json", str(tmp_path / "report.json"), "--html", str(tmp_path / "report.html")]

    done = subprocess.run(
        [PROGRAM, "pipeline", "audit", *words, *reports],
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )

    assert done.returncode == DEFECTS, done.stderr
    assert done.stdout.splitlines()[-1] == "gap: 3"
    assert json.loads((tmp_path / "report.json").read_text())["findings"][0]["count"] == 3
    assert "<svg" in (tmp_path / "report.html").read_text()
