"""Who leads a partition: the choice alone, on a partition as it is about to become.

A clean leader has everything that was acknowledged: it is in the ISR or, while that is empty, among
the eligible leader replicas (ELR, KIP-966), which left the ISR when no smaller one could have
acknowledged anything. If neither has anyone left, the last known leader is taken when it is back.
Everyone else is an unclean leader.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from barnabas_core.metadata.partition_image import NO_LEADER, PartitionImage

MayLead: TypeAlias = Callable[[int], bool]
"""Is the broker alive, and is its directory of this partition online?"""


class Election(Enum):
    PREFERRED = "preferred"
    """The first replica if it can lead cleanly, else whoever keeps the partition online."""
    ONLINE = "online"
    """The leader stays if it can; else the first replica that can lead cleanly."""
    UNCLEAN = "unclean"
    """As online, but an unclean leader is better than none."""


@dataclass(frozen=True, slots=True)
class Elected:
    leader: int
    is_clean: bool = True


NOBODY = Elected(NO_LEADER)


def elect(
    partition: PartitionImage, election: Election, may_lead: MayLead, *, has_elr: bool
) -> Elected:
    """`partition` as it will be, but for its leader, who is still the old one."""
    candidates = _in_order(partition, election)
    clean = next((broker_id for broker_id in candidates if may_lead(broker_id)), None)
    if clean is not None:
        return Elected(clean)
    last_known = _last_known_leader(partition) if has_elr else None
    if last_known is not None and may_lead(last_known):
        return Elected(last_known, is_clean=False)
    if election is Election.UNCLEAN:
        unclean = next((b for b in partition.replicas if may_lead(b)), None)
        if unclean is not None:
            return Elected(unclean, is_clean=False)
    return NOBODY


def _in_order(partition: PartitionImage, election: Election) -> list[int]:
    """Who could lead cleanly, the most wanted first."""
    clean = partition.isr or partition.eligible_leader_replicas
    wanted = [partition.leader, *partition.replicas]
    if election is Election.PREFERRED:
        wanted.insert(0, partition.preferred_leader)
    return [broker_id for broker_id in wanted if broker_id in clean]


def _last_known_leader(partition: PartitionImage) -> int | None:
    """Several last known members mean something else: they do not say who led."""
    if partition.isr or partition.eligible_leader_replicas or len(partition.last_known_elr) != 1:
        return None
    [leader] = partition.last_known_elr
    return leader if leader in partition.replicas else None
