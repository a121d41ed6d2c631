"""Ids that more than one record has."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from barnabas_pipeline.audit.report import Finding
from barnabas_pipeline.audit.rows import expressions
from barnabas_pipeline.audit.spec import Kind
from barnabas_pipeline.audit.steps import PLACE
from barnabas_pipeline.audit.summary import summarise


def find_repeats(rows: DataFrame, ids: Sequence[str], example_count: int) -> list[Finding]:
    """Each copy after the first counts; records without an id are left out."""
    named = rows.select(*expressions(ids, "id"), *(name for name in PLACE if name in rows.columns))
    names = [f"id{number}" for number in range(len(ids))]
    places = [name for name in PLACE if name in rows.columns]
    found = [f.count("*").alias("copies")]
    if places:
        found += [
            f.min(f.struct(*places)).alias("first_place"),
            f.max(f.struct(*places)).alias("last_place"),
        ]
    grouped = named.dropna(subset=names).groupBy(*names).agg(*found).where("copies > 1")
    tagged = grouped.withColumns(
        {"kind": f.lit(Kind.REPEATED_ID.value), "amount": f.col("copies") - 1}
    )
    return summarise(tagged, example_count)


def count_without_id(rows: DataFrame, ids: Sequence[str]) -> int:
    named = rows.select(*expressions(ids, "id"))
    missing = [f.col(name).isNull() for name in named.columns]
    return named.where(f.greatest(*missing) if len(missing) > 1 else missing[0]).count()
