"""Names, labels and owners of a cluster's objects."""

from typing import Any

from barnabas_operator.specs.blueprint import Blueprint, NodeSet
from barnabas_operator.specs.names import (
    BROKER_LABEL,
    CLUSTER_LABEL,
    CONTROLLER_LABEL,
    COORDINATOR_LABEL,
    POOL_LABEL,
    cluster_labels,
)


def object_metadata(cluster: Blueprint, name: str, *, pool: str | None = None) -> dict[str, Any]:
    labels = cluster_labels(cluster.name)
    if pool is not None:
        labels[POOL_LABEL] = pool
    return {
        "name": name,
        "namespace": cluster.namespace,
        "labels": labels,
        "ownerReferences": [cluster.owner_reference],
    }


def pod_labels(node_set: NodeSet) -> dict[str, str]:
    """A label for each role, as a pod may have two."""
    roles = {
        CONTROLLER_LABEL: node_set.is_controller,
        BROKER_LABEL: node_set.is_broker,
        COORDINATOR_LABEL: node_set.is_coordinator,
    }
    held = {label: "true" for label, has_role in roles.items() if has_role}
    return cluster_labels(node_set.cluster.name) | {POOL_LABEL: node_set.pool} | held


def pool_selector(node_set: NodeSet) -> dict[str, str]:
    return {CLUSTER_LABEL: node_set.cluster.name, POOL_LABEL: node_set.pool}


def role_selector(cluster: Blueprint, role_label: str) -> dict[str, str]:
    return {CLUSTER_LABEL: cluster.name, role_label: "true"}
