"""Figures for Prometheus, fed by a StreamingQueryListener."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server

from barnabas_pipeline.pipeline_error import PipelineError
from barnabas_pipeline.progress import Progress


class PipelineMetrics:
    """All have the label `pipeline`; those of lag also `topic`."""

    def __init__(self, pipeline: str, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry()
        self._pipeline = pipeline
        label, here = ["pipeline"], self.registry
        self._input = Counter(
            "barnabas_pipeline_input_rows", "records read", label, registry=here
        ).labels(pipeline)
        self._output = Counter(
            "barnabas_pipeline_output_rows", "rows written", label, registry=here
        ).labels(pipeline)
        self._bad = Counter(
            "barnabas_pipeline_bad_records", "records that did not decode", label, registry=here
        ).labels(pipeline)
        self._seconds = Histogram(
            "barnabas_pipeline_batch_duration_seconds", "time of a batch", label, registry=here
        ).labels(pipeline)
        topic = ["pipeline", "topic"]
        self._lag_records = Gauge(
            "barnabas_pipeline_lag_records", "records not read yet", topic, registry=here
        )
        self._lag_seconds = Gauge(
            "barnabas_pipeline_lag_seconds",
            "age of the newest record read, 0 when all is read",
            topic,
            registry=here,
        )

    def serve(self, port: int, host: str = "127.0.0.1") -> int:
        """In a thread of its own, to the end of the process; returns the port."""
        try:
            server, _ = start_http_server(port, addr=host, registry=self.registry)
        except OSError as error:
            raise PipelineError(f"metrics_port {port} on {host}: {error}") from error
        return int(server.server_port)

    def add(self, progress: Progress) -> None:
        self._input.inc(progress.input_rows)
        self._bad.inc(progress.bad_rows)
        self._seconds.observe(progress.batch_ms / 1000)
        for topic, count in progress.lag_records.items():
            self._lag_records.labels(self._pipeline, topic).set(count)
        for topic, seconds in progress.lag_seconds.items():
            self._lag_seconds.labels(self._pipeline, topic).set(seconds)

    def add_output(self, rows: int) -> None:
        self._output.inc(rows)
