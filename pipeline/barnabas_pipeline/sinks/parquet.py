"""Rows to a partitioned Parquet table, each batch exactly once (`commit_log` says how)."""

import time
import uuid
from typing import Final

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as fn

from barnabas_pipeline.files import Files
from barnabas_pipeline.pipeline_error import PipelineError
from barnabas_pipeline.sinks.commit_log import CommitLog, Move
from barnabas_pipeline.sinks.compaction import Compaction
from barnabas_pipeline.sinks.file_store import FileStatus
from barnabas_pipeline.sinks.sink import Written
from barnabas_pipeline.spec.model import ParquetSink

# What a time partition is called, and what its values look like.
TIME_FORMATS: Final = {
    "month": (("month", "yyyy-MM"),),
    "day": (("day", "yyyy-MM-dd"),),
    "hour": (("day", "yyyy-MM-dd"), ("hour", "HH")),
}
_ROWS_PER_FILE_MIN: Final = 1_000


class ParquetTable:
    reads_once = True

    def __init__(self, spark: SparkSession, spec: ParquetSink) -> None:
        self._spec = spec
        self._table = spec.path.rstrip("/")
        self._files = Files(spark, self._table)
        self._compaction = Compaction(spark, self._files, spec)
        self._log: CommitLog | None = None
        self._query_id = ""
        self._run_id = uuid.uuid4().hex[:8]
        self._target_rows: int | None = None

    def open(self, query_id: str) -> None:
        self._query_id = query_id
        self._log = CommitLog(self._files, self._table, query_id)
        self._log.recover()
        self._compaction.recover()

    def write(self, batch: DataFrame, batch_id: int) -> Written:
        log = self._log
        assert log is not None, "opened first"
        if log.has(batch_id):
            # Gone through all the same: Spark commits no batch whose state no task has written.
            batch.write.format("noop").mode("overwrite").save()
            return Written(0)
        # By run: a task that outlives its driver on a cluster must not add to what is staged now.
        staged = f"{log.staging}/{batch_id}-{self._run_id}"
        rows = self._stage(self._partitioned(batch), f"{self._table}/{staged}")
        log.commit(batch_id, rows, self._moves(staged, batch_id) if rows or not log.last else [])
        self._compaction.run_if_due(round(time.time() * 1000))
        return Written(rows)

    def _partitioned(self, batch: DataFrame) -> DataFrame:
        if self._spec.time_by is None:
            return batch
        for name, form in TIME_FORMATS[self._spec.time_by]:
            if name in batch.columns:
                raise PipelineError(
                    f"the rows have a column `{name}`, and partitions by {self._spec.time_by} add "
                    f"one of that name: give it another in `steps`"
                )
            moment = fn.col(self._spec.time_column or "")
            batch = batch.withColumn(name, fn.date_format(moment, form))
        return batch

    def _stage(self, batch: DataFrame, target: str) -> int:
        self._files.delete(target)  # of an attempt that failed in this very run
        observation = Observation()
        counted = batch.observe(observation, fn.count(fn.lit(1)).alias("rows"))
        writer = counted.write.mode("overwrite")
        names = self.partition_columns()
        if names:
            writer = writer.partitionBy(*names)
        rows_per_file = self._rows_per_file()
        if rows_per_file:
            writer = writer.option("maxRecordsPerFile", rows_per_file)
        writer.parquet(target)
        return int(observation.get["rows"])

    def partition_columns(self) -> list[str]:
        time_names = [name for name, _ in TIME_FORMATS.get(self._spec.time_by or "", ())]
        return [*self._spec.partition_by, *time_names]

    def _rows_per_file(self) -> int | None:
        """As many as made a file of the target size in the last batch that had any."""
        assert self._log is not None
        last = self._log.last
        if last is not None and last.rows:
            size_bytes = sum(move.size_bytes for move in last.moves)
            self._target_rows = self._spec.target_file_bytes * last.rows // max(size_bytes, 1)
        return self._target_rows and max(_ROWS_PER_FILE_MIN, self._target_rows)

    def _moves(self, staged: str, batch_id: int) -> list[Move]:
        root = f"{self._table}/{staged}"
        depth = len(self.partition_columns())
        found = self._files.glob(root + "/*" * depth + "/*.parquet")
        short = self._query_id.partition("-")[0]
        return [
            self._move(status, staged, f"{short}-{batch_id:010}-{number:05}.parquet")
            for number, status in enumerate(found)
        ]

    def _move(self, status: FileStatus, staged: str, name: str) -> Move:
        inner = status.path.partition(f"{staged}/")[2]
        directory = inner.rpartition("/")[0]
        target = f"{directory}/{name}" if directory else name
        return Move(f"{staged}/{inner}", target, status.size_bytes)
