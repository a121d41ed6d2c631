"""One round of one KafkaCluster.

    1. who it is      a cluster id, node ids and first voters, in the status before anything is made
    2. what there is  its objects, its pods, and what the cluster itself says
    3. the plan       pure (plan/)
    4. its objects    applied where they differ; facts for pods that wait for them
    5. the actions    one step
    6. its status     written where it differs

Nothing is kept in memory that would be missed: rounds follow each other, in whichever operator.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from barnabas_core.ports import Clock, Rng
from barnabas_core.runtime.log_setup import EventLog
from barnabas_operator.api.parsing import InvalidResource, rendered
from barnabas_operator.api.status import ClusterStatus, ConditionStatus, PoolStatus
from barnabas_operator.health.cluster_port import ClusterPort, ClusterView, Refused, Unavailable
from barnabas_operator.kube.applier import Applier
from barnabas_operator.kube.client import Json, Kube
from barnabas_operator.kube.paths import manifest_path, path_of
from barnabas_operator.plan.cluster import Plan, plan
from barnabas_operator.plan.desired import Desired
from barnabas_operator.plan.observed import Observed, Role
from barnabas_operator.reconcile.absence import with_absences
from barnabas_operator.reconcile.act import Actor, Outcome
from barnabas_operator.reconcile.children import Children, read_children
from barnabas_operator.reconcile.events import Events
from barnabas_operator.reconcile.moment import moment
from barnabas_operator.reconcile.observe import (
    ask_standings,
    leftover_pods,
    observed,
    places,
    read_claims,
    read_nodes,
)
from barnabas_operator.reconcile.prune import superfluous
from barnabas_operator.reconcile.surroundings import missing_facts, reasons_without_facts
from barnabas_operator.reconcile.tell import cluster_status
from barnabas_operator.reconcile.wish import (
    Resource,
    blueprint,
    desired,
    read_resource,
    read_status,
)
from barnabas_operator.specs.blueprint import Blueprint, Images
from barnabas_operator.specs.cluster_objects import cluster_objects
from barnabas_operator.specs.identity import identity_of
from barnabas_operator.specs.names import pool_object
from barnabas_operator.specs.volumes import with_live_claims
from barnabas_operator.status.cluster_conditions import Round, refused_findings
from barnabas_operator.status.conditions import Finding, merge_conditions

SOON_MS: Final = 1_000
STEP_MS: Final = 2_000
REST_MS: Final = 30_000


@dataclass(frozen=True, slots=True)
class Tools:
    """What rounds are made with."""

    kube: Kube
    applier: Applier
    clock: Clock
    rng: Rng
    log: EventLog
    images: Images
    events: Events
    is_leader: Callable[[], bool]
    port_of: Callable[[Blueprint], ClusterPort]


@dataclass(frozen=True, slots=True)
class Seen:
    """What a round looked at."""

    resource: Resource
    cluster: Blueprint
    children: Children
    desired: Desired
    observed: Observed
    view: ClusterView | None


@dataclass(frozen=True, slots=True)
class Report:
    """What became of a round."""

    next_ms: int
    restarted: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    is_stable: bool = False
    updated: int = 0
    total: int = 0


async def reconcile(tools: Tools, raw: Json) -> Report:
    """`raw`: the resource as it was just read. `KubeError` if Kubernetes does not play along."""
    if "deletionTimestamp" in raw["metadata"]:
        # Its objects go with it; nothing here has to be done first.
        return Report(REST_MS)
    try:
        resource = read_resource(raw)
    except InvalidResource as error:
        await _refuse(tools, raw, str(error))
        return Report(REST_MS)
    if await _give_identity(tools, resource, raw):
        return Report(SOON_MS)
    seen = await _look(tools, resource)
    made = plan(seen.desired, seen.observed)
    refused = [] if resource.is_paused else await _apply(tools, seen, made)
    if refused:
        # Pods that restarted now would come back as they were, again and again.
        outcome = Outcome(refusals=refused)
    else:
        outcome = await _actor(tools, seen).carry_out(made.actions)
    outcome.blocked_by += reasons_without_facts(seen.cluster, seen.children)
    return await _tell(tools, raw, seen, made, outcome)


def _actor(tools: Tools, seen: Seen) -> Actor:
    namespace = seen.resource.namespace
    return Actor(tools.kube, _port(tools, seen), tools.clock, namespace, tools.is_leader)


async def _refuse(tools: Tools, raw: Json, message: str) -> None:
    generation = raw["metadata"]["generation"]
    status = read_status(raw)
    before = {one.type: Finding(one.status, one.reason, one.message) for one in status.conditions}
    before.setdefault("Paused", Finding(ConditionStatus.UNKNOWN, "InvalidSpec"))
    found = refused_findings(message, before)
    conditions = merge_conditions(status.conditions, found, generation, moment(tools.clock))
    changed = replace(status, observed_generation=generation, conditions=conditions)
    await _write_status(tools, raw, changed)


async def _give_identity(tools: Tools, resource: Resource, raw: Json) -> bool:
    """Kept before it is used: two clusters under one name would be the end of both."""
    status = resource.status
    identity = identity_of(resource.spec, status, lambda: tools.rng.randbytes(16))
    known = {pool.name: pool for pool in status.pools}
    pools = [
        known.get(name) or PoolStatus(name=name, role=_role_of(resource, name), first_node_id=first)
        for name, first in identity.first_node_ids.items()
    ]
    changed = replace(
        status,
        cluster_id=identity.cluster_id,
        initial_controllers=identity.initial_controllers,
        pools=tuple(pools),
    )
    if changed == status:
        return False
    await _write_status(tools, raw, changed)
    return True


def _role_of(resource: Resource, pool: str) -> str:
    for one in resource.spec.brokers:
        if one.name == pool:
            return "combined" if one.is_controller else "broker"
    return "controller" if pool == "controllers" else "coordinator"


async def _look(tools: Tools, resource: Resource) -> Seen:
    cluster = blueprint(resource, tools.images)
    children = await read_children(tools.kube, resource.namespace, resource.name)
    wish = desired(resource, cluster, places(children), tools.images)
    now_ms = tools.clock.now_ms()
    nodes = read_nodes(wish, cluster, children, now_ms)
    nodes = await with_absences(tools.kube, nodes, resource.namespace, resource.name, now_ms)
    view = None
    if any(Role.CONTROLLER in node.roles and node.pod is not None for node in nodes):
        port = tools.port_of(cluster)
        view = await _view(tools, port, resource)
        leaving = wish.leaving(Role.BROKER) | wish.leaving(Role.CONTROLLER)
        was_rolling = resource.status.rollout is not None
        nodes = await ask_standings(nodes, port, leaving, was_rolling=was_rolling)
    spread_to = frozenset(resource.status.spread_to)
    seen = observed(nodes, read_claims(cluster, children), view, spread_to)
    seen = replace(seen, leftover=leftover_pods(nodes, children))
    return Seen(resource, cluster, children, wish, seen, view)


async def _view(tools: Tools, port: ClusterPort, resource: Resource) -> ClusterView | None:
    try:
        return await port.view()
    except (Unavailable, Refused) as error:
        if resource.status.quorum_formed:
            tools.log.warning("the cluster does not answer", name=resource.name, reason=str(error))
        return None


def _port(tools: Tools, seen: Seen) -> ClusterPort | None:
    return None if seen.view is None else tools.port_of(seen.cluster)


async def _apply(tools: Tools, seen: Seen, made: Plan) -> list[str]:
    """What Kubernetes refused."""
    held = {name: count for name, count in made.replicas.items() if count}
    cluster = replace(seen.cluster, held_replicas=held)
    manifests = []
    for manifest in cluster_objects(cluster):
        if manifest["kind"] == "StatefulSet":
            manifest = await _stateful_set(tools, manifest, seen.children)
        manifests.append(manifest)
    refused = await tools.applier.apply(manifests, seen.children.present)
    for pod, change in missing_facts(cluster, seen.children):
        await tools.kube.merge(path_of("Pod", cluster.namespace, pod), change)
    if refused:
        return refused
    await _shrink_given_up(tools, seen, made)
    wanted = {manifest_path(one) for one in manifests}
    empty = _empty_pools(seen, made)
    for path, uid in superfluous(seen.resource.uid, wanted, seen.children, empty):
        await tools.kube.delete(path, uid)
        tools.applier.forget(path)
    return []


async def _stateful_set(tools: Tools, manifest: Json, children: Children) -> Json:
    path = manifest_path(manifest)
    live = children.present.get(path)
    made, is_new = with_live_claims(manifest, live)
    if is_new and live is not None:
        await tools.kube.delete(path, live["metadata"]["uid"], orphans=True)
        tools.applier.forget(path)
    return made


async def _shrink_given_up(tools: Tools, seen: Seen, made: Plan) -> None:
    """There is no manifest for a pool that is not in the spec: only its size changes."""
    kept = {one.pool for one in seen.cluster.node_sets}
    for pool in seen.desired.pools:
        if pool.name in kept or made.replicas[pool.name] == pool.present_replicas:
            continue
        name = pool_object(seen.cluster.name, pool.name)
        path = path_of("StatefulSet", seen.cluster.namespace, name)
        await tools.kube.merge(path, {"spec": {"replicas": made.replicas[pool.name]}})


def _empty_pools(seen: Seen, made: Plan) -> set[str]:
    """Given up, and without a place or a pod."""
    kept = {one.pool for one in seen.cluster.node_sets}
    with_pods = {node.pool for node in seen.observed.nodes if node.pod is not None}
    return {
        pool.name
        for pool in seen.desired.pools
        if pool.name not in kept | with_pods and not pool.present_replicas
    }


async def _tell(tools: Tools, raw: Json, seen: Seen, made: Plan, outcome: Outcome) -> Report:
    observed_ = seen.observed
    if outcome.spread_to is not None:
        observed_ = replace(observed_, spread_to=outcome.spread_to)
    round_ = Round(
        desired=seen.desired,
        observed=observed_,
        plan=made,
        refusals=tuple(outcome.refusals),
        failures=tuple(outcome.failures),
        blocked_by=tuple(outcome.blocked_by),
        was_formed=seen.resource.status.quorum_formed,
        was_ready=_was(seen.resource.status, "Ready"),
    )
    status = cluster_status(
        seen.resource,
        seen.cluster,
        round_,
        seen.view,
        seen.children,
        tools.images,
        moment(tools.clock),
    )
    await _write_status(tools, raw, status)
    await tools.events.after_round(raw, seen.resource.status, status, outcome.restarted)
    is_stable = _was(status, "Stable")
    return Report(
        REST_MS if is_stable or seen.resource.is_paused else STEP_MS,
        tuple(outcome.restarted),
        tuple(outcome.failures),
        is_stable,
        made.roll.updated,
        made.roll.total,
    )


def _was(status: ClusterStatus, name: str) -> bool:
    return any(one.type == name and one.status == "True" for one in status.conditions)


async def _write_status(tools: Tools, raw: Json, status: ClusterStatus) -> None:
    """Only where it differs. Refused if somebody wrote meanwhile: the next round knows more."""
    wanted, before = rendered(status), raw.get("status") or {}
    if wanted == before:
        return
    metadata = raw["metadata"]
    path = path_of("KafkaCluster", metadata["namespace"], metadata["name"]) + "/status"
    removed = dict.fromkeys(before.keys() - wanted.keys())
    change = {
        "metadata": {"resourceVersion": metadata["resourceVersion"]},
        "status": {**removed, **wanted},
    }
    await tools.kube.merge(path, change)
