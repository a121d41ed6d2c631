"""Two endpoints held against each other, by id.

Both sides are put into one table and grouped by id, which moves each record once and needs no join.
Contents are compared by a hash of 64 bits and by how often they occur, so that the order of copies
does not matter.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from barnabas_pipeline.audit.report import ComparisonFigures, Finding
from barnabas_pipeline.audit.rows import expression, expressions
from barnabas_pipeline.audit.spec import BadSpec, Kind
from barnabas_pipeline.audit.summary import explode_tags, summarise, tagged

DEFAULT_CONTENT: Final = ("key", "value", "headers")
# Sums of the upper 40 bits cannot overflow before eight million copies of one id.
_HASH_SHIFT: Final = 24


@dataclass(frozen=True, slots=True)
class Side:
    rows: DataFrame
    id: Sequence[str]
    content: Sequence[str]


@dataclass(frozen=True, slots=True)
class Compared:
    figures: ComparisonFigures
    findings: list[Finding]


def default_content(one: DataFrame, other: DataFrame) -> tuple[str, ...]:
    shared = tuple(it for it in DEFAULT_CONTENT if it in one.columns and it in other.columns)
    if not shared:
        raise BadSpec("the two have no column of key, value and headers in common: name a content")
    return shared


def compare(subject: Side, against: Side, example_count: int) -> Compared:
    names = [f"id{number}" for number in range(len(subject.id))]
    both = _hashed(subject, is_subject=True).union(_hashed(against, is_subject=False))
    grouped = both.dropna(subset=names).groupBy(*names).agg(*_sums()).persist()
    try:
        figures = _figures(grouped)
        details = (*names, "copies", "against_copies")
        findings = summarise(explode_tags(grouped, _tags(), details), example_count)
    finally:
        grouped.unpersist()
    return Compared(figures, findings)


def _hashed(side: Side, *, is_subject: bool) -> DataFrame:
    # A null leaves a hash as it was: whether there is one must be hashed, too.
    parts: list[Column] = []
    for text in side.content:
        parts += [expression(text).isNull(), expression(text)]
    return side.rows.select(
        *expressions(side.id, "id"),
        f.xxhash64(*parts).alias("hash"),
        f.lit(is_subject).alias("is_subject"),
    )


def _sums() -> list[Column]:
    upper = f.shiftright("hash", _HASH_SHIFT)
    sums = []
    for prefix, is_own in (("", f.col("is_subject")), ("against_", ~f.col("is_subject"))):
        sums += [
            f.count_if(is_own).alias(f"{prefix}copies"),
            f.sum(f.when(is_own, upper)).alias(f"{prefix}sum"),
            f.max(f.when(is_own, f.col("hash"))).alias(f"{prefix}max"),
        ]
    return sums


def _is_same() -> Column:
    return (
        (f.col("copies") == f.col("against_copies"))
        & f.col("sum").eqNullSafe(f.col("against_sum"))
        & f.col("max").eqNullSafe(f.col("against_max"))
    )


def _tags() -> list[Column]:
    ours, theirs = f.col("copies"), f.col("against_copies")
    return [
        tagged(Kind.MISSING, theirs < ours, ours - theirs),
        tagged(Kind.EXTRA, ours == 0, theirs),
        tagged(Kind.DOUBLED, (ours > 0) & (theirs > ours), theirs - ours),
        tagged(Kind.DIFFERENT, (ours == theirs) & ~_is_same(), f.lit(1)),
    ]


def _figures(grouped: DataFrame) -> ComparisonFigures:
    row = grouped.agg(
        f.coalesce(f.sum("copies"), f.lit(0)).alias("ours"),
        f.coalesce(f.sum("against_copies"), f.lit(0)).alias("theirs"),
        f.count_if(_is_same()).alias("equal"),
    ).first()
    assert row is not None, "a sum over everything is always one row"
    return ComparisonFigures(row["ours"], row["theirs"], row["equal"])
