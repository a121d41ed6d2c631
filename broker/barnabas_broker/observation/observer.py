"""Everything that a broker tells of itself, and whether it is ready for clients.

Ready: registered, the metadata applied up to what the cluster has committed (as far as this broker
knows), and not fenced.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from barnabas_broker.broker_config import BrokerConfig
from barnabas_broker.cluster_view import ClusterView
from barnabas_broker.health import BrokerHealth
from barnabas_broker.observation.isr_changes import IsrChanges
from barnabas_broker.observation.partition_figures import PartitionFigures
from barnabas_broker.observation.replication_figures import ReplicationFigures
from barnabas_broker.observation.traffic import Traffic
from barnabas_broker.partitions.purgatory import Purgatory
from barnabas_broker.replication.replication import Replication
from barnabas_broker.storage import Storage
from barnabas_broker.telemetry.receiver import TelemetryReceiver
from barnabas_core.ports import Clock, Executor, Rng
from barnabas_core.runtime.metrics.definition import gauge
from barnabas_core.runtime.metrics.registry import Figure, Registry, Role
from barnabas_core.server.dispatch import Handler
from barnabas_core.server.endpoint import Endpoint
from barnabas_core.server.request_meter import RequestMeter

PURGATORY: Final = gauge(
    "barnabas_purgatory_requests",
    "Requests that wait: fetches for more bytes, produces for replicas.",
    "operation",
    jmx="kafka.server:type=DelayedOperationPurgatory,name=PurgatorySize,delayedOperation=*",
)
FENCED: Final = gauge(
    "barnabas_broker_fenced",
    "1 while the controller counts this broker as down.",
    jmx="kafka.server:type=KafkaServer,name=BrokerState",
)
APPLIED: Final = gauge(
    "barnabas_metadata_applied_offset",
    "Offset of the last metadata record that this broker has applied.",
    jmx="kafka.server:type=broker-metadata-metrics,name=last-applied-record-offset",
)
LAG: Final = gauge(
    "barnabas_metadata_lag_records",
    "Committed metadata records that it has not applied yet.",
    jmx="kafka.server:type=broker-metadata-metrics,name=last-applied-record-lag-ms",
)
METRICS: Final = (PURGATORY, FENCED, APPLIED, LAG)


@dataclass(frozen=True, slots=True)
class ObservedBroker:
    view: ClusterView
    storage: Storage
    replication: Replication
    purgatory: Purgatory
    health: BrokerHealth
    endpoints: Callable[[], Sequence[Endpoint]]
    config: BrokerConfig


class BrokerObserver:
    def __init__(
        self, registry: Registry, of: ObservedBroker, clock: Clock, executor: Executor, rng: Rng
    ) -> None:
        self._of = of
        node_id = of.view.node_id
        self.meter = RequestMeter(clock)
        self.isr_changes = IsrChanges(node_id)
        self._traffic = Traffic(of.view, of.config.rack)
        self._telemetry = TelemetryReceiver(
            of.view, clock, executor, rng, of.config.telemetry_bytes_max
        )
        partitions, clients = PartitionFigures(of.storage), self._telemetry.figures
        replication = ReplicationFigures(of.replication.traffic)
        broker = (partitions, replication, self.isr_changes, self._figures)
        sources = (self.meter, self._traffic, *broker, clients)
        registry.add(f"broker {node_id}", Role(node_id, sources, of.health.reason_not_ready))

    @property
    def handlers(self) -> Sequence[Handler]:
        """What is served only where there is an endpoint to give its figures."""
        return self._telemetry.handlers

    def watched(self, handler: Handler) -> Handler:
        """The same, with what goes in and out counted."""
        return self._traffic.watched(handler)

    def _figures(self) -> Iterator[Figure]:
        of = self._of
        waiting = sum(partition.waiting_count for partition in list(of.storage.partitions))
        yield Figure(PURGATORY, ("fetch",), len(of.purgatory))
        yield Figure(PURGATORY, ("produce",), waiting)
        yield Figure(FENCED, (), of.health.is_fenced)
        yield Figure(APPLIED, (), of.health.applied_offset)
        yield Figure(LAG, (), of.health.metadata_lag)
        for endpoint in of.endpoints():
            yield from endpoint.figures()
