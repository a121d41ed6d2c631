"""`barnabas pipeline lake`: topics to a partitioned Parquet table, with all that a record has.

Columns `key`, `value`, `headers`, `partition`, `offset`, `timestamp`; partitions by `topic` and
time.
It is a pipeline like any other, whose document is written here.
"""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import yaml

from barnabas_pipeline.commands.document import add_spark_arguments, with_spark
from barnabas_pipeline.spec.build import parse_spec
from barnabas_pipeline.spec.problem import InvalidPipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_COLUMNS: Final = ("key", "topic", "partition", "offset", "timestamp", "headers")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--bootstrap", required=True, metavar="HOST:PORT", help="the brokers")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--topic", action="append", dest="topics", help="a topic, may come again")
    which.add_argument("--pattern", help="a regular expression of topics' names")
    parser.add_argument("--path", required=True, help="directory of the table")
    parser.add_argument("--checkpoint", help="PATH/_barnabas/checkpoint unless given")
    parser.add_argument("--by", choices=("hour", "day", "month"), default="day")
    parser.add_argument("--interval", help="go on, a batch so often (10s); otherwise end")
    parser.add_argument("--compact-after", help="merge small files so long after (1h)")
    parser.add_argument("--metrics-host", default="127.0.0.1", help=argparse.SUPPRESS)
    add_spark_arguments(parser)


def run(options: argparse.Namespace) -> int:
    try:
        spec = parse_spec(document(options), "lake", Path.cwd(), "lake")
    except InvalidPipeline as error:
        print(error, file=sys.stderr)
        return 2

    def work(spark: "SparkSession") -> int:
        from barnabas_pipeline.commands.run import run_pipeline  # noqa: PLC0415 - imports Spark
        from barnabas_pipeline.pipeline import Pipeline  # noqa: PLC0415

        return run_pipeline(Pipeline(spec, Path.cwd()), spark, options)

    return with_spark(options, "lake", work)


def document(options: argparse.Namespace) -> str:
    source: dict[str, object] = {"bootstrap": options.bootstrap}
    if options.topics:
        source["topics"] = options.topics
    else:
        source["pattern"] = options.pattern
    parquet: dict[str, object] = {
        "path": options.path,
        "partition_by": ["topic"],
        "time": {"column": "timestamp", "by": options.by},
    }
    if options.compact_after:
        parquet["compact_after"] = options.compact_after
    kept = ", ".join(f"kafka_{name} AS {name}" for name in _COLUMNS)
    text: str = yaml.safe_dump(
        {
            "source": source,
            "decode": {"format": "raw"},
            "steps": [{"sql": f"SELECT value, {kept} FROM stream"}],  # noqa: S608 - of constants
            "sinks": [{"parquet": parquet}],
            "trigger": {"interval": options.interval} if options.interval else "available-now",
            "checkpoint": options.checkpoint or f"{options.path}/_barnabas/checkpoint",
        }
    )
    return text
