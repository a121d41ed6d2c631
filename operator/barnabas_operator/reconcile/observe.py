"""From Kubernetes' objects and the cluster's own view to what plans are made on."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from barnabas_operator.health.cluster_port import ClusterPort, ClusterView
from barnabas_operator.kube.quantity import bytes_of
from barnabas_operator.kube.reading import is_draining, read_pod
from barnabas_operator.plan.desired import Desired, PoolWish
from barnabas_operator.plan.observed import (
    ClaimState,
    NodeState,
    Observed,
    PodState,
)
from barnabas_operator.reconcile.children import Children
from barnabas_operator.reconcile.surroundings import has_stale_facts
from barnabas_operator.specs.blueprint import Blueprint, NodeSet
from barnabas_operator.specs.names import REVISION_ANNOTATION, claim_name, pod_name
from barnabas_operator.specs.pods import pod_template, revision_of

_ASKED_AT_ONCE: Final = 16


def read_nodes(
    desired: Desired, cluster: Blueprint, children: Children, now_ms: int
) -> tuple[NodeState, ...]:
    """All places that there are or should be."""
    revisions = {one.pool: revision_of(pod_template(one)) for one in cluster.node_sets}

    def node(pool: PoolWish, ordinal: int) -> NodeState:
        node_id = pool.node_id(ordinal)
        pod = _pod(pool.name, node_id, cluster, children, now_ms)
        host = children.hosts.get(pod.host) if pod is not None else None
        return NodeState(
            node_id=node_id,
            pool=pool.name,
            ordinal=ordinal,
            roles=pool.roles,
            wanted_revision=revisions.get(pool.name, ""),
            pod=pod,
            is_host_draining=host is not None and is_draining(host),
        )

    return tuple(
        node(pool, ordinal)
        for pool in desired.pools
        for ordinal in range(max(pool.replicas, pool.present_replicas))
    )


def _pod(
    pool: str, node_id: int, cluster: Blueprint, children: Children, now_ms: int
) -> PodState | None:
    raw = children.pods.get(pod_name(cluster.name, pool, node_id))
    if raw is None:
        return None
    pod = read_pod(raw, REVISION_ANNOTATION, now_ms)
    node_set = set_of(cluster, pool)
    if node_set is not None and has_stale_facts(node_set, node_id, raw, children):
        return replace(pod, revision=f"{pod.revision}, other surroundings")
    return pod


def read_claims(cluster: Blueprint, children: Children) -> tuple[ClaimState, ...]:
    """Volumes that there should be; one that is not there has no bytes."""
    return tuple(
        _claim(claim_name(storage.name, pod_name(cluster.name, one.pool, node_id)), size, children)
        for one in cluster.node_sets
        for storage, size in ((each, bytes_of(each.size)) for each in one.storage)
        for node_id in one.node_ids
    )


def _claim(name: str, wanted: int, children: Children) -> ClaimState:
    raw = children.claims.get(name)
    if raw is None:
        # There is nothing to expand: the StatefulSet will make it, large enough.
        return ClaimState(name, wanted, 0, wanted)
    requested = raw["spec"]["resources"]["requests"]["storage"]
    capacity = (raw.get("status") or {}).get("capacity", {}).get("storage", "0")
    return ClaimState(name, bytes_of(requested), bytes_of(capacity), wanted)


async def ask_standings(
    nodes: Sequence[NodeState], port: ClusterPort, leaving: frozenset[int], *, was_rolling: bool
) -> tuple[NodeState, ...]:
    """Only while something is under way: at rest nobody is asked."""
    is_rolling = was_rolling or any(not (node.is_current and node.is_ready) for node in nodes)
    turn = asyncio.Semaphore(_ASKED_AT_ONCE)

    async def ask(node: NodeState) -> NodeState:
        wanted = is_rolling or node.node_id in leaving
        if not (wanted and node.is_ready):
            return node
        async with turn:
            return replace(node, standing=await port.standing(node))

    return tuple(await asyncio.gather(*(ask(node) for node in nodes)))


def observed(
    nodes: Sequence[NodeState],
    claims: Sequence[ClaimState],
    view: ClusterView | None,
    spread_to: frozenset[int],
) -> Observed:
    if view is None:
        return Observed(tuple(nodes), claims=tuple(claims), spread_to=spread_to)
    return Observed(
        nodes=tuple(_with_rack(node, view) for node in nodes),
        quorum=view.quorum,
        brokers=view.brokers,
        partitions=view.partitions,
        claims=tuple(claims),
        dynamic_config=view.dynamic_config,
        features=view.features,
        spread_to=spread_to,
    )


def _with_rack(node: NodeState, view: ClusterView) -> NodeState:
    broker = view.brokers.get(node.node_id)
    return node if broker is None else replace(node, rack=broker.rack)


def leftover_pods(nodes: Sequence[NodeState], children: Children) -> tuple[str, ...]:
    placed = {node.pod.name for node in nodes if node.pod is not None}
    return tuple(sorted(children.pods.keys() - placed))


def places(children: Children) -> dict[str, int]:
    """Of the StatefulSets that there are."""
    return {pool: int(one["spec"].get("replicas") or 0) for pool, one in children.pools.items()}


def set_of(cluster: Blueprint, pool: str) -> NodeSet | None:
    return next((one for one in cluster.node_sets if one.pool == pool), None)
