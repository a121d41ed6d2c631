"""From what a member has to what it shall have, one safe step at a time (KIP-848, "Member state").

A partition goes to a member only when no other has it, so no two own it at once: first the member
that loses it says it gave it up, then the one that gets it is told. A member that has to give
something up stays at its epoch until it did, and so its commits until then are good.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from barnabas_coordinator.group.consumer.member import (
    NOTHING_HELD,
    Held,
    Member,
    MemberState,
    Partitions,
    overlap,
)

OwnerOf = Callable[[bytes, int], str | None]
"""The member that has a partition, or has still to give it up."""


@dataclass(frozen=True, slots=True)
class Goal:
    epoch: int
    """Of the target assignment."""
    partitions: Partitions


def reconcile(member: Member, goal: Goal, owned: Partitions | None, owner_of: OwnerOf) -> Member:
    """`owned`: what the member says it has; None if it did not say. The same member if it waits."""
    if member.state is MemberState.UNREVOKED_PARTITIONS:
        if _still_owns(owned, member.revoking):
            return member
        # All of this epoch is done; another round of revocations may come before the goal's.
        epoch = min(member.epoch + 1, goal.epoch)
        return _step(replace(member, epoch=epoch), member, goal, owned, owner_of)
    return _step(member, member, goal, owned, owner_of)


def _step(
    member: Member, before: Member, goal: Goal, owned: Partitions | None, owner_of: OwnerOf
) -> Member:
    keep, revoke = _split(member.assigned, goal.partitions)
    if revoke and _still_owns(owned, revoke):
        state = MemberState.UNREVOKED_PARTITIONS
        return _moved(before, member.epoch, state, keep, revoke)
    is_waiting = False
    assigned = {topic_id: dict(held) for topic_id, held in keep.items()}
    for topic_id, number in _missing(goal.partitions, keep):
        if owner_of(topic_id, number) in (None, member.member_id):
            assigned.setdefault(topic_id, {})[number] = goal.epoch
        else:
            is_waiting = True
    state = MemberState.UNRELEASED_PARTITIONS if is_waiting else MemberState.STABLE
    return _moved(before, goal.epoch, state, assigned, NOTHING_HELD)


def _moved(before: Member, epoch: int, state: MemberState, assigned: Held, revoke: Held) -> Member:
    previous = before.epoch if epoch != before.epoch else before.previous_epoch
    return replace(
        before,
        epoch=epoch,
        previous_epoch=previous,
        state=state,
        assigned=assigned,
        revoking=revoke,
    )


def _split(assigned: Held, goal: Partitions) -> tuple[Held, Held]:
    keep: dict[bytes, dict[int, int]] = {}
    revoke: dict[bytes, dict[int, int]] = {}
    for topic_id, held in assigned.items():
        wanted = goal.get(topic_id, frozenset())
        for number, since in held.items():
            into = keep if number in wanted else revoke
            into.setdefault(topic_id, {})[number] = since
    return keep, revoke


def _missing(goal: Partitions, keep: Held) -> Iterable[tuple[bytes, int]]:
    for topic_id, numbers in goal.items():
        held = keep.get(topic_id, {})
        for number in sorted(numbers):
            if number not in held:
                yield topic_id, number


def _still_owns(owned: Partitions | None, revoking: Held) -> bool:
    return owned is None or overlap(owned, revoking)
