"""`barnabas pipeline preview FILE`: ten decoded rows, and no checkpoint read or written."""

import argparse
from typing import TYPE_CHECKING

from barnabas_pipeline.commands.document import add_document_arguments, with_document

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from barnabas_pipeline.pipeline import Pipeline


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_document_arguments(parser)
    parser.add_argument("--rows", type=int, default=10, help="how many (%(default)s)")


def run(options: argparse.Namespace) -> int:
    def show(pipeline: "Pipeline", spark: "SparkSession") -> int:
        pipeline.preview(spark, options.rows).show(options.rows, truncate=False)
        return 0

    return with_document(options, show)
