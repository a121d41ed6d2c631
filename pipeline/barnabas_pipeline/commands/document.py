"""What commands that need Spark share: a document first, then a session for it."""

import argparse
import sys
from typing import TYPE_CHECKING

from barnabas_pipeline.fetch.cache import CannotFetch
from barnabas_pipeline.pipeline_error import PipelineError
from barnabas_pipeline.spec.build import load_spec
from barnabas_pipeline.spec.problem import InvalidPipeline

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from barnabas_pipeline.pipeline import Pipeline


def add_document_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the pipeline's document")
    add_spark_arguments(parser)


def add_spark_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--master", default="local[*]", help="Spark's: local[N], spark://, k8s:// (%(default)s)"
    )
    parser.add_argument(
        "--conf",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        type=_pair,
        help="a property of Spark's",
    )


def _pair(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not key or not separator:
        raise argparse.ArgumentTypeError(f"`{text}` is not KEY=VALUE")
    return key, value


def with_document(
    options: argparse.Namespace, work: "Callable[[Pipeline, SparkSession], int]"
) -> int:
    """The document is checked before Spark is even imported."""
    try:
        spec = load_spec(options.file)
    except (InvalidPipeline, OSError) as error:
        print(error, file=sys.stderr)
        return 2

    def with_pipeline(spark: "SparkSession") -> int:
        from barnabas_pipeline.pipeline import Pipeline  # noqa: PLC0415 - imports Spark

        return work(Pipeline.load(options.file), spark)

    return with_spark(options, spec.name, with_pipeline)


def with_spark(
    options: argparse.Namespace, name: str, work: "Callable[[SparkSession], int]"
) -> int:
    from barnabas_pipeline.session import spark_session  # noqa: PLC0415 - imports Spark

    try:
        spark = spark_session(f"barnabas-{name}", options.master, dict(options.conf))
        try:
            return work(spark)
        finally:
            spark.stop()
    except (PipelineError, CannotFetch) as error:
        print(f"barnabas: {name}: {error}", file=sys.stderr)
        return 1
