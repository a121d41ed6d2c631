"""What the operator may do. Each right is here because something is done with it."""

from typing import Any, Final

from barnabas_operator.api.kinds import GROUP

LEASE: Final = "barnabas-operator"
_READ: Final = ["get", "list", "watch"]
_KEEP: Final = [*_READ, "create", "patch", "update", "delete"]


def namespace_rules() -> list[dict[str, Any]]:
    """In every namespace with clusters."""
    return [
        # Handled resources, with their finalizers and annotations.
        _rule(GROUP, ["kafkaclusters", "kafkatopics"], [*_READ, "patch", "update"]),
        _rule(GROUP, ["kafkaclusters/status", "kafkatopics/status"], ["get", "patch", "update"]),
        # Owner references that hold back the deletion of the owner.
        _rule(GROUP, ["kafkaclusters/finalizers"], ["update"]),
        _rule("", ["configmaps", "services"], _KEEP),
        # Pods are told their facts, and deleted to restart them; StatefulSets make them.
        _rule("", ["pods"], [*_READ, "patch", "delete"]),
        # Volumes are expanded, never deleted.
        _rule("", ["persistentvolumeclaims"], [*_READ, "patch"]),
        # Told of clusters; listed where a StatefulSet cannot make a pod.
        _rule("", ["events"], ["create", "patch", "list"]),
        _rule("apps", ["statefulsets"], _KEEP),
        _rule("networking.k8s.io", ["networkpolicies"], _KEEP),
        _rule("policy", ["poddisruptionbudgets"], _KEEP),
    ]


def cluster_rules() -> list[dict[str, Any]]:
    """Of what is in no namespace: read only."""
    return [
        # Racks, addresses, and whether a node is about to be drained.
        _rule("", ["nodes"], _READ),
        _rule("", ["namespaces"], _READ),
        _rule("apiextensions.k8s.io", ["customresourcedefinitions"], _READ),
    ]


def lease_rules() -> list[dict[str, Any]]:
    """In the operator's own namespace. A name cannot be asked of what is not there yet."""
    leases = ["leases"]
    group = "coordination.k8s.io"
    return [
        _rule(group, leases, ["create"]),
        _rule(group, leases, ["get", "patch", "update"]) | {"resourceNames": [LEASE]},
    ]


def _rule(group: str, resources: list[str], verbs: list[str]) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": resources, "verbs": verbs}
