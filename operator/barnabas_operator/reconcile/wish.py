"""From a `KafkaCluster` to what plans and manifests are made of."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from barnabas_core.metadata.feature import FEATURES, KRAFT_VERSION, latest_production
from barnabas_operator.api.cluster import ClusterSpec
from barnabas_operator.api.config import cluster_config
from barnabas_operator.api.parsing import parse
from barnabas_operator.api.status import ClusterStatus
from barnabas_operator.kube.client import Json
from barnabas_operator.plan.desired import Desired, PoolWish
from barnabas_operator.plan.dynamic_config import split_config
from barnabas_operator.plan.observed import Role
from barnabas_operator.specs.blueprint import Blueprint, Images, NodeSet
from barnabas_operator.specs.names import PAUSED_ANNOTATION
from barnabas_operator.specs.node_ids import RANGE_SIZE

_TRUE: Final = "true"


@dataclass(frozen=True, slots=True)
class Resource:
    """A `KafkaCluster` as it was read; `InvalidResource` where it cannot be."""

    namespace: str
    name: str
    uid: str
    generation: int
    spec: ClusterSpec
    status: ClusterStatus
    config: Mapping[str, str | None]
    is_paused: bool

    @property
    def key(self) -> tuple[str, str]:
        return self.namespace, self.name


def read_status(raw: Json) -> ClusterStatus:
    return parse(ClusterStatus, raw.get("status") or {}, "status")


def read_resource(raw: Json) -> Resource:
    metadata = raw["metadata"]
    spec = parse(ClusterSpec, raw.get("spec") or {})
    annotations = metadata.get("annotations") or {}
    return Resource(
        metadata["namespace"],
        metadata["name"],
        metadata["uid"],
        metadata["generation"],
        spec,
        read_status(raw),
        cluster_config(spec.config),
        annotations.get(PAUSED_ANNOTATION) == _TRUE,
    )


def blueprint(resource: Resource, images: Images) -> Blueprint:
    """Of a resource that has its identity."""
    status = resource.status
    assert status.cluster_id is not None
    _, static = split_config(resource.config)
    return Blueprint(
        name=resource.name,
        namespace=resource.namespace,
        uid=resource.uid,
        spec=resource.spec,
        cluster_id=status.cluster_id,
        first_node_ids={pool.name: pool.first_node_id for pool in status.pools},
        static_config=static,
        images=images,
        initial_controllers=status.initial_controllers,
        quorum_formed=status.quorum_formed,
    )


def desired(
    resource: Resource, cluster: Blueprint, present: Mapping[str, int], images: Images
) -> Desired:
    """`present`: places that StatefulSets have now, by pool."""
    dynamic, _ = split_config(resource.config)
    pools = [
        pool_wish(one, present.get(one.pool, one.wanted), cluster) for one in cluster.node_sets
    ]
    rollout = resource.spec.rollout
    per_rack = rollout.max_unavailable_per_rack if rollout is not None else None
    return Desired(
        pools=(*pools, *_given_up(resource.status, cluster, present)),
        dynamic_config=dynamic,
        features=wanted_features(resource.spec, images),
        max_unavailable_per_rack=per_rack or 1,
        is_paused=resource.is_paused,
    )


def pool_wish(one: NodeSet, present: int, cluster: Blueprint) -> PoolWish:
    wanted = one.wanted
    if one.is_controller and not cluster.quorum_formed:
        # Whoever starts the quorum stays until it is there.
        wanted = max(wanted, len(cluster.initial_controllers))
    return PoolWish(
        one.pool, roles_of(one), one.first_node_id, wanted, present, one.first_node_id + RANGE_SIZE
    )


def roles_of(one: NodeSet) -> frozenset[Role]:
    if one.is_coordinator:
        return frozenset({Role.COORDINATOR})
    roles = {Role.BROKER} if one.is_broker else set()
    return frozenset(roles | ({Role.CONTROLLER} if one.is_controller else set()))


def _given_up(
    status: ClusterStatus, cluster: Blueprint, present: Mapping[str, int]
) -> list[PoolWish]:
    """Pools that are no longer in the spec: emptied like places that go."""
    kept = {one.pool for one in cluster.node_sets}
    roles = {"broker": Role.BROKER, "controller": Role.CONTROLLER, "coordinator": Role.COORDINATOR}
    return [
        PoolWish(
            pool.name,
            frozenset({roles.get(pool.role, Role.BROKER)}),
            pool.first_node_id,
            0,
            present[pool.name],
            pool.first_node_id + RANGE_SIZE,
        )
        for pool in status.pools
        if pool.name not in kept and pool.name in present
    ]


def wanted_features(spec: ClusterSpec, images: Images) -> dict[str, int]:
    """Those of the operator's own release; of another it does not know the levels."""
    if spec.version not in (None, images.tag):
        return {}
    level = latest_production()
    found = {name: one.default_level_at(level) for name, one in FEATURES.items()}
    # That of the quorum itself was settled when its first disks were formatted.
    return {name: one for name, one in found.items() if one and name != KRAFT_VERSION}
