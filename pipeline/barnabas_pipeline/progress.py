"""How far a pipeline is, read from what Spark reports after every batch."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from barnabas_pipeline import columns

OBSERVED: Final = "barnabas"


@dataclass(frozen=True, slots=True)
class Progress:
    """Of one batch; lag is what the topics had beyond it, by topic."""

    batch_id: int
    at: str
    input_rows: int
    bad_rows: int
    batch_ms: int
    lag_records: Mapping[str, int] = field(default_factory=dict)
    lag_seconds: Mapping[str, float] = field(default_factory=dict)


def observed(decoded: DataFrame, topics: Sequence[str]) -> DataFrame:
    """Counts on the way: bad records, and the newest record of each topic."""
    newest = [
        fn.max(
            fn.when(fn.col(columns.TOPIC) == name, fn.col(columns.TIMESTAMP)).cast("double")
        ).alias(f"newest_{index}")
        for index, name in enumerate(topics)
    ]
    bad = fn.count(fn.col(columns.BAD_REASON)).alias("bad")
    return decoded.observe(OBSERVED, bad, *newest)


def read_progress(report: Mapping[str, Any], topics: Sequence[str], now_s: float) -> Progress:
    """`report` is Spark's JSON of a StreamingQueryProgress."""
    figures = report.get("observedMetrics", {}).get(OBSERVED, {})
    lag = _lag_records(report.get("sources", ()))
    newest = {
        name: figures[f"newest_{index}"]
        for index, name in enumerate(topics)
        if figures.get(f"newest_{index}") is not None
    }
    return Progress(
        batch_id=int(report["batchId"]),
        at=str(report["timestamp"]),
        input_rows=int(report.get("numInputRows", 0)),
        bad_rows=int(figures.get("bad", 0)),
        batch_ms=int(report.get("batchDuration", 0)),
        lag_records=lag,
        # With nothing left to read, records that nobody wrote yet are not late.
        lag_seconds={
            name: max(now_s - moment, 0.0) if lag.get(name) else 0.0
            for name, moment in newest.items()
        },
    )


def _lag_records(sources: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    lag: dict[str, int] = {}
    for source in sources:
        done, latest = _offsets(source.get("endOffset")), _offsets(source.get("latestOffset"))
        for topic, partitions in latest.items():
            reached = done.get(topic, {})
            missing = sum(end - reached.get(each, 0) for each, end in partitions.items())
            lag[topic] = lag.get(topic, 0) + max(missing, 0)
    return lag


def _offsets(value: Any) -> dict[str, dict[str, int]]:
    """Spark's JSON has them as JSON, and at times as JSON in a string."""
    parsed = json.loads(value) if isinstance(value, str) else value
    return parsed if isinstance(parsed, dict) else {}


@dataclass(slots=True)
class Totals:
    """Of a whole run."""

    batches: int = 0
    input_rows: int = 0
    output_rows: int = 0
    bad_rows: int = 0
    seconds: float = 0.0
    last: Progress | None = None

    def add(self, progress: Progress) -> bool:
        """Whether it was news: of the last batches Spark tells twice."""
        if self.last is not None and progress.batch_id <= self.last.batch_id:
            return False
        self.batches += 1
        self.input_rows += progress.input_rows
        self.bad_rows += progress.bad_rows
        self.last = progress
        return True

    def line(self) -> str:
        """The live line."""
        last = self.last
        if last is None:
            return "waiting for the first batch"
        lag = ", ".join(
            f"{topic} {count:,} records, {last.lag_seconds.get(topic, 0):.1f} s"
            for topic, count in sorted(last.lag_records.items())
        )
        bad = f" | {self.bad_rows:,} bad" if self.bad_rows else ""
        return (
            f"batch {last.batch_id} | in {self.input_rows:,} | out {self.output_rows:,}{bad} | "
            f"lag {lag or 'none'} | {last.batch_ms:,} ms"
        )

    def summary(self) -> str:
        rate = self.input_rows / self.seconds if self.seconds else 0
        return (
            f"{self.batches} batches in {self.seconds:.1f} s: {self.input_rows:,} records read "
            f"({rate:,.0f}/s), {self.output_rows:,} rows written, {self.bad_rows:,} bad"
        )
