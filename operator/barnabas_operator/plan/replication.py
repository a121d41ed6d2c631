"""Another number of replicas for the partitions of a topic."""

from collections import Counter
from collections.abc import Mapping, Sequence

from barnabas_operator.plan.observed import BrokerState, PartitionState


def resize_replicas(
    partitions: Sequence[PartitionState], count: int, brokers: Mapping[int, BrokerState]
) -> dict[int, tuple[int, ...]]:
    """The leader stays, and as many that are in sync as can; new ones in racks without any."""
    loads = Counter(each for one in partitions for each in one.replicas)
    made = {}
    for partition in partitions:
        replicas = _kept(partition, count)
        while len(replicas) < count:
            replicas.append(_added(replicas, brokers, loads))
        made[partition.number] = tuple(replicas)
    return made


def _kept(partition: PartitionState, count: int) -> list[int]:
    def worth(one: int) -> tuple[bool, bool, int]:
        return one != partition.leader, one not in partition.isr, partition.replicas.index(one)

    chosen = sorted(partition.replicas, key=worth)[:count]
    return [one for one in partition.replicas if one in chosen]


def _added(replicas: Sequence[int], brokers: Mapping[int, BrokerState], loads: Counter[int]) -> int:
    racks = Counter(brokers[one].rack for one in replicas if one in brokers)
    free = [one for one in brokers.values() if one.node_id not in replicas and one.takes_replicas]
    best = min(free, key=lambda one: (racks[one.rack], loads[one.node_id], one.node_id))
    loads[best.node_id] += 1
    return best.node_id
