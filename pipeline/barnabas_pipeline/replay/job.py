"""The replay itself: the table's files as a stream, step by step into the topic.

The sink is Spark's, with an idempotent producer per task: each record arrives at least once, and
again only if its step was cut short. Records of one task keep their order.
"""

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from barnabas_pipeline.replay.pace import paced
from barnabas_pipeline.replay.spec import ReplaySpec, projection


@dataclass(slots=True)
class Replayed:
    row_count: int = 0
    step_count: int = 0
    on_step: Callable[["Replayed"], object] = field(default=lambda _: None, repr=False)


def run_replay(
    spark: SparkSession, spec: ReplaySpec, on_step: Callable[[Replayed], object] = lambda _: None
) -> Replayed:
    """Send all that is not yet sent according to the checkpoint; how much that was."""
    shape = spark.read.parquet(spec.path).schema
    parts = projection(spec, shape.names)
    done = Replayed(on_step=on_step)
    stream = spark.readStream.schema(shape)
    if spec.files_per_step is not None:
        stream = stream.option("maxFilesPerTrigger", spec.files_per_step)

    def step(rows: DataFrame, _step_id: int) -> None:
        _send(rows, spec, parts, done)

    with _checkpoint(spec) as checkpoint:
        query = (
            stream.parquet(spec.path)
            .writeStream.foreachBatch(step)
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        try:
            query.awaitTermination()
        finally:
            query.stop()
    return done


@contextmanager
def _checkpoint(spec: ReplaySpec) -> Iterator[str]:
    if spec.checkpoint is not None:
        yield spec.checkpoint
        return
    with tempfile.TemporaryDirectory(prefix="barnabas-replay-") as path:
        yield path


def _send(rows: DataFrame, spec: ReplaySpec, parts: list[str], done: Replayed) -> None:
    projected = _ordered(rows, spec).selectExpr(*parts)
    if spec.rows_per_second is not None:
        projected = _at_rate(projected, spec.rows_per_second)
    (
        projected.write.format("kafka")
        .option("kafka.bootstrap.servers", spec.bootstrap_servers)
        .option("topic", spec.topic)
        .options(**spec.options)
        .save()
    )
    # The files' footers tell: no column is read for it.
    done.row_count += rows.count()
    done.step_count += 1
    done.on_step(done)


def _ordered(rows: DataFrame, spec: ReplaySpec) -> DataFrame:
    """Whatever must keep an order goes through one task, as many side by side as there are cores.

    All tasks of a step run at once, so that each can take its share of the rate.
    """
    task_count = rows.sparkSession.sparkContext.defaultParallelism
    if not spec.order_by:
        return rows.coalesce(task_count)
    together = spec.partition or spec.key or ("key" if "key" in rows.columns else None)
    if together is None:
        gathered = rows.repartition(1)
    else:
        gathered = rows.repartition(task_count, f.expr(together))
    return gathered.sortWithinPartitions(*(f.expr(text) for text in spec.order_by))


def _at_rate(rows: DataFrame, rows_per_second: float) -> DataFrame:
    share = rows_per_second / max(rows.rdd.getNumPartitions(), 1)

    def pace(batches: Iterable[pa.RecordBatch]) -> Iterator[Any]:
        return paced(batches, share, time.monotonic, time.sleep)

    return rows.mapInArrow(pace, rows.schema)
