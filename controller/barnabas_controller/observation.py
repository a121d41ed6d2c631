"""Everything that a controller tells of itself, and whether it is ready.

Ready: it knows who leads the quorum, and has replayed what it knows to be committed. A controller
that leads is ready when it decides.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from barnabas_controller.engine import Engine
from barnabas_controller.quorum.driver import QuorumDriver
from barnabas_core.ports import Clock
from barnabas_core.runtime.metrics.definition import gauge
from barnabas_core.runtime.metrics.registry import Figure, Registry, Role
from barnabas_core.server.endpoint import Endpoint
from barnabas_core.server.request_meter import RequestMeter

if TYPE_CHECKING:
    from barnabas_core.metadata.image import Image

_CONTROLLER: Final = "kafka.controller:type=KafkaController,name="
_RAFT: Final = "kafka.server:type=raft-metrics,name="
ACTIVE: Final = gauge(
    "barnabas_controller_active",
    "1 on the controller that decides.",
    jmx=f"{_CONTROLLER}ActiveControllerCount",
)
BROKERS: Final = gauge(
    "barnabas_controller_brokers",
    "Registered brokers, by what the controller thinks of them: active, fenced, leaving.",
    "state",
    jmx=f"{_CONTROLLER}{{ActiveBrokerCount,FencedBrokerCount,ControlledShutdownBrokerCount}}",
)
TOPICS: Final = gauge(
    "barnabas_controller_topics", "Topics of the cluster.", jmx=f"{_CONTROLLER}GlobalTopicCount"
)
PARTITIONS: Final = gauge(
    "barnabas_controller_partitions",
    "Partitions of the cluster.",
    jmx=f"{_CONTROLLER}GlobalPartitionCount",
)
OFFLINE: Final = gauge(
    "barnabas_controller_offline_partitions",
    "Partitions that nobody leads.",
    jmx=f"{_CONTROLLER}OfflinePartitionsCount",
)
IMBALANCED: Final = gauge(
    "barnabas_controller_imbalanced_partitions",
    "Partitions that another broker leads than the preferred one.",
    jmx=f"{_CONTROLLER}PreferredReplicaImbalanceCount",
)
APPLIED: Final = gauge(
    "barnabas_controller_applied_offset",
    "Offset of the last metadata record that is committed and replayed here.",
    jmx=f"{_CONTROLLER}LastAppliedRecordOffset",
)
WAITING: Final = gauge(
    "barnabas_controller_waiting_requests",
    "Decisions whose answers wait for the quorum.",
    jmx="kafka.controller:type=ControllerEventManager,name=EventQueueSize",
)
LEADER: Final = gauge(
    "barnabas_quorum_leader_id",
    "Node id of the quorum's leader, -1 while none is known.",
    jmx=f"{_RAFT}current-leader",
)
EPOCH: Final = gauge("barnabas_quorum_epoch", "Epoch of the quorum.", jmx=f"{_RAFT}current-epoch")
HIGH_WATERMARK: Final = gauge(
    "barnabas_quorum_high_watermark",
    "Every record before this offset is committed.",
    jmx=f"{_RAFT}high-watermark",
)
END: Final = gauge(
    "barnabas_quorum_log_end_offset",
    "Where this node's metadata log ends.",
    jmx=f"{_RAFT}log-end-offset",
)
VOTERS: Final = gauge(
    "barnabas_quorum_voters", "Voters of the quorum.", jmx=f"{_RAFT}number-of-voters"
)
REPLICA_LAG: Final = gauge(
    "barnabas_quorum_replica_lag_records",
    "How far another controller is behind; told by the leader. -1: it was never heard of.",
    "replica",
)
SNAPSHOT_AGE: Final = gauge(
    "barnabas_metadata_snapshot_age_seconds",
    "Age of the last record that is in the newest snapshot.",
    jmx="kafka.server:type=SnapshotEmitter,name=LatestSnapshotGeneratedAgeMs",
)
SNAPSHOT_BYTES: Final = gauge(
    "barnabas_metadata_snapshot_bytes",
    "Size of the newest snapshot.",
    jmx="kafka.server:type=SnapshotEmitter,name=LatestSnapshotGeneratedBytes",
)
METRICS: Final = (
    *(ACTIVE, BROKERS, TOPICS, PARTITIONS, OFFLINE, IMBALANCED, APPLIED, WAITING),
    *(LEADER, EPOCH, HIGH_WATERMARK, END, VOTERS, REPLICA_LAG, SNAPSHOT_AGE, SNAPSHOT_BYTES),
)
# Topics between two turns of the event loop.
_STRIDE: Final = 200


@dataclass(frozen=True, slots=True)
class ObservedController:
    engine: Engine
    driver: QuorumDriver
    endpoints: Callable[[], Sequence[Endpoint]]
    is_started: Callable[[], bool]


class ControllerObserver:
    def __init__(self, registry: Registry, clock: Clock, of: ObservedController) -> None:
        self._clock = clock
        self._engine = of.engine
        self._driver = of.driver
        self._of = of
        self.meter = RequestMeter(clock)
        self._counted: tuple[Image | None, list[Figure]] = (None, [])
        node_id = of.engine.settings.node_id
        sources = (self.meter, self._figures, self._quorum, self._topics)
        registry.add(f"controller {node_id}", Role(node_id, sources, self.reason_not_ready))

    def reason_not_ready(self) -> str | None:
        driver = self._driver
        if not self._of.is_started():
            return "not started yet"
        leader_id = driver.leader.leader_id
        if leader_id is None:
            return "the quorum has no leader"
        if leader_id == self._engine.settings.node_id and not self._engine.is_active:
            return "about to take over"
        lag = driver.high_watermark - 1 - self._engine.committed.provenance.offset
        return f"{lag} metadata records behind" if lag > 0 else None

    def _figures(self) -> Iterator[Figure]:
        engine = self._engine
        yield Figure(ACTIVE, (), engine.is_active)
        yield Figure(APPLIED, (), engine.committed.provenance.offset)
        yield Figure(WAITING, (), engine.waiting_count)
        states = {"active": 0, "fenced": 0, "leaving": 0}
        for broker in engine.committed.cluster.brokers.values():
            state = "fenced" if broker.is_fenced else "active" if broker.is_active else "leaving"
            states[state] += 1
        for state, count in states.items():
            yield Figure(BROKERS, (state,), count)
        for endpoint in self._of.endpoints():
            yield from endpoint.figures()

    def _quorum(self) -> Iterator[Figure]:
        driver = self._driver
        if not self._of.is_started():
            return
        news, quorum = driver.leader, driver.node.quorum
        yield Figure(LEADER, (), -1 if news.leader_id is None else news.leader_id)
        yield Figure(EPOCH, (), quorum.epoch)
        yield Figure(HIGH_WATERMARK, (), quorum.high_watermark)
        yield Figure(END, (), quorum.log.end_offset)
        yield Figure(VOTERS, (), len(quorum.history.voters))
        description = driver.describe()
        if description is not None:
            for one in (*description.voters, *description.observers):
                known = one.end_offset >= 0
                lag = max(quorum.log.end_offset - one.end_offset, 0) if known else -1
                yield Figure(REPLICA_LAG, (str(one.replica.node_id),), lag)
        snapshot = driver.committed_log.stored_snapshot
        if snapshot is not None:
            age_ms = max(self._clock.now_ms() - snapshot.last_appended_at_ms, 0)
            yield Figure(SNAPSHOT_AGE, (), age_ms / 1000)
            yield Figure(SNAPSHOT_BYTES, (), snapshot.size_bytes)

    def _topics(self) -> Iterator[Figure | None]:
        """Counted once for each image: there may be a hundred thousand partitions."""
        image = self._engine.committed
        if self._counted[0] is not image:
            partitions = offline = imbalanced = 0
            for number, topic in enumerate(image.topics):
                if number % _STRIDE == 0:
                    yield None
                for partition in topic.partitions.values():
                    partitions += 1
                    offline += not partition.has_leader
                    imbalanced += partition.leader not in (-1, partition.preferred_leader)
            counts = {TOPICS: len(image.topics.by_id), PARTITIONS: partitions}
            counts |= {OFFLINE: offline, IMBALANCED: imbalanced}
            self._counted = (image, [Figure(metric, (), count) for metric, count in counts.items()])
        yield from self._counted[1]
