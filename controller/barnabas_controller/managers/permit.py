"""May a broker go down now? Which partitions would suffer, and how, if it did.

Brokers that are fenced, unregistered or already permitted to go count as down. A partition counts
only if the broker takes part in its availability: it is in sync, or could lead what has no leader.
"""

from collections.abc import Collection
from dataclasses import dataclass

from barnabas_controller.managers.partitions.min_isr import effective_min_isr
from barnabas_controller.managers.replica_index import PartitionKey
from barnabas_controller.managers.view import View
from barnabas_core.metadata.partition_image import PartitionImage


@dataclass(frozen=True, slots=True)
class RestartRisk:
    """Each partition is in one list, the worst that fits."""

    offline: tuple[PartitionKey, ...] = ()
    """Nobody would be left to lead it."""
    under_min_isr: tuple[PartitionKey, ...] = ()
    """Producers that want all acknowledgements would be refused."""
    at_min_isr: tuple[PartitionKey, ...] = ()
    """The next broker to go would bring it under."""
    unavoidable: tuple[PartitionKey, ...] = ()
    """Offline too, but no other order of restarts would spare it: it has one replica."""

    @property
    def is_safe(self) -> bool:
        return not (self.offline or self.under_min_isr)


def risk_of_restart(
    view: View, broker_id: int, permitted: Collection[int] = frozenset()
) -> RestartRisk:
    down = {*permitted, broker_id}
    lists: dict[str, list[PartitionKey]] = {}
    for key in view.replicas.partitions_of(broker_id):
        topic = view.image.topics.by_id[key.topic_id]
        partition = topic.partitions[key.partition]
        if not _takes_part(partition, broker_id):
            continue
        name = _worst(view, partition, effective_min_isr(view, topic.name), down)
        if name is not None:
            lists.setdefault(name, []).append(key)
    return RestartRisk(**{name: tuple(keys) for name, keys in lists.items()})


def _takes_part(partition: PartitionImage, broker_id: int) -> bool:
    if broker_id in partition.isr:
        return True
    return not partition.isr and broker_id in partition.eligible_leader_replicas


def _worst(
    view: View, partition: PartitionImage, min_isr: int, down: Collection[int]
) -> str | None:
    left = [one for one in partition.isr if _is_up(view, one, down)]
    if not left:
        eligible = [one for one in partition.eligible_leader_replicas if _is_up(view, one, down)]
        if eligible:
            return "under_min_isr"
        return "unavoidable" if len(partition.replicas) == 1 else "offline"
    if len(left) < min_isr:
        return "under_min_isr"
    return "at_min_isr" if len(left) == min_isr else None


def _is_up(view: View, broker_id: int, down: Collection[int]) -> bool:
    broker = view.image.cluster.brokers.get(broker_id)
    return broker is not None and broker.is_active and broker_id not in down
