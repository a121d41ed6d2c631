"""All of it in one place: what a cluster needs next, in the order in which it matters.

always          volumes grow; dynamic properties are set; leaders leave hosts that are to go
voters          before any restart of a controller, as a lost disk costs the permits
the roll        one step
then            scaling, features, preferred leaders: on a cluster that is otherwise at rest
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from barnabas_operator.plan.actions import Action
from barnabas_operator.plan.desired import Desired
from barnabas_operator.plan.dynamic_config import plan_dynamic_config
from barnabas_operator.plan.leaders import plan_drains, plan_preferred
from barnabas_operator.plan.observed import NodeState, Observed, Role
from barnabas_operator.plan.roll import Roll, plan_roll
from barnabas_operator.plan.scale import ScalePlan, places_to_keep, plan_scale
from barnabas_operator.plan.storage import plan_storage
from barnabas_operator.plan.upgrade import plan_features
from barnabas_operator.plan.voters import VoterPlan, plan_voters


@dataclass(frozen=True, slots=True)
class Plan:
    actions: tuple[Action, ...]
    roll: Roll
    replicas: Mapping[str, int]
    """Pool to the places that its StatefulSet has from now on."""
    blocked_by: tuple[str, ...]
    is_resizing: bool = False
    """Places come or go, or what was there is not told yet."""
    is_held_back: bool = False
    """Paused, with something to do."""

    @property
    def is_settled(self) -> bool:
        is_idle = not self.actions and not self.blocked_by and not self.is_resizing
        return is_idle and self.roll.is_over


def plan(desired: Desired, observed: Observed) -> Plan:
    if desired.is_paused:
        return _paused(desired, plan(replace(desired, is_paused=False), observed))
    roll = plan_roll(_staying(desired, observed), observed.quorum, desired.max_unavailable_per_rack)
    voters = _voters(desired, observed)
    if voters.action is not None:
        roll = replace(roll, restarts=(), blocked_by=("the voters of the quorum change",))
    is_calm = not roll.restarts and roll.is_over
    scale = plan_scale(desired, observed) if is_calm else ScalePlan()
    later = () if not is_calm or scale.actions else _when_calm(desired, observed)
    return Plan(
        actions=(
            *_always(desired, observed),
            *([voters.action] if voters.action is not None else ()),
            *roll.restarts,
            *scale.actions,
            *later,
        ),
        roll=roll,
        replicas={pool.name: places_to_keep(pool, observed) for pool in desired.pools},
        blocked_by=(*voters.blocked_by, *roll.blocked_by, *scale.blocked_by),
        is_resizing=bool(observed.leftover)
        or any(pool.replicas != pool.present_replicas for pool in desired.pools),
    )


def _paused(desired: Desired, made: Plan) -> Plan:
    present = {pool.name: pool.present_replicas for pool in desired.pools}
    roll = replace(made.roll, restarts=())
    return Plan((), roll, present, (), is_held_back=not made.is_settled)


def _staying(desired: Desired, observed: Observed) -> list[NodeState]:
    """Whoever leaves is not restarted before."""
    wanted = {one for pool in desired.pools for one in pool.wanted_ids}
    return [node for node in observed.nodes if node.node_id in wanted]


def _voters(desired: Desired, observed: Observed) -> VoterPlan:
    if observed.quorum is None:
        return VoterPlan()
    wanted = desired.ids(Role.CONTROLLER)
    return plan_voters(wanted, wanted | desired.leaving(Role.CONTROLLER), observed.quorum)


def _always(desired: Desired, observed: Observed) -> tuple[Action, ...]:
    config = plan_dynamic_config(desired.dynamic_config, observed.dynamic_config)
    return (
        *plan_storage(observed.claims),
        *([config] if config is not None else ()),
        *plan_drains(observed),
    )


def _when_calm(desired: Desired, observed: Observed) -> tuple[Action, ...]:
    features = plan_features(desired.features, observed.features, are_binaries_done=True)
    if features is not None:
        return (features,)
    preferred = plan_preferred(observed)
    return () if preferred is None else (preferred,)
