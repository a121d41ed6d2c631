"""One change to a partition: from what it is and what is wanted to the record, or to none.

The partition as it will be is worked out step by step: a reassignment that can end ends, the ELR
follows the ISR, a leader is elected. The record then holds only what differs. A record that names
the leader begins a new leader epoch, even if the leader stays: its followers must be heard anew
when a replica was removed and, for brokers of the 3.5 line and before, when the ISR shrank.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from barnabas_controller.managers.partitions.election import Election, MayLead, elect
from barnabas_controller.managers.replica_index import PartitionKey
from barnabas_core.metadata.partition_image import NO_LEADER, RECOVERING, PartitionImage
from barnabas_core.wire.messages.partition_change_record import PartitionChangeRecord


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds for the partitions of one topic, by its configs and the cluster's features."""

    min_isr: int
    allows_unclean: bool
    has_elr: bool = True
    has_directories: bool = True
    names_leader_on_isr_shrink: bool = False

    @property
    def election(self) -> Election:
        return Election.UNCLEAN if self.allows_unclean else Election.ONLINE


@dataclass(frozen=True, slots=True)
class Target:
    """What a partition is to become; None leaves things as they are."""

    election: Election = Election.ONLINE
    isr: Sequence[int] | None = None
    replicas: Sequence[int] | None = None
    removing_replicas: Sequence[int] | None = None
    adding_replicas: Sequence[int] | None = None
    leader_recovery_state: int | None = None
    directories: Mapping[int, bytes] = field(default_factory=dict)
    """By broker, where they change."""
    unclean_shutdown: int | None = None
    """A broker that may have lost what it wrote last: it leaves the ELR."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a change asks about brokers."""

    may_lead: MayLead
    default_directory: Callable[[int], bytes]
    """Where a new replica goes: the only directory of its broker, or not known yet."""


def change_partition(
    key: PartitionKey,
    old: PartitionImage,
    target: Target,
    rules: Rules,
    around: Surroundings,
) -> PartitionChangeRecord | None:
    new = _with_reassignment_completed(_wanted(old, target))
    if rules.has_elr:
        new = _with_elr(old, new, rules.min_isr, target.unclean_shutdown)
    else:
        new = new._replace(eligible_leader_replicas=())
    new = _with_leader(old, new, target.election, rules, around.may_lead)
    names_leader = new.leader != old.leader or _must_name_leader(old, new, rules)
    if rules.has_elr:
        new = new._replace(last_known_elr=_last_known_leader(old, new, names_leader=names_leader))
    if rules.has_directories:
        new = new._replace(directories=_directories(old, new, target, around))
    return _record(key, old, new, names_leader=names_leader)


def _wanted(old: PartitionImage, target: Target) -> PartitionImage:
    recovery = target.leader_recovery_state
    return old._replace(
        isr=_or(target.isr, old.isr),
        replicas=_or(target.replicas, old.replicas),
        removing_replicas=_or(target.removing_replicas, old.removing_replicas),
        adding_replicas=_or(target.adding_replicas, old.adding_replicas),
        leader_recovery_state=old.leader_recovery_state if recovery is None else recovery,
    )


def _or(wanted: Sequence[int] | None, old: tuple[int, ...]) -> tuple[int, ...]:
    return old if wanted is None else tuple(wanted)


def _with_reassignment_completed(new: PartitionImage) -> PartitionImage:
    """Ended, if all that are added are in sync.

    If more leave than come, all that stay must be in sync: else the copies that are taken away
    might be the ones that were needed. Either way someone in sync stays.
    """
    if not new.is_reassigning:
        return new
    isr = tuple(b for b in new.isr if b not in new.removing_replicas)
    replicas = tuple(b for b in new.replicas if b not in new.removing_replicas)
    shrinks = len(new.adding_replicas) < len(new.removing_replicas)
    needed = replicas if shrinks else new.adding_replicas
    if not set(needed) <= set(isr):
        return new
    return new._replace(isr=isr, replicas=replicas, removing_replicas=(), adding_replicas=())


def _with_elr(
    old: PartitionImage, new: PartitionImage, min_isr: int, unclean_shutdown: int | None
) -> PartitionImage:
    """Who leaves an ISR that is below the minimum stays eligible: nothing is acknowledged since."""
    if len(new.isr) >= min_isr:
        return new._replace(eligible_leader_replicas=())
    eligible = sorted(
        broker_id
        for broker_id in {*old.isr, *old.eligible_leader_replicas}
        if broker_id in new.replicas and broker_id not in new.isr and broker_id != unclean_shutdown
    )
    return new._replace(eligible_leader_replicas=tuple(eligible))


def _with_leader(
    old: PartitionImage,
    new: PartitionImage,
    election: Election,
    rules: Rules,
    may_lead: MayLead,
) -> PartitionImage:
    elected = elect(new, election, may_lead, has_elr=rules.has_elr)
    leader = elected.leader
    if not elected.is_clean:
        # Nobody else is known to have what this leader has: the others follow it from the start.
        return new._replace(
            leader=leader,
            isr=(leader,),
            eligible_leader_replicas=(),
            leader_recovery_state=RECOVERING,
        )
    if leader in new.eligible_leader_replicas:
        others = tuple(b for b in new.eligible_leader_replicas if b != leader)
        return new._replace(leader=leader, isr=(leader,), eligible_leader_replicas=others)
    if not new.isr and not rules.has_elr:
        # The last replica in sync stays on record: only it may lead again.
        return new._replace(leader=leader, isr=old.isr)
    return new._replace(leader=leader)


def _must_name_leader(old: PartitionImage, new: PartitionImage, rules: Rules) -> bool:
    if not set(old.replicas) <= set(new.replicas):
        return True
    return rules.names_leader_on_isr_shrink and not set(old.isr) <= set(new.isr)


def _last_known_leader(
    old: PartitionImage, new: PartitionImage, *, names_leader: bool
) -> tuple[int, ...]:
    if new.leader == NO_LEADER:
        return (old.leader,) if old.has_leader else old.last_known_elr
    return () if names_leader else old.last_known_elr


def _directories(
    old: PartitionImage, new: PartitionImage, target: Target, around: Surroundings
) -> tuple[bytes, ...]:
    if new.replicas == old.replicas and not target.directories:
        return old.directories
    known = {**dict(zip(old.replicas, old.directories, strict=True)), **target.directories}
    return tuple(
        known[broker_id] if broker_id in known else around.default_directory(broker_id)
        for broker_id in new.replicas
    )


_LISTS: Final = (
    "isr",
    "replicas",
    "removing_replicas",
    "adding_replicas",
    "directories",
    "eligible_leader_replicas",
    "last_known_elr",
)


def _record(
    key: PartitionKey, old: PartitionImage, new: PartitionImage, *, names_leader: bool
) -> PartitionChangeRecord | None:
    record = PartitionChangeRecord(partition_id=key.partition, topic_id=key.topic_id)
    is_change = names_leader
    if names_leader:
        record.leader = new.leader
    if new.leader_recovery_state != old.leader_recovery_state:
        record.leader_recovery_state = new.leader_recovery_state
        is_change = True
    for name in _LISTS:
        if getattr(new, name) != getattr(old, name):
            setattr(record, name, list(getattr(new, name)))
            is_change = True
    return record if is_change else None
