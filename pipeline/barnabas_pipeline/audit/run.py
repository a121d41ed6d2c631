"""An audit from beginning to end: which checks, on what, and the report."""

from datetime import timedelta
from math import ceil
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from barnabas_core.runtime.disk import RealDisk
from barnabas_pipeline.audit.batches import BatchChecks, check_batches
from barnabas_pipeline.audit.comparison import Side, compare, default_content
from barnabas_pipeline.audit.repeats import count_without_id, find_repeats
from barnabas_pipeline.audit.report import Finding, Report, TimeFigures
from barnabas_pipeline.audit.rows import load_batches, load_rows
from barnabas_pipeline.audit.spec import Against, AuditSpec, Kind, SegmentsEndpoint
from barnabas_pipeline.audit.steps import PLACE, StepResult, check_steps, narrow_rows
from barnabas_pipeline.segments.log_files import find_partitions

_TIME_BARS: Final = 60


def run_audit(spark: SparkSession, spec: AuditSpec) -> Report:
    against = spec.against
    report = Report(str(spec.endpoint), None if against is None else str(against.endpoint))
    rows = load_rows(spark, spec.endpoint)
    if isinstance(spec.endpoint, SegmentsEndpoint):
        report.add(_check_files(spark, spec, spec.endpoint))
    if {*PLACE, "timestamp"} <= {*rows.columns}:
        _check_steps(report, rows, spec)
    if spec.id:
        report.add(find_repeats(rows, spec.id, spec.example_count))
        _remark_missing_ids(report, rows, spec)
    if against is not None:
        _compare(report, rows, spec, against)
    return report


def _check_files(spark: SparkSession, spec: AuditSpec, endpoint: SegmentsEndpoint) -> list[Finding]:
    partitions = find_partitions(RealDisk(), endpoint.paths, {endpoint.topic})
    checked = BatchChecks(partitions, endpoint.includes_active, spec.example_count)
    batches = load_batches(spark, endpoint).persist()
    try:
        return check_batches(batches, checked)
    finally:
        batches.unpersist()


def _check_steps(report: Report, rows: DataFrame, spec: AuditSpec) -> None:
    narrow = narrow_rows(rows, spec).persist()
    try:
        # The files tell more of offsets than records do: where they are, they are asked.
        has_files = isinstance(spec.endpoint, SegmentsEndpoint)
        result = check_steps(narrow, spec, checks_offsets=not has_files)
        report.partitions = result.partitions
        report.add(without_expected_gaps(report, result, spec))
        report.times = _count_by_time(narrow, result)
    finally:
        narrow.unpersist()


def without_expected_gaps(report: Report, result: StepResult, spec: AuditSpec) -> list[Finding]:
    """What was found, but for gaps that the topic may have: they become a remark."""
    if not spec.may_have_gaps:
        return result.findings
    for gap in (it for it in result.findings if it.kind is Kind.GAP):
        report.remarks.append(
            f"{gap.count:,} offsets have no record, as compaction, markers and aborted "
            "transactions leave them; an audit of the segments' files tells these from losses"
        )
    return [it for it in result.findings if it.kind is not Kind.GAP]


def _count_by_time(narrow: DataFrame, result: StepResult) -> TimeFigures | None:
    firsts = [it.first_at for it in result.partitions if it.first_at is not None]
    lasts = [it.last_at for it in result.partitions if it.last_at is not None]
    if not firsts or not lasts:
        return None
    first = min(firsts)
    width = max(1, ceil((max(lasts) - first + timedelta(seconds=1)).total_seconds() / _TIME_BARS))
    seconds = f.unix_seconds("timestamp") - f.unix_seconds(f.lit(first))
    bars = narrow.groupBy(f.floor(seconds / width).alias("bar")).count().collect()
    counts = {int(row["bar"]): int(row["count"]) for row in bars}
    return TimeFigures(first, width, tuple(counts.get(bar, 0) for bar in range(max(counts) + 1)))


def _remark_missing_ids(report: Report, rows: DataFrame, spec: AuditSpec) -> None:
    count = count_without_id(rows, spec.id)
    if count:
        report.remarks.append(f"{count:,} records have no id ({', '.join(spec.id)}) and stay out")


def _compare(report: Report, rows: DataFrame, spec: AuditSpec, against: Against) -> None:
    other = load_rows(rows.sparkSession, against.endpoint)
    content = spec.content or default_content(rows, other)
    compared = compare(
        Side(rows, spec.id, content),
        Side(other, against.id or spec.id, against.content or content),
        spec.example_count,
    )
    report.comparison = compared.figures
    report.add(compared.findings)
