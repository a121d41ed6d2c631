"""`barnabas pipeline audit`: a topic's integrity, or a comparison; a report as JSON and as a page.

Exit status: 0 sound, 3 defects, 2 an audit that makes no sense, 1 one that cannot be done.
"""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from barnabas_pipeline.audit.page import html_page
from barnabas_pipeline.audit.report import Report
from barnabas_pipeline.audit.spec import (
    Against,
    AuditSpec,
    BadSpec,
    Endpoint,
    SegmentsEndpoint,
    TableEndpoint,
    TopicEndpoint,
)
from barnabas_pipeline.commands.document import add_spark_arguments, with_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOUND: Final = 0
DEFECTS: Final = 3
_USAGE: Final = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    _add_subject(parser)
    _add_checks(parser)
    _add_against(parser)
    parser.add_argument("--json", metavar="FILE", help="write the report as JSON")
    parser.add_argument("--html", metavar="FILE", help="write the report as a page with plots")
    add_spark_arguments(parser)


def _add_subject(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--topic", help="the topic")
    add("--bootstrap", metavar="HOST:PORT", help="read the topic from these brokers")
    add("--log-dirs", metavar="DIR,...", help="read the topic's segments instead, without a broker")
    add("--include-active", action="store_true", help="of the segments the one in use, too")
    add("--table", metavar="DIR", help="read a Parquet table instead of a topic")


def _add_checks(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    id_help = "what no two records share: key, header:NAME or SQL; may come again"
    add("--id", action="append", default=[], metavar="SQL", help=id_help)
    add("--check-timestamps", action="store_true", help="time must not go back in a partition")
    add("--sequence", metavar="SQL", help="a number that rises by one from record to record")
    per_help = "a sequence for each of these, not for each partition; may come again"
    add("--sequence-per", action="append", default=[], metavar="SQL", help=per_help)
    add("--may-have-gaps", action="store_true", help="the topic is compacted or transactional")


def _add_against(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--against-topic", metavar="TOPIC", help="compare with another topic")
    add("--against-bootstrap", metavar="HOST:PORT", help="of these brokers")
    add("--against-log-dirs", metavar="DIR,...", help="of these log directories")
    add("--against-table", metavar="DIR", help="compare with a Parquet table")
    content_help = "what to compare: key, value and headers unless given; may come again"
    add("--content", action="append", default=[], metavar="SQL", help=content_help)
    there = "there, if it is called otherwise"
    add("--against-id", action="append", default=[], metavar="SQL", help=f"the id {there}")
    add("--against-content", action="append", default=[], metavar="SQL", help=f"content {there}")


def run(options: argparse.Namespace) -> int:
    try:
        spec = spec_of(options)
    except BadSpec as error:
        print(f"barnabas: audit: {error}", file=sys.stderr)
        return _USAGE
    return with_spark(options, "audit", lambda spark: _audit(spark, spec, options))


def _audit(spark: "SparkSession", spec: AuditSpec, options: argparse.Namespace) -> int:
    from barnabas_pipeline.audit.run import run_audit  # noqa: PLC0415 - imports Spark

    report = run_audit(spark, spec)
    for path, text in ((options.json, report.to_json()), (options.html, html_page(report))):
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
    print("\n".join(summary_lines(report)))
    return SOUND if report.is_sound else DEFECTS


def spec_of(options: argparse.Namespace) -> AuditSpec:
    return AuditSpec(
        endpoint=_endpoint(options),
        id=tuple(options.id),
        checks_timestamps=options.check_timestamps,
        sequence=options.sequence,
        sequence_per=tuple(options.sequence_per),
        may_have_gaps=options.may_have_gaps,
        content=tuple(options.content),
        against=_against(options),
    )


def _endpoint(options: argparse.Namespace) -> Endpoint:
    if options.table is not None:
        return TableEndpoint(options.table)
    if options.topic is None:
        raise BadSpec("what is to be audited? Give --topic or --table")
    if options.log_dirs is not None:
        paths = tuple(options.log_dirs.split(","))
        return SegmentsEndpoint(paths, options.topic, options.include_active)
    if options.bootstrap is None:
        raise BadSpec("where is the topic? Give --bootstrap or --log-dirs")
    return TopicEndpoint(options.bootstrap, options.topic)


def _against(options: argparse.Namespace) -> Against | None:
    more = tuple(options.against_id), tuple(options.against_content)
    if options.against_table is not None:
        return Against(TableEndpoint(options.against_table), *more)
    topic = options.against_topic
    if topic is None:
        return None
    if options.against_log_dirs is not None:
        return Against(SegmentsEndpoint(tuple(options.against_log_dirs.split(",")), topic), *more)
    brokers = options.against_bootstrap or options.bootstrap
    if brokers is None:
        raise BadSpec("where is the other topic? Give --against-bootstrap or --against-log-dirs")
    return Against(TopicEndpoint(brokers, topic), *more)


def summary_lines(report: Report) -> list[str]:
    count = sum(it.record_count for it in report.partitions)
    lines = [f"{report.subject}: {count:,} records in {len(report.partitions)} partitions"]
    if report.comparison is not None:
        compared = report.comparison
        lines.append(
            f"against {report.against}: {compared.record_count:,} and {compared.against_count:,} "
            f"records, {compared.equal_count:,} ids equal"
        )
    lines += [f"note: {remark}" for remark in report.remarks]
    if report.is_sound:
        return [*lines, "sound"]
    return lines + [f"{finding.kind.value}: {finding.count:,}" for finding in report.findings]
