"""`barnabas pipeline run FILE`: until it has read what is there, or until it is interrupted."""

import argparse
import signal
import sys
import threading
from types import FrameType
from typing import TYPE_CHECKING

from barnabas_pipeline.commands.document import add_document_arguments, with_document

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from barnabas_pipeline.pipeline import Pipeline
    from barnabas_pipeline.progress import Totals


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_document_arguments(parser)
    parser.add_argument("--metrics-host", default="127.0.0.1", help="to listen on (%(default)s)")


def run(options: argparse.Namespace) -> int:
    return with_document(options, lambda each, spark: run_pipeline(each, spark, options))


def run_pipeline(pipeline: "Pipeline", spark: "SparkSession", options: argparse.Namespace) -> int:
    from barnabas_pipeline.metrics import PipelineMetrics  # noqa: PLC0415 - as Spark is

    metrics = PipelineMetrics(pipeline.spec.name)
    if pipeline.spec.metrics_port is not None:
        port = metrics.serve(pipeline.spec.metrics_port, options.metrics_host)
        print(f"metrics: http://{options.metrics_host}:{port}/metrics", flush=True)
    interrupted = threading.Event()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        interrupted.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_signal)
    with pipeline.started(spark, metrics) as session:
        shown = LiveLine()
        while not session.wait(0.25):
            shown.show(session.totals)
            if interrupted.is_set():
                session.stop()
                break
        shown.end()
        print(session.totals.summary(), flush=True)
    return 0


class LiveLine:
    """One line that is written over on a terminal; a line per batch where there is none."""

    def __init__(self) -> None:
        self._is_terminal = sys.stdout.isatty()
        self._last_batch = -1

    def show(self, totals: "Totals") -> None:
        if self._is_terminal:
            print(f"\r\033[K{totals.line()}", end="", flush=True)
        elif totals.last is not None and totals.last.batch_id != self._last_batch:
            self._last_batch = totals.last.batch_id
            print(totals.line(), flush=True)

    def end(self) -> None:
        if self._is_terminal:
            print(flush=True)
