"""A pipeline: a document, checked, and what Spark can be asked to do with it.

Pipeline.load("orders.yaml").run(spark)
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from barnabas_pipeline import columns
from barnabas_pipeline.bad_records import dead_letters, good_rows
from barnabas_pipeline.batches import Batches
from barnabas_pipeline.decode.apply import Decode, decoder
from barnabas_pipeline.files import Files
from barnabas_pipeline.importing import import_function
from barnabas_pipeline.listener import ProgressListener
from barnabas_pipeline.metrics import PipelineMetrics
from barnabas_pipeline.pipeline_error import PipelineError, QueryFailed
from barnabas_pipeline.progress import Progress, Totals, observed, read_progress
from barnabas_pipeline.run import Run, explain_failure
from barnabas_pipeline.sinks.console import Console
from barnabas_pipeline.sinks.parquet import ParquetTable
from barnabas_pipeline.sinks.sink import Sink
from barnabas_pipeline.sinks.topic import TopicWriter, at_least_once
from barnabas_pipeline.source import read_batch, read_stream
from barnabas_pipeline.spec.build import load_spec
from barnabas_pipeline.spec.model import (
    ParquetSink,
    PipelineSpec,
    SinkSpec,
    SourceSpec,
    TopicSink,
)
from barnabas_pipeline.start import shared_start
from barnabas_pipeline.steps import apply_steps, first_lines
from barnabas_pipeline.topics import KnownTopics, Topics
from barnabas_pipeline.value_schema import value_schema


@dataclass(frozen=True, slots=True)
class Pipeline:
    spec: PipelineSpec
    directory: Path  # of the document: functions beside it are found

    @staticmethod
    def load(path: str | Path) -> "Pipeline":
        """`InvalidPipeline` with every problem of the document."""
        return Pipeline(load_spec(path), Path(path).absolute().parent)

    def run(self, spark: SparkSession, on_tick: Callable[[Totals], None] | None = None) -> Totals:
        """To its end; `on_tick` is called now and then, for whoever shows progress."""
        with self.started(spark) as session:
            while not session.wait(0.5):
                if on_tick:
                    on_tick(session.totals)
            return session.totals

    def started(self, spark: SparkSession, metrics: PipelineMetrics | None = None) -> "Session":
        return Session(self, spark, metrics)

    def preview(self, spark: SparkSession, count: int = 10) -> DataFrame:
        """Decoded rows, the reason of bad ones with them; no checkpoint is read or written."""
        session = spark.newSession()
        self._require_topics(session)
        decode = self.decoder(session, pin=False)
        return decode(read_batch(session, self.spec.source).limit(count)).drop(columns.VALUE)

    def explain(self, spark: SparkSession) -> str:
        session = spark.newSession()
        if self.spec.decode.infer_from is not None:
            self._require_topics(session)
        decode = self.decoder(session, pin=False)
        rows = self.rows(session, decode, read_stream(session, self.spec.source))
        # Selected from: the plan of SQL text does not know yet that it is one of a stream.
        frame: Any = rows.select("*")
        jvm: Any = session._jvm
        return str(jvm.PythonSQLUtils.explainString(frame._jdf.queryExecution(), "formatted"))

    def _require_topics(self, session: SparkSession) -> None:
        """Spark would take a minute to say so, in a page of Java."""
        topics = Topics(session, self.spec.source)
        try:
            topics.require()
        finally:
            topics.close()

    def decoder(self, session: SparkSession, *, pin: bool) -> Decode:
        """`pin`: an inferred schema is kept with the checkpoint."""
        registry = self.spec.decode.registry
        if registry is not None and registry.function is not None:
            import_function(registry.function, self.directory, session)  # goes to the executors
        return decoder(self.spec.decode, value_schema(session, self.spec, pin=pin))

    def rows(
        self, session: SparkSession, decode: Decode, raw: DataFrame, topics: tuple[str, ...] = ()
    ) -> DataFrame:
        """What the sinks get."""
        decoded = decode(raw)
        if self.spec.trigger.kind != "real-time":  # which allows no counting on the way
            decoded = observed(decoded, topics)
        good = good_rows(decoded, self.spec.bad_records.action)
        return apply_steps(session, good, self.spec.steps, self.directory)


class Session:
    """A run of a pipeline and what it needs while it runs; a context manager."""

    def __init__(
        self, pipeline: Pipeline, spark: SparkSession, metrics: PipelineMetrics | None
    ) -> None:
        self._pipeline = pipeline
        self._spec = pipeline.spec
        # Views and listeners of its own.
        self._spark = spark.newSession()
        self._metrics = metrics
        self._topics = Topics(self._spark, self._spec.source)
        self._files = Files(self._spark, self._spec.checkpoint)
        self._known = KnownTopics(self._files, self._spec.checkpoint)
        self._listener: ProgressListener | None = None
        self._run: Run | None = None
        self._queries: list[StreamingQuery] = []
        self._names: tuple[str, ...] = ()
        self._counting = threading.Lock()
        self.totals = Totals()

    def __enter__(self) -> Self:
        try:
            self._run = self._start()
        except AnalysisException as error:  # an aggregate without a watermark, say
            self.__exit__()
            raise PipelineError(first_lines(error)) from error
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        for query in self._queries:
            query.stop()
        if self._listener is not None:
            self._spark.streams.removeListener(self._listener)
        self._topics.close()

    @property
    def run(self) -> Run:
        assert self._run is not None, "entered"
        return self._run

    def wait(self, timeout_s: float | None = None) -> bool:
        """Whether it has ended; a failure is raised."""
        try:
            has_ended = self.run.wait(timeout_s)
        except QueryFailed as error:
            raise explain_failure(error, self._known, self._topics) from error
        if has_ended:
            self._catch_up()
        return has_ended

    def stop(self) -> None:
        self.run.stop()
        self._catch_up()

    def _catch_up(self) -> None:
        """Listeners hear of the last batches some time after the end."""
        for report in self.run.reports():
            self._on_progress(read_progress(report, self._names, time.time()))

    def _start(self) -> Run:
        ids = self._topics.require()
        self._known.check(ids)
        decode = self._pipeline.decoder(self._spark, pin=True)
        self._names = tuple(sorted(ids))
        self._listener = ProgressListener(self._spec.name, self._names, self._on_progress)
        self._spark.streams.addListener(self._listener)
        source = shared_start(self._spec, self._files, self._topics)
        raw = read_stream(self._spark, source)
        rows = self._pipeline.rows(self._spark, decode, raw, self._names)
        batches = Batches(
            self._files, self._spec.checkpoint, self._sinks(), self._check_topics, self._on_written
        )
        self._queries.append(self._start_query(rows, batches))
        if self._spec.bad_records.action == "topic":
            self._queries.append(self._start_dead_letters(decode, source))
        return Run(self._queries, batches, self.totals)

    def _start_query(self, rows: DataFrame, batches: Batches) -> StreamingQuery:
        if self._spec.trigger.kind == "real-time":
            sink = batches.sinks[0]
            assert isinstance(sink, TopicWriter), "checked"
            writer = sink.start(rows)
        else:
            writer = rows.writeStream.foreachBatch(batches)
        writer = writer.queryName(self._spec.name).outputMode(self._spec.output_mode)
        writer = writer.option("checkpointLocation", self._spec.checkpoint)
        return writer.trigger(**self._trigger()).start()

    def _start_dead_letters(self, decode: Decode, source: SourceSpec) -> StreamingQuery:
        bad = self._spec.bad_records
        assert bad.topic is not None, "the action is a topic"
        sink = TopicSink(bad.topic, bad.bootstrap or "", None, None, None, {})
        letters = dead_letters(decode(read_stream(self._spark, source)), bad.topic)
        writer = letters.writeStream.queryName(f"{self._spec.name}-bad-records")
        writer = writer.option("checkpointLocation", f"{self._spec.checkpoint}/barnabas/bad")
        return writer.trigger(**self._trigger()).foreachBatch(at_least_once(sink)).start()

    def _trigger(self) -> dict[str, Any]:
        trigger = self._spec.trigger
        if trigger.kind == "available-now":
            return {"availableNow": True}
        if trigger.kind == "real-time":
            return {"realTime": f"{trigger.interval_ms} milliseconds"}
        return {"processingTime": f"{trigger.interval_ms} milliseconds"}

    def _sinks(self) -> list[Sink]:
        return [open_sink(self._spark, sink) for sink in self._spec.sinks]

    def _check_topics(self) -> None:
        self._known.check(self._topics.ids())

    def _on_written(self, rows: int) -> None:
        self.totals.output_rows += rows
        if self._metrics is not None:
            self._metrics.add_output(rows)

    def _on_progress(self, progress: Progress) -> None:
        with self._counting:
            if self.totals.add(progress) and self._metrics is not None:
                self._metrics.add(progress)


def open_sink(spark: SparkSession, sink: SinkSpec) -> Sink:
    if isinstance(sink, ParquetSink):
        return ParquetTable(spark, sink)
    if isinstance(sink, TopicSink):
        return TopicWriter(sink)
    return Console(sink)
