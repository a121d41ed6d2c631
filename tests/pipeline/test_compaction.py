"""Small files of closed partitions are merged, and the rows stay what they were."""

import json
import os
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from barnabas_pipeline.files import Files
from barnabas_pipeline.sinks.compaction import Compaction
from barnabas_pipeline.sinks.parquet import ParquetTable
from barnabas_pipeline.spec.model import ParquetSink

DAY = "day=2026-11-17"
HOUR_MS = 3_600_000


def spec(directory: Path, target_file_bytes: int = 1 << 20) -> ParquetSink:
    return ParquetSink(str(directory), (), "at", "day", target_file_bytes, HOUR_MS)


def small_files(spark: SparkSession, sink: ParquetSink, count: int) -> None:
    """As many batches of ten rows, of an hour ago as far as the files tell."""
    table = ParquetTable(spark, sink)
    table.open("query-1")
    for batch_id in range(count):
        first = batch_id * 10
        rows = spark.range(first, first + 10, 1, 1).selectExpr(
            "id", "timestamp'2026-11-17 08:00:00' AS at"
        )
        table.write(rows, batch_id)
    for file in Path(sink.path).glob(f"{DAY}/*.parquet"):
        os.utime(file, (time.time() - 7200, time.time() - 7200))


def files(directory: Path) -> list[Path]:
    return sorted(directory.glob(f"{DAY}/*.parquet"))


def ids(spark: SparkSession, directory: Path) -> list[int]:
    return sorted(row.id for row in spark.read.parquet(str(directory)).collect())


def long_after() -> int:
    return round(time.time() * 1000) + 400 * 24 * HOUR_MS


def test_a_closed_partition_becomes_one_file_with_the_same_rows(
    spark: SparkSession, tmp_path: Path
) -> None:
    sink = spec(tmp_path)
    small_files(spark, sink, 4)
    assert len(files(tmp_path)) == 4

    merged = Compaction(spark, Files(spark, sink.path), sink).run_if_due(long_after())

    assert merged == 1
    assert len(files(tmp_path)) == 1
    assert ids(spark, tmp_path) == list(range(40))
    assert not list((tmp_path / "_barnabas/merging").glob("*"))


def test_files_are_merged_up_to_the_target_size(spark: SparkSession, tmp_path: Path) -> None:
    small_files(spark, spec(tmp_path), 6)
    total = sum(file.stat().st_size for file in files(tmp_path))
    sink = spec(tmp_path, target_file_bytes=total // 2 + 1)

    Compaction(spark, Files(spark, sink.path), sink).run_if_due(long_after())

    assert len(files(tmp_path)) == 2
    assert ids(spark, tmp_path) == list(range(60))


def test_rows_that_come_late_are_added_to_a_merged_partition(
    spark: SparkSession, tmp_path: Path
) -> None:
    sink = spec(tmp_path)
    small_files(spark, sink, 2)
    Compaction(spark, Files(spark, sink.path), sink).run_if_due(long_after())
    table = ParquetTable(spark, sink)
    table.open("query-1")

    late = spark.range(20, 25).selectExpr("id", "timestamp'2026-11-17 09:00:00' AS at")
    table.write(late, 2)

    assert ids(spark, tmp_path) == list(range(25))


def test_columns_that_only_some_files_have_are_kept(spark: SparkSession, tmp_path: Path) -> None:
    sink = spec(tmp_path)
    small_files(spark, sink, 2)
    table = ParquetTable(spark, sink)
    table.open("query-1")
    wider = spark.range(20, 30, 1, 1).selectExpr(
        "id", "timestamp'2026-11-17 08:00:00' AS at", "'new' AS note"
    )
    table.write(wider, 2)

    assert Compaction(spark, Files(spark, sink.path), sink).run_if_due(long_after()) == 1

    merged = spark.read.parquet(str(tmp_path))
    assert sorted((row.id, row.note) for row in merged.collect()) == [
        (number, None if number < 20 else "new") for number in range(30)
    ]


def test_files_that_contradict_each_other_stay_as_they_are(
    spark: SparkSession, tmp_path: Path
) -> None:
    sink = spec(tmp_path)
    small_files(spark, sink, 2)
    table = ParquetTable(spark, sink)
    table.open("query-1")
    table.write(spark.sql("SELECT 'text' AS id, timestamp'2026-11-17 08:00:00' AS at"), 2)
    before = files(tmp_path)

    assert Compaction(spark, Files(spark, sink.path), sink).run_if_due(long_after()) == 0

    assert files(tmp_path) == before


def test_two_runs_never_stage_in_the_same_place(spark: SparkSession, tmp_path: Path) -> None:
    sources = []
    for run in range(2):
        table = ParquetTable(spark, spec(tmp_path))
        table.open(f"query-{run}")
        table.write(spark.sql("SELECT 1L AS id, timestamp'2026-11-17 08:00:00' AS at"), 0)
        record = tmp_path / f"_barnabas/commits/query-{run}/{0:020}.json"
        sources += [
            move["source"].split("/")[3] for move in json.loads(record.read_text())["moves"]
        ]

    assert len(sources) == len(set(sources)) == 2


def test_a_file_written_anew_leaves_no_checksum_to_contradict_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    store = Files(spark, str(tmp_path))
    store.write_text(f"{tmp_path}/a.json", "1")
    store.write_text(f"{tmp_path}/a.json", "22")

    assert store.read_text(f"{tmp_path}/a.json") == "22"
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]


class Died(Exception):
    """The process is killed here."""


class MortalFiles(Files):
    """Dies before the change number `dies_at`."""

    def __init__(self, spark: SparkSession, root: str, dies_at: int) -> None:
        super().__init__(spark, root)
        self.left = dies_at

    def _change(self) -> None:
        if self.left == 0:
            raise Died
        self.left -= 1

    def write_text(self, path: str, text: str) -> None:
        self._change()
        super().write_text(path, text)

    def move(self, source: str, target: str) -> None:
        self._change()
        super().move(source, target)

    def delete(self, path: str) -> None:
        self._change()
        super().delete(path)


@pytest.mark.parametrize("dies_at", range(7))
def test_whatever_step_it_dies_at_the_rows_are_there_once_after_the_next_start(
    spark: SparkSession, tmp_path: Path, dies_at: int
) -> None:
    sink = spec(tmp_path)
    small_files(spark, sink, 3)
    mortal = MortalFiles(spark, sink.path, dies_at)
    with pytest.raises(Died):
        Compaction(spark, mortal, sink).run_if_due(long_after())

    Compaction(spark, Files(spark, sink.path), sink).recover()

    assert ids(spark, tmp_path) == list(range(30))
    Compaction(spark, Files(spark, sink.path), sink).run_if_due(long_after())
    assert len(files(tmp_path)) == 1
    assert ids(spark, tmp_path) == list(range(30))


def test_files_of_a_large_batch_are_split_near_the_target_size(
    spark: SparkSession, tmp_path: Path
) -> None:
    sink = spec(tmp_path, target_file_bytes=64 << 10)
    table = ParquetTable(spark, sink)
    table.open("query-1")
    for batch_id in range(2):  # the first tells what a row takes
        rows = spark.range(0, 100_000, 1, 1).selectExpr(
            "id", "uuid() AS text", "timestamp'2026-11-17 08:00:00' AS at"
        )
        table.write(rows, batch_id)

    sizes = [file.stat().st_size for file in files(tmp_path) if "-0000000001-" in file.name]
    assert len(sizes) > 10
    assert all(size < 2 * sink.target_file_bytes for size in sizes)
