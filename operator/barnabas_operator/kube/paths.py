"""Where objects are in Kubernetes' API."""

from collections.abc import Mapping
from typing import Any, Final

_PLURALS: Final[Mapping[str, str]] = {
    "ConfigMap": "configmaps",
    "Event": "events",
    "KafkaCluster": "kafkaclusters",
    "KafkaTopic": "kafkatopics",
    "Lease": "leases",
    "Namespace": "namespaces",
    "NetworkPolicy": "networkpolicies",
    "Node": "nodes",
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "Pod": "pods",
    "PodDisruptionBudget": "poddisruptionbudgets",
    "Role": "roles",
    "RoleBinding": "rolebindings",
    "Secret": "secrets",
    "Service": "services",
    "ServiceAccount": "serviceaccounts",
    "StatefulSet": "statefulsets",
}
_GROUPS: Final[Mapping[str, str]] = {
    "KafkaCluster": "barnabas.dev/v1alpha1",
    "KafkaTopic": "barnabas.dev/v1alpha1",
    "Lease": "coordination.k8s.io/v1",
    "NetworkPolicy": "networking.k8s.io/v1",
    "PodDisruptionBudget": "policy/v1",
    "Role": "rbac.authorization.k8s.io/v1",
    "RoleBinding": "rbac.authorization.k8s.io/v1",
    "StatefulSet": "apps/v1",
}


def collection(kind: str, namespace: str | None = None) -> str:
    """All of a kind, in one namespace or in all of them."""
    group = _GROUPS.get(kind, "v1")
    root = f"/apis/{group}" if "/" in group else f"/api/{group}"
    scope = f"/namespaces/{namespace}" if namespace is not None else ""
    return f"{root}{scope}/{_PLURALS[kind]}"


def path_of(kind: str, namespace: str | None, name: str) -> str:
    return f"{collection(kind, namespace)}/{name}"


def manifest_path(manifest: Mapping[str, Any]) -> str:
    metadata = manifest["metadata"]
    return path_of(manifest["kind"], metadata["namespace"], metadata["name"])
