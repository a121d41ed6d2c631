"""Leadership moves away from a broker that stays: what others in sync can lead, they lead."""

from dataclasses import dataclass

from barnabas_controller.managers.partitions.change import Target
from barnabas_controller.managers.partitions.changes import PartitionChanges
from barnabas_controller.managers.partitions.election import Election
from barnabas_controller.managers.replica_index import PartitionKey
from barnabas_controller.managers.view import Result, View
from barnabas_core.metadata.partition_image import PartitionImage


@dataclass(frozen=True, slots=True)
class Drained:
    moved_count: int
    left: tuple[PartitionKey, ...]
    """It leads them still: nobody else could, or the decision was full. To be asked again."""


def decide_drain(view: View, broker_id: int) -> Result[Drained]:
    """The ISR stays. A drain does not last: preferred leaders are elected again in time."""
    changes = PartitionChanges(view)
    left = []
    for key in view.replicas.partitions_of(broker_id):
        partition = changes.at(key)
        if partition.leader != broker_id:
            continue
        if not changes.has_room or not _can_be_led(view, partition, broker_id):
            left.append(key)
            continue
        changes.change(key, Target(Election.ONLINE), without=broker_id)
    return Result(changes.records, Drained(len(changes.records), tuple(left)))


def _can_be_led(view: View, partition: PartitionImage, broker_id: int) -> bool:
    """By another in the ISR: nothing is elected here that would cost a record, or a leader."""
    for other in partition.isr:
        broker = view.image.cluster.brokers.get(other)
        if other == broker_id or broker is None or not broker.is_active:
            continue
        if broker.has_online_dir(partition.directory_of(other)):
            return True
    return False
