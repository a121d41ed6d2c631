"""The conditions of a cluster.

    Ready         clients are served: a quorum, and every broker that is not just being restarted
    Progressing   the cluster is on its way to what the resource asks for
    Degraded      it will not get there without somebody's help
    Stable        Ready, everything as asked for, nothing under way: the one to wait for

What could not be asked is Unknown, never True.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from barnabas_operator.plan.actions import SetDynamicConfig
from barnabas_operator.plan.cluster import Plan
from barnabas_operator.plan.desired import Desired
from barnabas_operator.plan.observed import Observed, Role
from barnabas_operator.plan.storage import reasons_not_grown
from barnabas_operator.status.conditions import (
    RECONCILING,
    STALLED,
    Finding,
    no,
    unknown,
    yes,
)

_HELD_BACK = "HeldBack"
_STABLE_NEEDS = ("Ready", "QuorumHealthy", "ReplicasInSync", "ConfigApplied", "StorageReady")


@dataclass(frozen=True, slots=True)
class Round:
    """One round of the operator, as far as a status tells of it."""

    desired: Desired
    observed: Observed
    plan: Plan
    refusals: tuple[str, ...] = ()
    """What the cluster or Kubernetes refused: trying again will not help."""
    failures: tuple[str, ...] = ()
    """What went wrong and is tried again."""
    blocked_by: tuple[str, ...] = ()
    """Why a pod that was to restart did not get its permit."""
    was_formed: bool = False
    was_ready: bool = False


def cluster_findings(round_: Round) -> dict[str, Finding]:
    found = {
        "Ready": _ready(round_),
        "Progressing": _progressing(round_),
        "QuorumHealthy": _quorum(round_),
        "ReplicasInSync": _replicas(round_.observed),
        "ConfigApplied": _config(round_),
        "StorageReady": _storage(round_.observed),
        "Degraded": _degraded(round_),
        "Paused": _paused(round_),
    }
    found["Stable"] = _stable(found)
    return found | _kstatus(found)


def refused_findings(message: str, before: Mapping[str, Finding]) -> dict[str, Finding]:
    """Of a resource that asks for what cannot be: what runs goes on as it was."""
    found = dict(before)
    found["Progressing"] = no("InvalidSpec", message)
    found["Degraded"] = yes("InvalidSpec", message)
    found["ConfigApplied"] = no("InvalidSpec", message)
    found["Stable"] = no("InvalidSpec", message)
    return found | _kstatus(found)


def _ready(round_: Round) -> Finding:
    quorum = _quorum(round_)
    if not quorum.holds:
        return Finding(quorum.status, quorum.reason, quorum.message)
    wanted = round_.desired.ids(Role.BROKER)
    ready = {node.node_id for node in round_.observed.nodes if node.is_ready} & wanted
    told = f"{len(ready)} of {len(wanted)} brokers are ready"
    if ready == wanted or (ready and _is_only_restarting(round_, len(wanted - ready))):
        return yes("Serving", told)
    return no("BrokersNotReady", told)


def _is_only_restarting(round_: Round, missing: int) -> bool:
    """Who was ready stays so while its brokers take turns; a first start is not a restart."""
    roll = round_.plan.roll
    is_turn = missing <= round_.desired.max_unavailable_per_rack and not roll.failed
    return round_.was_ready and is_turn


def _progressing(round_: Round) -> Finding:
    plan, roll = round_.plan, round_.plan.roll
    if round_.desired.is_paused:
        return no("Paused", "the operator changes nothing")
    if roll.failed:
        return no("RollStopped", "; ".join(roll.failed))
    if not roll.is_over:
        blocked_by = (*round_.blocked_by, *roll.blocked_by)
        waits = f": {blocked_by[0]}" if blocked_by else ""
        return yes("RollingOut", f"{roll.updated} of {roll.total} pods are up to date{waits}")
    if not plan.is_settled or round_.failures:
        waits = "; ".join((*plan.blocked_by, *round_.failures))
        return yes("Reconciling", waits or f"{len(plan.actions)} steps are under way")
    return no("Settled", "nothing is left to do for this generation")


def _quorum(round_: Round) -> Finding:
    quorum = round_.observed.quorum
    if quorum is None:
        if round_.was_formed:
            return no("NoLeader", "no controller answers as the active one")
        return unknown("Forming", "the controllers have not found each other yet")
    caught_up = sum(one.is_caught_up for one in quorum.voters)
    told = f"{caught_up} of {len(quorum.voters)} voters have caught up, {quorum.leader_id} leads"
    if caught_up < len(quorum.voters) // 2 + 1:
        return no("MajorityBehind", told)
    return yes("Healthy", told)


def _replicas(observed: Observed) -> Finding:
    if observed.partitions is None:
        return unknown("NotAsked", "the brokers could not be asked")
    behind = sum(len(one.isr) < len(one.replicas) for one in observed.partitions)
    told = f"{behind} of {len(observed.partitions)} partitions are under-replicated"
    return no("UnderReplicated", told) if behind else yes("InSync", told)


def _config(round_: Round) -> Finding:
    pending = [one for one in round_.plan.actions if isinstance(one, SetDynamicConfig)]
    roll = round_.plan.roll
    if round_.refusals:
        return no("Refused", "; ".join(round_.refusals))
    if pending:
        names = ", ".join(name for one in pending for name in one.changes)
        return no("Applying", f"being set: {names}")
    if roll.updated < roll.total:
        return no("RollingOut", f"{roll.updated} of {roll.total} pods have it")
    if round_.observed.dynamic_config is None:
        return unknown("NotAsked", "the cluster could not be asked")
    return yes("Applied", "pods and brokers have what the resource says")


def _storage(observed: Observed) -> Finding:
    waiting = reasons_not_grown(observed.claims)
    if waiting:
        return no("Resizing", "; ".join(waiting))
    return yes("Bound", f"{len(observed.claims)} volumes are as large as asked for")


def _degraded(round_: Round) -> Finding:
    roll = round_.plan.roll
    if roll.failed:
        return yes("PodsCannotRun", "; ".join(roll.failed))
    if round_.refusals:
        return yes("Refused", "; ".join(round_.refusals))
    return no("AsExpected")


def _paused(round_: Round) -> Finding:
    told = "the annotation barnabas.dev/paused is true"
    if not round_.desired.is_paused:
        return no("NotPaused")
    if round_.plan.is_held_back:
        return yes(_HELD_BACK, f"{told}, and not everything is as the resource says")
    return yes("Annotated", told)


def _stable(found: Mapping[str, Finding]) -> Finding:
    if found["Paused"].holds:
        return no("Paused", "nobody knows what is left to do")
    for name in ("Degraded", "Progressing"):
        if found[name].holds:
            return no(name, found[name].message)
    for name in _STABLE_NEEDS:
        if not found[name].holds:
            return Finding(found[name].status, f"Not{name}", found[name].message)
    return yes("Stable", "everything is as the resource says")


def _kstatus(found: Mapping[str, Finding]) -> dict[str, Finding]:
    degraded, stable = found["Degraded"], found["Stable"]
    # Paused with nothing to do is current; what is held back is not, though nobody works on it.
    is_at_rest = found["Paused"].holds and found["Paused"].reason != _HELD_BACK
    is_moving = not degraded.holds and not stable.holds and not is_at_rest
    reconciling = yes if is_moving else no
    return {
        RECONCILING: reconciling(stable.reason, stable.message),
        STALLED: (yes if degraded.holds else no)(degraded.reason, degraded.message),
    }
