"""What becomes of partitions when a broker comes, goes, or loses a directory.

Each function gives the records for the partitions alone, in the order of the broker's partitions;
whoever decides on the broker puts its own record with them, in one decision: behind them when the
broker goes, before them when it comes.
"""

from collections.abc import Callable, Iterable, Sequence

from barnabas_controller.managers.partitions.change import Target
from barnabas_controller.managers.partitions.changes import PartitionChanges
from barnabas_controller.managers.partitions.surroundings import has_elr
from barnabas_controller.managers.replica_index import PartitionKey
from barnabas_controller.managers.view import View
from barnabas_core.metadata.partition_image import PartitionImage
from barnabas_core.wire.schema import Message


def records_for_fencing(view: View, broker_id: int) -> list[Message]:
    """It leaves every ISR and leads nothing; what it left below the minimum ISR it may lead again.

    Without ELR the last one in sync stays in the ISR, of a partition without leader.
    """
    changes = PartitionChanges(view)
    keys = _partitions(changes, broker_id, lambda partition: broker_id in partition.isr)
    return records_without_broker(changes, broker_id, keys)


def records_for_controlled_shutdown(view: View, broker_id: int) -> list[Message]:
    """It hands over what it leads and leaves every ISR; what nobody can take over has no leader."""
    return records_for_fencing(view, broker_id)


def records_for_unregistering(view: View, broker_id: int) -> list[Message]:
    """It leaves ISR and ELR, but stays a replica until it is reassigned.

    Whoever registers with this id later has no epoch to prove that it kept its data.
    """
    return records_for_unclean_shutdown(view, broker_id)


def records_for_unfencing(view: View, broker_id: int) -> list[Message]:
    """Partitions without a leader that it may lead."""
    changes = PartitionChanges(view)
    for key in view.replicas.leaderless():
        if broker_id in changes.at(key).replicas:
            changes.change(key, Target(changes.rules(key).election), including=broker_id)
    return [*changes.records]


def records_for_unclean_shutdown(view: View, broker_id: int) -> list[Message]:
    """It came back without what it may have had (KIP-966): it leaves ISR and ELR.

    Without ELR this is a fencing: the last one in sync stays in the ISR.
    """
    if not has_elr(view):
        return records_for_fencing(view, broker_id)
    changes = PartitionChanges(view)

    def is_eligible(partition: PartitionImage) -> bool:
        return broker_id in partition.isr or broker_id in partition.eligible_leader_replicas

    keys = _partitions(changes, broker_id, is_eligible)
    return records_without_broker(changes, broker_id, keys, is_unclean=True)


def records_for_offline_dirs(view: View, broker_id: int, dirs: Sequence[bytes]) -> list[Message]:
    """It leaves the ISR of every partition that it keeps in one of these directories."""
    changes = PartitionChanges(view)
    keys = _partitions(changes, broker_id, lambda at: at.directory_of(broker_id) in dirs)
    return records_without_broker(changes, broker_id, keys)


def records_without_broker(
    changes: PartitionChanges,
    broker_id: int,
    keys: Iterable[PartitionKey],
    *,
    is_unclean: bool = False,
) -> list[Message]:
    """It leaves the ISR, and the lead, of these partitions."""
    for key in keys:
        target = Target(
            changes.rules(key).election,
            isr=[other for other in changes.at(key).isr if other != broker_id],
            unclean_shutdown=broker_id if is_unclean else None,
        )
        changes.change(key, target, without=broker_id)
    return [*changes.records]


def _partitions(
    changes: PartitionChanges, broker_id: int, concerns: Callable[[PartitionImage], bool]
) -> list[PartitionKey]:
    keys = changes.view.replicas.partitions_of(broker_id)
    return [key for key in keys if concerns(changes.at(key))]
