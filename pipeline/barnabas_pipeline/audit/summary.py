"""From a table of defects to findings: how many of each kind, and the first few.

A table of defects has the columns `kind`, `amount` and, in the order in which examples are sorted,
whatever tells where and what.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as f

from barnabas_pipeline.audit.report import Finding
from barnabas_pipeline.audit.spec import Kind

_OWN = ("kind", "amount")


def tagged(kind: Kind, condition: Column, amount: Column) -> Column:
    """(kind, amount) where the condition holds, else null."""
    pair = f.struct(f.lit(kind.value).alias("kind"), amount.cast("long").alias("amount"))
    return f.when(condition, pair)


def explode_tags(rows: DataFrame, tags: Sequence[Column], details: Sequence[str]) -> DataFrame:
    """One row per tag that is not null, with the details of its row."""
    found = rows.select(f.explode(f.array_compact(f.array(*tags))).alias("tag"), *details)
    return found.select("tag.kind", "tag.amount", *details)


def summarise(defects: DataFrame, example_count: int) -> list[Finding]:
    """Defects are few, whatever the topic's size: they are kept between the two questions."""
    kept = defects.persist()
    try:
        totals = kept.groupBy("kind").agg(f.sum("amount").alias("total")).collect()
        return [_finding(kept, row, example_count) for row in totals]
    finally:
        kept.unpersist()


def _finding(defects: DataFrame, total: Row, example_count: int) -> Finding:
    details = [name for name in defects.columns if name not in _OWN]
    chosen = defects.where(f.col("kind") == total["kind"]).select(*details)
    examples = chosen.orderBy(*details).limit(example_count).collect()
    return Finding(
        Kind(total["kind"]),
        int(total["total"]),
        tuple(row.asDict(recursive=True) for row in examples),
    )
