"""What keeps others from a cluster's pods: evictions in number, and the network.

A pod counts for one budget only: of a pod with two, Kubernetes evicts none.
"""

from typing import Any, Final

from barnabas_operator.api.listener import CONTROLLER_PORT, LINK_PORT
from barnabas_operator.specs.blueprint import Blueprint
from barnabas_operator.specs.metadata import object_metadata, role_selector
from barnabas_operator.specs.names import (
    BROKER_LABEL,
    CLUSTER_LABEL,
    CONTROLLER_LABEL,
    COORDINATOR_LABEL,
    MANAGER,
)

_OPERATOR_PODS: Final = {"app.kubernetes.io/name": MANAGER}


def disruption_budgets(cluster: Blueprint) -> list[dict[str, Any]]:
    """One for each role; controllers that are brokers too are covered as these."""
    roles = {"brokers": BROKER_LABEL}
    if cluster.spec.controllers is not None:
        roles["controllers"] = CONTROLLER_LABEL
    if cluster.has_remote_groups:
        roles["coordinators"] = COORDINATOR_LABEL
    return [_budget(cluster, name, label) for name, label in roles.items()]


def _budget(cluster: Blueprint, name: str, label: str) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": object_metadata(cluster, f"{cluster.name}-{name}"),
        "spec": {
            "maxUnavailable": 1,
            # What does not run keeps nobody from draining its node.
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {"matchLabels": role_selector(cluster, label)},
        },
    }


def network_policies(cluster: Blueprint) -> list[dict[str, Any]]:
    """Links and the quorum are for the cluster and its operator; listeners are for everybody."""
    peers = [
        {"podSelector": {"matchLabels": {CLUSTER_LABEL: cluster.name}}},
        {"namespaceSelector": {}, "podSelector": {"matchLabels": _OPERATOR_PODS}},
    ]
    inside = {"from": peers, "ports": _ports(CONTROLLER_PORT, LINK_PORT)}
    open_ports = {"ports": _ports(cluster.metrics_port)}
    listeners = {"ports": _ports(*(one.port for one in cluster.spec.listeners))}
    return [
        _policy(cluster, "nodes", {CLUSTER_LABEL: cluster.name}, [inside, open_ports]),
        _policy(cluster, "listeners", role_selector(cluster, BROKER_LABEL), [listeners]),
    ]


def _policy(
    cluster: Blueprint, name: str, labels: dict[str, str], ingress: list[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": object_metadata(cluster, f"{cluster.name}-{name}"),
        "spec": {
            "podSelector": {"matchLabels": labels},
            "policyTypes": ["Ingress"],
            "ingress": ingress,
        },
    }


def _ports(*ports: int) -> list[dict[str, Any]]:
    return [{"protocol": "TCP", "port": port} for port in ports]
