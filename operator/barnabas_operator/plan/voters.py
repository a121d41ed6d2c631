"""The voters of the quorum follow the resource, one change at a time (KIP-853).

A change is asked for only if the voters after it have a majority that is caught up. A controller
that came back with another directory has lost its disk: the old voter goes, then the new one comes.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from barnabas_operator.plan.actions import AddVoter, RemoveVoter
from barnabas_operator.plan.observed import QuorumMember, QuorumState


@dataclass(frozen=True, slots=True)
class VoterPlan:
    action: AddVoter | RemoveVoter | None = None
    blocked_by: tuple[str, ...] = ()

    @property
    def is_settled(self) -> bool:
        return self.action is None and not self.blocked_by


def plan_voters(wanted: frozenset[int], known: frozenset[int], quorum: QuorumState) -> VoterPlan:
    """`known`: all that the resource has or had. A stranger among the voters is left alone."""
    changes: list[AddVoter | RemoveVoter] = [
        *(RemoveVoter(one.node_id, one.directory_id) for one in _lost(quorum)),
        *_joining(wanted, quorum),
        *_leaving(wanted, known, quorum),
    ]
    if not changes:
        missing = sorted(wanted - {one.node_id for one in quorum.voters})
        return VoterPlan(
            None, tuple(f"controller {one} is to vote, not seen yet" for one in missing)
        )
    reasons = []
    for change in changes:
        reason = _reason_against(change, quorum)
        if not reason:
            return VoterPlan(change)
        reasons.append(reason)
    return VoterPlan(None, tuple(reasons))


def _lost(quorum: QuorumState) -> Iterable[QuorumMember]:
    """Behind as a voter, and caught up under another directory: either alone proves nothing."""
    for voter in quorum.voters:
        observer = quorum.observer(voter.node_id)
        if observer is None or voter.is_caught_up or not observer.is_caught_up:
            continue
        if observer.directory_id != voter.directory_id:
            yield voter


def _joining(wanted: frozenset[int], quorum: QuorumState) -> Iterable[AddVoter]:
    for node_id in sorted(wanted):
        observer = quorum.observer(node_id)
        if quorum.voter(node_id) is None and observer is not None:
            yield AddVoter(node_id, observer.directory_id)


def _leaving(
    wanted: frozenset[int], known: frozenset[int], quorum: QuorumState
) -> Iterable[RemoveVoter]:
    """The leader last: each of its changes would cost an election."""
    leaving = [one for one in quorum.voters if one.node_id in known - wanted]
    for voter in sorted(leaving, key=lambda one: (one.node_id == quorum.leader_id, -one.node_id)):
        yield RemoveVoter(voter.node_id, voter.directory_id)


def _reason_against(change: AddVoter | RemoveVoter, quorum: QuorumState) -> str:
    members = [one for one in quorum.voters if (one.node_id, one.directory_id) != _key(change)]
    if isinstance(change, AddVoter):
        observer = quorum.observer(change.node_id)
        if observer is None or not observer.is_caught_up:
            return f"controller {change.node_id} has not caught up yet"
        members.append(observer)
    if not members:
        return f"controller {change.node_id} is the only voter"
    caught_up = sum(one.is_caught_up for one in members)
    if caught_up >= len(members) // 2 + 1:
        return ""
    verb = "added" if isinstance(change, AddVoter) else "removed"
    return (
        f"controller {change.node_id} is not {verb}: {caught_up} of {len(members)} voters "
        "would be caught up"
    )


def _key(change: AddVoter | RemoveVoter) -> tuple[int, bytes]:
    return change.node_id, change.directory_id
