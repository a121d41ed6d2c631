"""New partitions: who may keep them, checks of an assignment by hand, and their records."""

from collections.abc import Sequence

from barnabas_controller.managers.topics.placement import Candidate, CannotPlace, place
from barnabas_controller.managers.topics.refusal import Refused
from barnabas_controller.managers.view import View
from barnabas_core.metadata.cluster_image import BrokerImage
from barnabas_core.metadata.image import Image
from barnabas_core.metadata.partition_image import (
    MIGRATING_DIRECTORY,
    RECOVERED,
    UNASSIGNED_DIRECTORY,
    PartitionImage,
)
from barnabas_core.metadata.snapshot import fitted, record_version_for
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.partition_record import PartitionRecord
from barnabas_core.wire.schema import Message


def takes_new_replicas(broker: BrokerImage) -> bool:
    """One that is on its way out does not, nor one whose every directory is cordoned (KIP-1066)."""
    uncordoned = [one for one in broker.log_dirs if one not in broker.cordoned_log_dirs]
    return not broker.in_controlled_shutdown and bool(uncordoned or not broker.log_dirs)


def placed_partitions(
    view: View, first: int, partition_count: int, replication_factor: int
) -> dict[int, PartitionImage]:
    """New partitions from number `first` on, where they fit best; `Refused` if nowhere."""
    brokers = view.image.cluster.brokers.values()
    candidates = [Candidate(b.id, b.rack, b.is_fenced) for b in brokers if takes_new_replicas(b)]
    try:
        placed = place(candidates, partition_count, replication_factor, view.rng)
    except CannotPlace as error:
        raise Refused(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {replication_factor} time(s): {error}",
        ) from error
    return {first + i: new_partition(view.image, replicas) for i, replicas in enumerate(placed)}


def assigned_partition(
    image: Image, number: int, replicas: Sequence[int], replication_factor: int | None
) -> PartitionImage:
    """A new partition where the request says; `Refused` if it cannot be there."""
    check_assignment(image, replicas, replication_factor)
    if not any(image.cluster.brokers[each].is_active for each in replicas):
        raise Refused(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "All brokers specified in the manual partition assignment for "
            f"partition {number} are fenced or in controlled shutdown.",
        )
    return new_partition(image, replicas)


def check_assignment(image: Image, replicas: Sequence[int], replication_factor: int | None) -> None:
    """Does an assignment by hand name registered brokers, each once, and as many as it must?"""
    fault = _assignment_fault(image, sorted(replicas), replication_factor)
    if fault is not None:
        raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"The manual partition {fault}")


def _assignment_fault(
    image: Image, replicas: Sequence[int], replication_factor: int | None
) -> str | None:
    if not replicas:
        return "assignment includes an empty replica list."
    for index, broker_id in enumerate(replicas):
        if broker_id not in image.cluster.brokers:
            return f"assignment includes broker {broker_id}, but no such broker is registered."
        if broker_id in replicas[:index]:
            return f"assignment includes the broker {broker_id} more than once."
    if replication_factor not in (None, len(replicas)):
        return (
            f"assignment includes a partition with {len(replicas)} replica(s), but this is not "
            f"consistent with previous partitions, which have {replication_factor} replica(s)."
        )
    return None


def new_partition(image: Image, replicas: Sequence[int]) -> PartitionImage:
    """All active replicas are in sync, as there is nothing yet; the first of them leads."""
    isr = tuple(each for each in replicas if image.cluster.brokers[each].is_active)
    return PartitionImage(
        replicas=tuple(replicas),
        directories=tuple(_directory(image.cluster.brokers[each]) for each in replicas),
        isr=isr,
        removing_replicas=(),
        adding_replicas=(),
        eligible_leader_replicas=(),
        last_known_elr=(),
        leader=isr[0],
        leader_recovery_state=RECOVERED,
        leader_epoch=0,
        partition_epoch=0,
    )


def partition_record(
    image: Image, topic_id: bytes, number: int, partition: PartitionImage
) -> Message:
    version = record_version_for(PartitionRecord, image.metadata_level)
    return fitted(partition.to_record(topic_id, number), version)


def _directory(broker: BrokerImage) -> bytes:
    """Of several the broker chooses, and tells."""
    if not broker.log_dirs:
        return MIGRATING_DIRECTORY
    return broker.log_dirs[0] if len(broker.log_dirs) == 1 else UNASSIGNED_DIRECTORY
