"""Small files of closed time partitions merged into files near the target size.

A partition is closed when its time is over and nothing was added to it for `compact_after`. Its
directory is written anew in staging; a record then says which directory takes which place, and two
renames follow, made again after a crash. A reader that lists the directory just between them misses
the partition: a plain directory of files has no way around that. Rows that come late are added as
ever. Files whose columns cannot be put together, as one is a number here and a text there, stay.
"""

import json
import math
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from barnabas_pipeline.sinks.file_store import FileStore
from barnabas_pipeline.spec.model import ParquetSink

_LENGTH_MS: Final = {"hour": 3_600_000, "day": 86_400_000, "month": 31 * 86_400_000}
_CHECK_MS_MIN: Final = 1_000
_CHECK_MS_MAX: Final = 60_000


@dataclass(frozen=True, slots=True)
class Partition:
    """A leaf directory, relative to the table."""

    path: str
    file_sizes: tuple[int, ...]
    modified_at_ms: int


def start_of(path: str) -> int | None:
    """When the time partition `.../day=2026-11-17/hour=08` begins; None for another directory."""
    values = dict(part.split("=", 1) for part in path.split("/") if "=" in part)
    text = values.get("month", values.get("day", ""))
    if "hour" in values:
        text += f"T{values['hour']}"
    form = {7: "%Y-%m", 10: "%Y-%m-%d", 13: "%Y-%m-%dT%H"}.get(len(text))
    try:
        moment = datetime.strptime(text, form or "%Y").replace(tzinfo=UTC)
    except ValueError:
        return None
    return round(moment.timestamp() * 1000)


def is_due(partition: Partition, spec: ParquetSink, now_ms: int) -> bool:
    """Closed, and with at least two files of which one is small."""
    start_ms = start_of(partition.path)
    if start_ms is None or spec.compact_after_ms is None or spec.time_by is None:
        return False
    closed_at_ms = max(start_ms + _LENGTH_MS[spec.time_by], partition.modified_at_ms)
    small = [size for size in partition.file_sizes if size < spec.target_file_bytes // 2]
    has_gain = len(partition.file_sizes) > file_count(partition, spec)
    return now_ms >= closed_at_ms + spec.compact_after_ms and bool(small) and has_gain


def file_count(partition: Partition, spec: ParquetSink) -> int:
    return max(1, math.ceil(sum(partition.file_sizes) / spec.target_file_bytes))


class Compaction:
    def __init__(self, spark: SparkSession, files: FileStore, spec: ParquetSink) -> None:
        self._spark = spark
        self._files = files
        self._spec = spec
        self._table = spec.path.rstrip("/")
        self._record = f"{self._table}/_barnabas/compaction.json"
        self._next_check_ms = 0
        self._run_id = uuid.uuid4().hex[:8]

    def recover(self) -> None:
        """Finish the one that a crash cut short."""
        text = self._files.read_text(self._record)
        if text:
            values = json.loads(text)
            self._swap(values["partition"], values["merged"])
        self._files.delete(f"{self._table}/_barnabas/merging")

    def run_if_due(self, now_ms: int) -> int:
        """How many partitions were merged; looks once in a while, not at every batch."""
        after_ms = self._spec.compact_after_ms
        if after_ms is None or now_ms < self._next_check_ms:
            return 0
        self._next_check_ms = now_ms + min(max(after_ms // 4, _CHECK_MS_MIN), _CHECK_MS_MAX)
        due = [each for each in self._partitions() if is_due(each, self._spec, now_ms)]
        return sum(self._merge(partition) for partition in due)

    def _partitions(self) -> Iterable[Partition]:
        depth = len(self._spec.partition_by) + (2 if self._spec.time_by == "hour" else 1)
        by_path: dict[str, list[tuple[int, int]]] = {}
        for status in self._files.glob(self._table + "/*=*" * depth + "/*.parquet"):
            path = status.path.rpartition("/")[0]
            relative = "/".join(path.split("/")[-depth:])
            by_path.setdefault(relative, []).append((status.size_bytes, status.modified_at_ms))
        for path, found in by_path.items():
            sizes = tuple(size for size, _ in found)
            yield Partition(path, sizes, max(modified for _, modified in found))

    def _merge(self, partition: Partition) -> bool:
        rows = self._rows(partition)
        if rows is None:
            return False
        # By run: a task that outlives its driver on a cluster must not add to what is merged now.
        merged = f"_barnabas/merging/new-{self._run_id}"
        target = f"{self._table}/{merged}"
        self._files.delete(target)
        rows.coalesce(file_count(partition, self._spec)).write.mode("overwrite").parquet(target)
        record = {"partition": partition.path, "merged": merged}
        self._files.write_text(self._record, json.dumps(record))
        self._swap(partition.path, merged)
        return True

    def _rows(self, partition: Partition) -> DataFrame | None:
        """With every column that any of its files has; None where they contradict each other."""
        reader = self._spark.read.option("mergeSchema", "true")
        try:
            return reader.parquet(f"{self._table}/{partition.path}")
        except (PySparkException, Py4JJavaError):  # whichever Spark makes of its SparkException
            return None

    def _swap(self, partition: str, merged: str) -> None:
        """Every step leaves what the next run needs to go on from there."""
        new, place = f"{self._table}/{merged}", f"{self._table}/{partition}"
        old = f"{self._table}/_barnabas/merging/old"
        if self._files.exists(new):
            if self._files.exists(place):
                self._files.delete(old)
                self._files.move(place, old)
            self._files.move(new, place)
        self._files.delete(self._record)
        self._files.delete(old)
