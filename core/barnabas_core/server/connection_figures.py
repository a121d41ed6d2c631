"""The connections of a listener, as Prometheus is told of them."""

from collections.abc import Iterator
from typing import Final

from barnabas_core.runtime.metrics.definition import counter, gauge
from barnabas_core.runtime.metrics.registry import Figure
from barnabas_core.server.connection_meter import ConnectionMeter

OPEN: Final = gauge(
    "barnabas_connections",
    "Open connections of clients.",
    "listener",
    jmx="kafka.server:type=socket-server-metrics,listener=*,connection-count",
)
ACCEPTED: Final = counter(
    "barnabas_connections_accepted_total",
    "Connections that were let in.",
    "listener",
    jmx="kafka.server:type=socket-server-metrics,listener=*,connection-creation-total",
)
REFUSED: Final = counter(
    "barnabas_connections_refused_total",
    "Connections that were turned away, by the property that bounds them.",
    "listener",
    "limit",
)
CLOSED: Final = counter(
    "barnabas_connections_closed_total",
    "Connections that ended: by the client (or the network), or by this side and why.",
    "listener",
    "reason",
    jmx="kafka.server:type=socket-server-metrics,listener=*,connection-close-total",
)
LARGE_BYTES: Final = gauge(
    "barnabas_request_memory_bytes",
    "Memory that large requests hold, those that are still coming in included.",
    "listener",
    jmx="kafka.network:type=SocketServer,name=MemoryPoolUsed",
)
METRICS: Final = (OPEN, ACCEPTED, REFUSED, CLOSED, LARGE_BYTES)


def figures(meter: ConnectionMeter, open_count: int, large_bytes: int) -> Iterator[Figure]:
    listener = meter.listener
    yield Figure(OPEN, (listener,), open_count)
    yield Figure(ACCEPTED, (listener,), meter.accepted_count)
    yield Figure(LARGE_BYTES, (listener,), large_bytes)
    for limit, count in list(meter.refused.items()):
        yield Figure(REFUSED, (listener, limit), count)
    for reason, count in meter.closed.items():
        yield Figure(CLOSED, (listener, reason.value), count)
