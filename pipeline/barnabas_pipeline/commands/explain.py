"""`barnabas pipeline explain FILE`: the plan that Spark makes of it, as text."""

import argparse
from typing import TYPE_CHECKING

from barnabas_pipeline.commands.document import add_document_arguments, with_document

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from barnabas_pipeline.pipeline import Pipeline


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_document_arguments(parser)


def run(options: argparse.Namespace) -> int:
    return with_document(options, _explain)


def _explain(pipeline: "Pipeline", spark: "SparkSession") -> int:
    print(pipeline.explain(spark))
    return 0
