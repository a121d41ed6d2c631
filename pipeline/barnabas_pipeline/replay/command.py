"""`barnabas pipeline replay`: a Parquet table back into a topic."""

import argparse
import sys
from typing import TYPE_CHECKING

from barnabas_pipeline.commands.document import add_spark_arguments, with_spark
from barnabas_pipeline.replay.spec import BadReplay, ReplaySpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--table", required=True, metavar="DIR", help="directory of the Parquet table")
    add("--topic", required=True, help="where to")
    add("--bootstrap", required=True, metavar="HOST:PORT", help="the brokers")
    add("--key", metavar="SQL", help="the column `key`, if there is one, unless given")
    add("--value", default="value", metavar="SQL", help="the column `value` unless given")
    add("--headers", metavar="SQL", help="the column `headers`, if there is one, unless given")
    add("--partition", metavar="SQL", help="by key unless given, for instance as `partition`")
    add("--order-by", action="append", default=[], metavar="SQL", help="may come again")
    add("--rate", type=float, metavar="ROWS", help="at most so many rows per second")
    add("--checkpoint", metavar="DIR", help="remembers what is done, to go on after a stop")
    add("--files-per-step", type=int, metavar="N", help="the most that a stopped run repeats")
    add_spark_arguments(parser)


def run(options: argparse.Namespace) -> int:
    try:
        spec = spec_of(options)
    except BadReplay as error:
        print(f"barnabas: replay: {error}", file=sys.stderr)
        return 2
    return with_spark(options, "replay", lambda spark: _replay(spark, spec))


def _replay(spark: "SparkSession", spec: ReplaySpec) -> int:
    from barnabas_pipeline.replay.job import run_replay  # noqa: PLC0415 - imports Spark

    done = run_replay(spark, spec, lambda it: print(f"{it.row_count:,} rows sent", flush=True))
    print(f"{spec.path} to {spec.topic}: {done.row_count:,} rows in {done.step_count} steps")
    return 0


def spec_of(options: argparse.Namespace) -> ReplaySpec:
    return ReplaySpec(
        path=options.table,
        bootstrap_servers=options.bootstrap,
        topic=options.topic,
        key=options.key,
        value=options.value,
        headers=options.headers,
        partition=options.partition,
        order_by=tuple(options.order_by),
        rows_per_second=options.rate,
        checkpoint=options.checkpoint,
        files_per_step=options.files_per_step,
    )
