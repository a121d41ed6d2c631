"""What clients have pushed, as it goes to Prometheus with the broker's own figures.

A client that falls silent, or says that it ends, is forgotten after a while; the number of clients
and of their figures is bounded, so that nobody can fill the memory of a broker, or of Prometheus.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from barnabas_broker.telemetry.payload import Point
from barnabas_core.ports import Clock
from barnabas_core.runtime.metrics.definition import Metric, MetricType, counter, gauge
from barnabas_core.runtime.metrics.registry import Figure
from barnabas_core.wire.primitive import uuid_text

CLIENTS: Final = gauge(
    "barnabas_telemetry_clients",
    "Clients whose metrics are known.",
    jmx="kafka.server:type=ClientMetrics,name=ClientMetricsInstanceCount",
)
PUSHES: Final = counter(
    "barnabas_telemetry_pushes_total",
    "Pushes of clients that were taken.",
    jmx="kafka.server:type=ClientMetrics,name=ClientMetricsPluginExportCount",
)
ERRORS: Final = counter(
    "barnabas_telemetry_bad_payloads_total",
    "Pushes that could not be read.",
    jmx="kafka.server:type=ClientMetrics,name=ClientMetricsPluginErrorCount",
)
LEFT_OUT: Final = counter(
    "barnabas_telemetry_points_left_out_total",
    "Figures of clients that were left out, as there were too many.",
)
METRICS: Final = (CLIENTS, PUSHES, ERRORS, LEFT_OUT)

_CLIENT_COUNT_MAX: Final = 1_000
_POINT_COUNT_MAX: Final = 20_000
_OWN_LABELS: Final = ("client_id", "client_instance_id")
_MEANING: Final = "Pushed by clients (KIP-714)."


@dataclass(slots=True)
class _Client:
    client_id: str
    ends_at_ms: int = 0
    points: dict[tuple[str, tuple[tuple[str, str], ...]], float] = field(default_factory=dict)


class ClientFigures:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._clients: dict[bytes, _Client] = {}
        self._point_count = 0
        self.push_count = 0
        self.error_count = 0
        self._left_out_count = 0

    def take(
        self, instance_id: bytes, client_id: str, points: Sequence[Point], keep_ms: int
    ) -> None:
        """They stay for `keep_ms` from now on, or until there are newer ones."""
        self.push_count += 1
        client = self._clients.pop(instance_id, None) or _Client(client_id)
        self._clients[instance_id] = client
        client.ends_at_ms = self._clock.monotonic_ms() + keep_ms
        for point in points:
            self._put(client, point)
        while len(self._clients) > _CLIENT_COUNT_MAX:
            self._drop(next(iter(self._clients)))

    def _put(self, client: _Client, point: Point) -> None:
        key = (point.name, point.labels)
        known = client.points.get(key)
        if known is None:
            if self._point_count >= _POINT_COUNT_MAX:
                self._left_out_count += 1
                return
            self._point_count += 1
        client.points[key] = point.value + (known or 0) if point.is_delta else point.value

    def _drop(self, instance_id: bytes) -> None:
        self._point_count -= len(self._clients.pop(instance_id).points)

    def __call__(self) -> Iterator[Figure]:
        now_ms = self._clock.monotonic_ms()
        for instance_id, client in list(self._clients.items()):
            if client.ends_at_ms <= now_ms:
                self._drop(instance_id)
                continue
            values = (client.client_id, uuid_text(instance_id))
            for (name, labels), value in list(client.points.items()):
                names = (*_OWN_LABELS, *(label for label, _ in labels))
                yield Figure(_metric(name, names), (*values, *(text for _, text in labels)), value)
        yield Figure(CLIENTS, (), len(self._clients))
        yield Figure(PUSHES, (), self.push_count)
        yield Figure(ERRORS, (), self.error_count)
        yield Figure(LEFT_OUT, (), self._left_out_count)


def _metric(name: str, labels: tuple[str, ...]) -> Metric:
    # By its name alone: all clients must agree on what it is.
    kind = MetricType.COUNTER if name.endswith("_total") else MetricType.GAUGE
    return Metric(name, kind, _MEANING, labels)
