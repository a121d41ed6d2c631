"""`barnabas pipeline validate FILE`: every problem of a document, without Spark."""

import argparse
import sys

from barnabas_pipeline.spec.build import load_spec
from barnabas_pipeline.spec.problem import InvalidPipeline


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the pipeline's document")


def run(options: argparse.Namespace) -> int:
    try:
        spec = load_spec(options.file)
    except (InvalidPipeline, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{options.file}: pipeline {spec.name} is in order")
    return 0
