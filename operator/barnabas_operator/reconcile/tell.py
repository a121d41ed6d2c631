"""The status of a cluster after a round."""

from collections.abc import Iterable
from dataclasses import replace

from barnabas_core.metadata.feature import METADATA_VERSION, FeatureError, name_of_level
from barnabas_operator.api.status import (
    ClusterStatus,
    ListenerStatus,
    PoolStatus,
    ReadyCounts,
    ReplicationStatus,
    VoterStatus,
)
from barnabas_operator.health.cluster_port import ClusterView
from barnabas_operator.plan.observed import NodeState, Role
from barnabas_operator.reconcile.children import Children
from barnabas_operator.reconcile.listeners import bootstrap_servers
from barnabas_operator.reconcile.wish import Resource
from barnabas_operator.specs.blueprint import Blueprint, Images
from barnabas_operator.status.cluster_conditions import Round, cluster_findings
from barnabas_operator.status.conditions import merge_conditions
from barnabas_operator.status.rollout import rollout_status


def cluster_status(  # noqa: PLR0913, PLR0917 - everything that a status tells of
    resource: Resource,
    cluster: Blueprint,
    round_: Round,
    view: ClusterView | None,
    children: Children,
    images: Images,
    now: str,
) -> ClusterStatus:
    before, nodes = resource.status, round_.observed.nodes
    is_formed = before.quorum_formed or _is_formed(cluster, view)
    found = cluster_findings(round_)
    status = replace(
        before,
        observed_generation=resource.generation,
        conditions=merge_conditions(before.conditions, found, resource.generation, now),
        quorum_formed=is_formed,
        operator_version=images.tag,
        listeners=_listeners(cluster, children),
        pools=_pools(before, cluster, nodes),
        ready=_counts(nodes, cluster),
        rollout=rollout_status(round_),
        spread_to=tuple(sorted(round_.observed.spread_to)),
    )
    if round_.plan.roll.is_over:
        status = replace(status, version=resource.spec.version or images.tag)
    return status if view is None else _with_view(status, view)


def _with_view(status: ClusterStatus, view: ClusterView) -> ClusterStatus:
    return replace(
        status,
        metadata_version=_level_name(view.features.get(METADATA_VERSION)),
        voters=tuple(
            VoterStatus(
                node_id=one.node_id,
                # At rest the figure would change with every record: only what is behind is told.
                lag=0 if one.is_caught_up else view.lags.get(one.node_id, -1),
                is_leader=one.node_id == view.quorum.leader_id,
            )
            for one in view.quorum.voters
        ),
        replication=_replication(view),
    )


def _is_formed(cluster: Blueprint, view: ClusterView | None) -> bool:
    """All that were to start it vote: whoever is formatted from now on joins."""
    if view is None:
        return False
    voters = {one.node_id for one in view.quorum.voters if one.is_caught_up}
    return voters >= set(cluster.initial_controllers)


def _level_name(level: int | None) -> str | None:
    if level is None:
        return None
    try:
        return name_of_level(level)
    except FeatureError:
        return str(level)


def _replication(view: ClusterView) -> ReplicationStatus:
    partitions = view.partitions
    return ReplicationStatus(
        partitions=len(partitions),
        under_replicated=sum(len(one.isr) < len(one.replicas) for one in partitions),
        under_min_isr=sum(len(one.isr) < view.min_isr.get(one.topic, 1) for one in partitions),
        offline=sum(one.leader < 0 for one in partitions),
        moving=sum(one.is_moving for one in partitions),
    )


def _listeners(cluster: Blueprint, children: Children) -> tuple[ListenerStatus, ...]:
    found = []
    for one in cluster.spec.listeners:
        servers = bootstrap_servers(cluster, one, children)
        if servers:
            found.append(
                ListenerStatus(name=one.name, type=one.type.value, bootstrap_servers=servers)
            )
    return tuple(found)


def _pools(
    before: ClusterStatus, cluster: Blueprint, nodes: Iterable[NodeState]
) -> tuple[PoolStatus, ...]:
    """Those that are gone keep their ids."""
    known = {pool.name: pool for pool in before.pools}
    by_pool: dict[str, list[NodeState]] = {}
    for node in nodes:
        by_pool.setdefault(node.pool, []).append(node)
    found = []
    for name, pool in known.items():
        own = by_pool.get(name, [])
        found.append(
            replace(
                pool,
                replicas=sum(node.pod is not None for node in own),
                ready=sum(node.is_ready for node in own),
                updated=sum(node.is_current for node in own),
            )
        )
    return tuple(found)


def _counts(nodes: Iterable[NodeState], cluster: Blueprint) -> ReadyCounts:
    def count(role: Role, wanted: int) -> str | None:
        ready = sum(role in node.roles and node.is_ready for node in listed)
        return f"{ready}/{wanted}" if wanted or ready else None

    listed = list(nodes)
    sets = cluster.node_sets
    return ReadyCounts(
        brokers=count(Role.BROKER, sum(one.wanted for one in sets if one.is_broker)),
        controllers=count(Role.CONTROLLER, sum(one.wanted for one in sets if one.is_controller)),
        coordinators=count(Role.COORDINATOR, sum(one.wanted for one in sets if one.is_coordinator)),
    )
