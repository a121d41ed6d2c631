"""The partitions that this broker keeps: how many, how well, how large."""

from collections.abc import Iterator
from typing import Final

from barnabas_broker.partitions.partition import Partition
from barnabas_broker.storage import Storage
from barnabas_core.runtime.metrics.definition import Metric, gauge
from barnabas_core.runtime.metrics.registry import Figure

_MANAGER: Final = "kafka.server:type=ReplicaManager,name="
PARTITIONS: Final = gauge(
    "barnabas_partitions", "Partitions that this broker keeps.", jmx=f"{_MANAGER}PartitionCount"
)
LEADERS: Final = gauge(
    "barnabas_leader_partitions", "Those of them that it leads.", jmx=f"{_MANAGER}LeaderCount"
)
UNDER_REPLICATED: Final = gauge(
    "barnabas_under_replicated_partitions",
    "Those that it leads and of which not every replica is in sync.",
    jmx=f"{_MANAGER}UnderReplicatedPartitions",
)
UNDER_MIN_ISR: Final = gauge(
    "barnabas_under_min_isr_partitions",
    "Those that it leads with fewer in sync than min.insync.replicas: acks=all is refused.",
    jmx=f"{_MANAGER}UnderMinIsrPartitionCount",
)
AT_MIN_ISR: Final = gauge(
    "barnabas_at_min_isr_partitions",
    "Those that it leads with exactly as many: one more loss, and acks=all is refused.",
    jmx=f"{_MANAGER}AtMinIsrPartitionCount",
)
OFFLINE_REPLICAS: Final = gauge(
    "barnabas_offline_replicas",
    "Partitions that it keeps in a directory that failed.",
    jmx=f"{_MANAGER}OfflineReplicaCount",
)
OFFLINE_DIRECTORIES: Final = gauge(
    "barnabas_offline_log_directories",
    "Log directories that failed.",
    jmx="kafka.log:type=LogManager,name=OfflineLogDirectoryCount",
)
LOG_BYTES: Final = gauge(
    "barnabas_log_size_bytes",
    "Size of a partition's log.",
    "topic",
    "partition",
    jmx="kafka.log:type=Log,name=Size,topic=*,partition=*",
)
LOG_START: Final = gauge(
    "barnabas_log_start_offset",
    "Offset of the first record that is kept.",
    "topic",
    "partition",
    jmx="kafka.log:type=Log,name=LogStartOffset,topic=*,partition=*",
)
LOG_END: Final = gauge(
    "barnabas_log_end_offset",
    "Offset that the next record gets.",
    "topic",
    "partition",
    jmx="kafka.log:type=Log,name=LogEndOffset,topic=*,partition=*",
)
METRICS: Final = (
    PARTITIONS,
    LEADERS,
    UNDER_REPLICATED,
    UNDER_MIN_ISR,
    AT_MIN_ISR,
    OFFLINE_REPLICAS,
    OFFLINE_DIRECTORIES,
    LOG_BYTES,
    LOG_START,
    LOG_END,
)


class PartitionFigures:
    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def __call__(self) -> Iterator[Figure]:
        counts = dict.fromkeys(
            (PARTITIONS, LEADERS, UNDER_REPLICATED, UNDER_MIN_ISR, AT_MIN_ISR, OFFLINE_REPLICAS), 0
        )
        for partition in list(self._storage.partitions):
            counts[PARTITIONS] += 1
            counts[OFFLINE_REPLICAS] += partition.is_offline
            for metric in _standing(partition):
                counts[metric] += 1
            log = partition.log
            labels = (log.topic, str(log.partition))
            if not partition.is_offline:
                yield Figure(LOG_BYTES, labels, log.size_bytes)
                yield Figure(LOG_START, labels, log.log_start_offset)
                yield Figure(LOG_END, labels, log.log_end_offset)
        for metric, count in counts.items():
            yield Figure(metric, (), count)
        offline = [one for one in self._storage.logs.directories if not one.is_online]
        yield Figure(OFFLINE_DIRECTORIES, (), len(offline))


def _standing(partition: Partition) -> Iterator[Metric]:
    leadership = partition.leadership
    if leadership is None:
        return
    yield LEADERS
    if len(leadership.isr) < len(leadership.replicas):
        yield UNDER_REPLICATED
    min_isr = min(partition.config.min_insync_replicas, len(leadership.replicas))
    if len(leadership.isr) < min_isr:
        yield UNDER_MIN_ISR
    elif len(leadership.isr) == min_isr:
        yield AT_MIN_ISR
