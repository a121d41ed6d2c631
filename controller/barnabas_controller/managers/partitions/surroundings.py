"""The rules and brokers around a partition, as the image has them."""

from functools import partial
from typing import Final

from barnabas_controller.managers.partitions.change import Rules, Surroundings
from barnabas_controller.managers.partitions.min_isr import (
    effective_min_isr,
    unclean_election_enabled,
)
from barnabas_controller.managers.view import View
from barnabas_core.metadata.feature import ELIGIBLE_LEADER_REPLICAS_VERSION, record_version
from barnabas_core.metadata.partition_image import (
    MIGRATING_DIRECTORY,
    UNASSIGNED_DIRECTORY,
    PartitionImage,
)

_LEVEL_WITHOUT_EPOCH_ON_SHRINK: Final = 12
"""3.6-IV0: brokers from here on notice a shrunken ISR without a new leader epoch."""


def topic_rules(view: View, topic_name: str) -> Rules:
    level = view.image.metadata_level
    return Rules(
        min_isr=effective_min_isr(view, topic_name),
        allows_unclean=unclean_election_enabled(view, topic_name),
        has_elr=has_elr(view),
        has_directories=has_directories(view),
        names_leader_on_isr_shrink=level < _LEVEL_WITHOUT_EPOCH_ON_SHRINK,
    )


def has_elr(view: View) -> bool:
    return view.image.feature(ELIGIBLE_LEADER_REPLICAS_VERSION) >= 1


def has_directories(view: View) -> bool:
    return record_version("PartitionRecord", view.image.metadata_level) >= 1


def default_directory(view: View, broker_id: int) -> bytes:
    """Where the broker would put a new replica, as far as that is known."""
    broker = view.image.cluster.brokers.get(broker_id)
    if broker is None:
        return UNASSIGNED_DIRECTORY
    if not broker.log_dirs:
        return MIGRATING_DIRECTORY
    return broker.log_dirs[0] if len(broker.log_dirs) == 1 else UNASSIGNED_DIRECTORY


def surroundings(
    view: View,
    partition: PartitionImage,
    *,
    without: int | None = None,
    including: int | None = None,
) -> Surroundings:
    """`without` is about to stop leading, `including` about to be unfenced."""
    excluded = () if without is None else (without,)
    included = () if including is None else (including,)

    def may_lead(broker_id: int) -> bool:
        broker = view.image.cluster.brokers.get(broker_id)
        if broker is None or broker_id in excluded:
            return False
        if not (broker.is_active or broker_id in included):
            return False
        assigned = broker_id in partition.replicas
        directory = partition.directory_of(broker_id) if assigned else UNASSIGNED_DIRECTORY
        return broker.has_online_dir(directory)

    return Surroundings(may_lead, partial(default_directory, view))
