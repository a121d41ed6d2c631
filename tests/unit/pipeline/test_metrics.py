"""Figures for Prometheus, as its own client renders them."""

import socket

import pytest
from prometheus_client import generate_latest

from barnabas_pipeline.metrics import PipelineMetrics
from barnabas_pipeline.pipeline_error import PipelineError
from barnabas_pipeline.progress import Progress


def test_every_figure_of_a_batch_is_there() -> None:
    metrics = PipelineMetrics("orders")

    metrics.add(Progress(1, "", 100, 3, 250, {"orders": 34}, {"orders": 12.5}))
    metrics.add(Progress(2, "", 50, 0, 250, {"orders": 4}, {"orders": 0.5}))
    metrics.add_output(147)

    text = generate_latest(metrics.registry).decode()
    for line in (
        'barnabas_pipeline_input_rows_total{pipeline="orders"} 150.0',
        'barnabas_pipeline_output_rows_total{pipeline="orders"} 147.0',
        'barnabas_pipeline_bad_records_total{pipeline="orders"} 3.0',
        'barnabas_pipeline_batch_duration_seconds_sum{pipeline="orders"} 0.5',
        'barnabas_pipeline_lag_records{pipeline="orders",topic="orders"} 4.0',
        'barnabas_pipeline_lag_seconds{pipeline="orders",topic="orders"} 0.5',
    ):
        assert line in text


def test_a_port_that_is_taken_is_named() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]

        with pytest.raises(PipelineError, match=f"metrics_port {port} on 127.0.0.1"):
            PipelineMetrics("orders").serve(port)
