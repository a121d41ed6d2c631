"""What replication moved, in both directions."""

from collections.abc import Iterator
from typing import Final

from barnabas_broker.replication.replication_traffic import ReplicationTraffic
from barnabas_core.runtime.metrics.definition import counter
from barnabas_core.runtime.metrics.registry import Figure

BYTES_IN: Final = counter(
    "barnabas_replication_bytes_in_total",
    "Bytes of record batches that this broker took from leaders.",
    jmx="kafka.server:type=BrokerTopicMetrics,name=ReplicationBytesInPerSec",
)
BYTES_OUT: Final = counter(
    "barnabas_replication_bytes_out_total",
    "Bytes of record batches that it sent to followers.",
    jmx="kafka.server:type=BrokerTopicMetrics,name=ReplicationBytesOutPerSec",
)
METRICS: Final = (BYTES_IN, BYTES_OUT)


class ReplicationFigures:
    def __init__(self, traffic: ReplicationTraffic) -> None:
        self._traffic = traffic

    def __call__(self) -> Iterator[Figure]:
        yield Figure(BYTES_IN, (), self._traffic.bytes_in)
        yield Figure(BYTES_OUT, (), self._traffic.bytes_out)
