"""A pushed payload: OpenTelemetry's metrics, perhaps compressed, read within bounds.

Gauges and sums are taken, which is all that KIP-714 has clients send. Names and labels become such
as Prometheus takes. Runs in a thread: it touches nothing but its arguments.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from barnabas_core.ports import Buffer
from barnabas_core.records.compression import Compression, decompress
from barnabas_core.records.error import CorruptBatch

if TYPE_CHECKING:
    from barnabas_core.links.proto import otlp_metrics_pb2 as pb

POINT_COUNT_MAX: Final = 1_000
"""Of one push; what is beyond is left out."""
_EXPANSION_MAX: Final = 8
"""Text of metric names shrinks well, but not like this."""
_TEXT_MAX: Final = 128
_LABEL_COUNT_MAX: Final = 8
_DELTA: Final = 1
_PREFIX: Final = "org.apache.kafka."
_OUR_PREFIX: Final = "barnabas_client_"
_NOT_ALLOWED: Final = re.compile(r"[^a-zA-Z0-9_]+")
_TOTAL: Final = "_total"


class Point(NamedTuple):
    name: str
    """As Prometheus gets it: one that ends in _total is a counter, others are gauges."""
    labels: tuple[tuple[str, str], ...]
    value: float
    is_delta: bool
    """To be added to what is known."""


class BadPayload(Exception):
    """It is not what it says it is."""


def read_payload(codec: Compression, data: Buffer, bytes_max: int) -> list[Point]:
    from google.protobuf.message import DecodeError  # noqa: PLC0415 - only where it is pushed

    from barnabas_core.links.proto import otlp_metrics_pb2  # noqa: PLC0415

    try:
        plain = decompress(codec, data, bytes_max * _EXPANSION_MAX)
        payload = otlp_metrics_pb2.MetricsData.FromString(bytes(plain))
    except (CorruptBatch, DecodeError) as error:
        raise BadPayload(str(error)) from error
    return list(islice(_points(payload), POINT_COUNT_MAX))


def _points(payload: "pb.MetricsData") -> Iterator[Point]:
    for resource in payload.resource_metrics:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                yield from _of_metric(metric)


def _of_metric(metric: "pb.Metric") -> Iterator[Point]:
    kind = metric.WhichOneof("data")
    if kind == "sum":
        name = metric_name(metric.name, is_counter=metric.sum.is_monotonic)
        is_delta = metric.sum.aggregation_temporality == _DELTA
        for point in metric.sum.data_points:
            yield Point(name, _labels(point), _value(point), is_delta)
    elif kind == "gauge":
        name = metric_name(metric.name, is_counter=False)
        for point in metric.gauge.data_points:
            yield Point(name, _labels(point), _value(point), is_delta=False)


def metric_name(name: str, *, is_counter: bool) -> str:
    """`org.apache.kafka.producer.node.request.latency.avg` loses its head and its dots."""
    plain = _NOT_ALLOWED.sub("_", name[:_TEXT_MAX].removeprefix(_PREFIX)).strip("_").lower()
    plain = plain.removesuffix(_TOTAL)
    return f"{_OUR_PREFIX}{plain or 'unnamed'}{_TOTAL if is_counter else ''}"


def _labels(point: "pb.NumberDataPoint") -> tuple[tuple[str, str], ...]:
    labels = {}
    for attribute in point.attributes[:_LABEL_COUNT_MAX]:
        # Not to be taken for labels of our own.
        key = "attr_" + _NOT_ALLOWED.sub("_", attribute.key[:_TEXT_MAX]).lower()
        kind = attribute.value.WhichOneof("value")
        value = "" if kind is None else str(getattr(attribute.value, kind))
        labels[key] = value[:_TEXT_MAX]
    return tuple(sorted(labels.items()))


def _value(point: "pb.NumberDataPoint") -> float:
    return point.as_int if point.WhichOneof("value") == "as_int" else point.as_double
