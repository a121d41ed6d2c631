"""From record to record within a partition: offsets, time, and a sequence of the users' own.

A partition may be larger than a task should sort, so its records are taken in buckets of a million
offsets. A first pass sums each bucket up; the second looks at each record and the one before it,
for which the last record of a bucket is put before the first one of the next.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as f

from barnabas_pipeline.audit.report import Finding, PartitionFigures
from barnabas_pipeline.audit.rows import expression, expressions
from barnabas_pipeline.audit.spec import AuditSpec, Kind
from barnabas_pipeline.audit.summary import explode_tags, summarise, tagged

BUCKET_OFFSETS: Final = 1_000_000
PLACE: Final = ("topic", "partition", "offset")
_CARRIED: Final = ("offset", "timestamp", "sequence")
_DETAILS: Final = (*PLACE, "offset_before", "timestamp", "timestamp_before", "sequence_detail")
_TIES: Final = ("timestamp", "sequence")
_ORDER_KINDS: Final = (Kind.SEQUENCE_BACK, Kind.SEQUENCE_REPEATED, Kind.SEQUENCE_SKIPPED)


@dataclass(frozen=True, slots=True)
class StepResult:
    partitions: list[PartitionFigures]
    findings: list[Finding]


def narrow_rows(rows: DataFrame, spec: AuditSpec) -> DataFrame:
    """What the passes need of a record, and no more."""
    sequence = "cast(null as bigint)" if spec.sequence is None else spec.sequence
    return rows.select(
        *PLACE,
        "timestamp",
        expression(sequence).cast("bigint").alias("sequence"),
        f.floor(f.col("offset") / BUCKET_OFFSETS).alias("bucket"),
        *expressions(spec.sequence_per, "per"),
    )


def check_steps(narrow: DataFrame, spec: AuditSpec, *, checks_offsets: bool) -> StepResult:
    buckets = _sum_up(narrow)
    context = _context(narrow, buckets)
    tags = list(_tags(spec, checks_offsets=checks_offsets))
    findings: list[Finding] = []
    if tags:
        steps = _described(_with_one_before(narrow, context))
        findings += summarise(explode_tags(steps, tags, _DETAILS), spec.example_count)
    if spec.sequence is not None and spec.sequence_per:
        findings += _check_sequence_per(narrow, spec)
    return StepResult(list(_figures(buckets)), findings)


def _sum_up(narrow: DataFrame) -> list[Row]:
    summed = narrow.groupBy("topic", "partition", "bucket").agg(
        f.count("*").alias("records"),
        f.min("offset").alias("first_offset"),
        f.min("timestamp").alias("first_at"),
        f.max("timestamp").alias("last_at"),
        f.max_by(f.struct(*_CARRIED), "offset").alias("last"),
    )
    return sorted(summed.collect(), key=lambda row: (row.topic, row.partition, row.bucket))


def _figures(buckets: Iterable[Row]) -> Iterator[PartitionFigures]:
    by_partition: dict[tuple[str, int], list[Row]] = {}
    for row in buckets:
        by_partition.setdefault((row.topic, row.partition), []).append(row)
    for (topic, partition), rows in by_partition.items():
        yield PartitionFigures(
            topic,
            partition,
            rows[0].first_offset,
            rows[-1]["last"].offset,
            sum(row.records for row in rows),
            min(row.first_at for row in rows),
            max(row.last_at for row in rows),
        )


def _context(narrow: DataFrame, buckets: list[Row]) -> DataFrame:
    """The last record of each bucket, as one of the bucket that comes next."""
    columns = ("topic", "partition", "bucket", *_CARRIED)
    rows: list[tuple[Any, ...]] = [
        (after.topic, after.partition, after.bucket, *before["last"])
        for before, after in pairwise(buckets)
        if (before.topic, before.partition) == (after.topic, after.partition)
    ]
    shape = narrow.select(*columns).schema
    return narrow.sparkSession.createDataFrame(rows, shape).withColumn("is_context", f.lit(True))


def _with_one_before(narrow: DataFrame, context: DataFrame) -> DataFrame:
    own = narrow.select("topic", "partition", "bucket", *_CARRIED)
    together = own.withColumn("is_context", f.lit(False)).unionByName(context)
    # Of two records with one offset neither is before the other: that alone is no step back.
    window = Window.partitionBy("topic", "partition", "bucket").orderBy("offset", *_TIES)
    before = [f.lag(name).over(window).alias(f"{name}_before") for name in _CARRIED]
    return together.select("*", *before).where("not is_context and offset_before is not null")


def _described(steps: DataFrame) -> DataFrame:
    detail = f.struct(f.col("sequence_before").alias("before"), f.col("sequence").alias("is"))
    return steps.withColumn("sequence_detail", f.when(f.col("sequence").isNotNull(), detail))


def _tags(spec: AuditSpec, *, checks_offsets: bool) -> Iterator[Column]:
    hole = f.col("offset") - f.col("offset_before") - 1
    if checks_offsets:
        yield tagged(Kind.REPEATED_OFFSET, hole < 0, f.lit(1))
        yield tagged(Kind.GAP, hole > 0, hole)
    if spec.checks_timestamps:
        went_back = f.col("timestamp") < f.col("timestamp_before")
        yield tagged(Kind.TIMESTAMP_BACK, went_back, f.lit(1))
    if spec.sequence is not None and not spec.sequence_per:
        yield from _sequence_tags(hole)


def _sequence_tags(hole: Column) -> Iterator[Column]:
    is_after = f.col("sequence") - f.col("sequence_before")
    back, repeated, skipped = _ORDER_KINDS
    yield tagged(back, is_after < 0, f.lit(1))
    yield tagged(repeated, is_after == 0, f.lit(1))
    # Records that are not there take their numbers along: that is a gap, or none if it may be.
    yield tagged(skipped, is_after - 1 > f.greatest(hole, f.lit(0)), is_after - 1)


def _check_sequence_per(narrow: DataFrame, spec: AuditSpec) -> list[Finding]:
    """Each sequence by itself, wherever its records are: many small ones sort well."""
    per = [f"per{number}" for number in range(len(spec.sequence_per))]
    window = Window.partitionBy(*per).orderBy("topic", "partition", "offset")
    before = f.lag("sequence").over(window).alias("sequence_before")
    steps = narrow.where("sequence is not null").select(*PLACE, *per, "sequence", before)
    details = (*PLACE, *per, "sequence_before", "sequence")
    tags = list(_sequence_tags(f.lit(0)))
    return summarise(explode_tags(steps, tags, details), spec.example_count)
