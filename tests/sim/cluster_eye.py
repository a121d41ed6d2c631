"""What is true of a simulated cluster, as nobody in it can see it: metadata, logs, who lacks what.

Kafka does not sync data before it acknowledges, so what two of three replicas acknowledged is safe
while at most one is down uncleanly. A machine loses what was not synced only while every other
replica is in sync, and until it is back in sync itself no other broker is taken down. Processes
alone, which lose nothing that they wrote, die all at once.
"""

from collections.abc import Iterator, Sequence
from random import Random

from barnabas_core.log.partition_log import PartitionLog
from barnabas_core.metadata.partition_image import PartitionImage
from tests.sim.broker_node import BrokerNode
from tests.sim.cluster_clients import TOPIC, Stage
from tests.sim.cluster_ledger import Value
from tests.sim.cluster_readers import read_values
from tests.sim.cluster_recreation import AGAIN
from tests.sim.controller_truth import Truth
from tests.sim.invariant import check
from tests.sim.sim_machine import SimMachine

REPLICA_COUNT = 3


class ClusterEye:
    def __init__(
        self, truth: Truth, brokers: Sequence[BrokerNode], stage: Stage, rng: Random
    ) -> None:
        self._truth = truth
        self._stage = stage
        self._rng = rng
        self.brokers = {node.machine.number: node for node in brokers}
        self._lossy: BrokerNode | None = None
        self._committed: dict[int, int] = {}
        """By partition: the highest of all high watermarks."""
        self._starts: dict[PartitionLog, int] = {}

    @property
    def acknowledged_count(self) -> int:
        return self._stage.count.acknowledged

    # --- metadata

    def partitions(self, topic: str = TOPIC) -> dict[int, PartitionImage]:
        """None while the topic is not there."""
        image = self._truth.image.topics.named(topic)
        return {} if image is None else dict(image.partitions)

    def partition(self, topic_id: bytes, index: int) -> PartitionImage | None:
        topic = self._truth.image.topics.by_id.get(topic_id)
        return None if topic is None else topic.partitions.get(index)

    def find_leader(self) -> SimMachine | None:
        """Of some partition."""
        led = [it.leader for it in self.partitions().values() if it.leader in self.brokers]
        return self.brokers[led[self._rng.randrange(len(led))]].machine if led else None

    def find_peers(self, machine: SimMachine) -> list[SimMachine]:
        """The other replicas of a partition of that broker."""
        for partition in self.partitions().values():
            if machine.number in partition.replicas:
                others = [number for number in partition.replicas if number != machine.number]
                return [self.brokers[number].machine for number in others]
        return []

    def is_healthy(self) -> bool:
        """Whether every partition is led, every replica in sync, and all of them know."""
        partitions = self.partitions()
        return bool(partitions) and all(map(self._is_well, partitions, partitions.values()))

    def _is_well(self, index: int, partition: PartitionImage) -> bool:
        if partition.leader not in self.brokers or len(partition.isr) != len(partition.replicas):
            return False
        for number in partition.replicas:
            broker = self.brokers[number]
            kept = broker.partition(TOPIC, index)
            is_known = kept is not None and kept.leader_epoch == partition.leader_epoch
            if not is_known or not self.is_in_sync(broker) or broker.has_lost_directory:
                return False
        led = self.brokers[partition.leader].partition(TOPIC, index)
        leadership = None if led is None else led.leadership
        return leadership is not None and leadership.partition_epoch == partition.partition_epoch

    def is_in_sync(self, broker: BrokerNode) -> bool:
        if not self._is_known(broker):
            return False
        number = broker.machine.number
        partitions = [*self.partitions().values(), *self.partitions(AGAIN).values()]
        return all(number in it.isr for it in partitions if number in it.replicas)

    def _is_known(self, broker: BrokerNode) -> bool:
        """Whether it is unfenced, in this life of it and not in an earlier one."""
        known = self._truth.image.cluster.brokers.get(broker.machine.number)
        if not broker.machine.is_running or known is None or known.is_fenced:
            return False
        return known.incarnation_id == broker.incarnation_id

    # --- what may be lost

    def may_lose_data(self, broker: BrokerNode) -> bool:
        """Whether all others have all that was acknowledged, and know it."""
        others = [node for node in self.brokers.values() if node is not broker]
        is_safe = self.may_crash(broker) and all(self.is_in_sync(node) for node in others)
        if is_safe:
            self._lossy = broker
            for node in others:
                node.machine.disk.forget_faults()
        return is_safe

    def may_crash(self, broker: BrokerNode) -> bool:
        """Whether no other broker lacks what it lost with its machine."""
        if self._lossy is not None and self.is_in_sync(self._lossy):
            self._lossy = None
        return self._lossy in (None, broker)

    # --- logs

    def logs(self, index: int, topic: str = TOPIC) -> list[PartitionLog | None]:
        """Of the partition's replicas, in their order; None: it has none just now."""
        replicas = self.partitions(topic)[index].replicas
        return [self.brokers[number].log(topic, index) for number in replicas]

    def is_settled(self) -> bool:
        """Whether every replica has everything, and knows that all others have."""
        return all(
            self._is_partition_settled(topic, index)
            for topic in (TOPIC, AGAIN)
            for index in self.partitions(topic)
        )

    def _is_partition_settled(self, topic: str, index: int) -> bool:
        partition = self.partitions(topic)[index]
        is_whole = len(partition.isr) == REPLICA_COUNT and not partition.is_reassigning
        if not is_whole or partition.leader not in self.brokers:
            return False
        leader = self.brokers[partition.leader].log(topic, index)
        logs = [log for log in self.logs(index, topic) if log is not None]
        if leader is None or len(logs) != REPLICA_COUNT:
            return False
        # What a leader deleted that nobody follows any more, the others may still have.
        is_deleted = all(log.log_start_offset >= leader.log_start_offset for log in logs)
        ends = {end for log in logs for end in (log.log_end_offset, log.high_watermark)}
        return is_deleted and len(ends) == 1

    def end_of(self, index: int) -> int:
        log = self.logs(index)[0]
        assert log is not None
        return log.log_end_offset

    def contents(self, index: int, topic: str = TOPIC) -> Iterator[tuple[int, dict[int, Value]]]:
        """Where the log of each replica begins, and what is in it."""
        for log in self.logs(index, topic):
            check(log is not None, "a replica lost its log of", topic, index)
            assert log is not None
            contents: dict[int, Value] = {}
            offset = log.log_start_offset
            while offset < log.log_end_offset:
                values = read_values(log.read(offset, 1 << 20, up_to=log.log_end_offset).bytes())
                contents.update((at, value) for at, value in values if at >= offset)
                offset = values[-1][0] + 1
            yield log.log_start_offset, contents

    def watch_log_starts(self) -> None:
        """As long as there is a log, its start moves forward alone."""
        for index in self.partitions():
            for log in self.logs(index):
                if log is not None:
                    before, start = self._starts.get(log, 0), log.log_start_offset
                    check(start >= before, TOPIC, index, "begins at", start, "was", before)
                    self._starts[log] = start

    def watch_commits(self) -> None:
        """What any leader has committed is in the file of every replica that is in sync."""
        for index, partition in self.partitions().items():
            leader = self.brokers.get(partition.leader)
            kept = None if leader is None else leader.partition(TOPIC, index)
            committed = self._committed.get(index, 0)
            if kept is not None and kept.is_leader and kept.leader_epoch == partition.leader_epoch:
                committed = self._committed[index] = max(committed, kept.high_watermark)
            committed = max(committed, self._stage.ledgers[index].known_end)
            for number in partition.isr:
                broker = self.brokers[number]
                log = broker.log(TOPIC, index)
                if log is not None and self._is_known(broker):
                    end = log.log_end_offset
                    check(end >= committed, number, "has", end, "of", TOPIC, index, committed)
