"""The operator's own objects: an account with its rights, a Deployment, a Service for figures.

`manifests/operator.yaml` is these. The chart has the same with what its values change; a test
compares them where helm is there.
"""

from dataclasses import dataclass
from typing import Any, Final

from barnabas_operator.install.rules import cluster_rules, lease_rules, namespace_rules
from barnabas_operator.settings import METRICS_PORT
from barnabas_operator.specs.names import MANAGER

_RBAC: Final = "rbac.authorization.k8s.io"
_USER_ID: Final = 10001


@dataclass(frozen=True, slots=True)
class Installation:
    """As the chart's values are by default."""

    namespace: str = "barnabas-system"
    image_prefix: str = "barnabas/"
    tag: str = "dev"
    pull_policy: str = "IfNotPresent"
    replicas: int = 1


def install_objects(installation: Installation) -> list[dict[str, Any]]:
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": installation.namespace}},
        _account(installation),
        *_rights(installation),
        _service(installation),
        _deployment(installation),
    ]


def _labels() -> dict[str, str]:
    return {"app.kubernetes.io/name": MANAGER, "app.kubernetes.io/instance": "barnabas"}


def _metadata(installation: Installation) -> dict[str, Any]:
    return {"name": MANAGER, "namespace": installation.namespace, "labels": _labels()}


def _account(installation: Installation) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _metadata(installation)}


def _rights(installation: Installation) -> list[dict[str, Any]]:
    everywhere = {"name": MANAGER, "labels": _labels()}
    subject = {"kind": "ServiceAccount", "name": MANAGER, "namespace": installation.namespace}
    version = f"{_RBAC}/v1"
    here = _metadata(installation)
    return [
        {
            "apiVersion": version,
            "kind": "ClusterRole",
            "metadata": everywhere,
            "rules": [*namespace_rules(), *cluster_rules()],
        },
        {
            "apiVersion": version,
            "kind": "ClusterRoleBinding",
            "metadata": everywhere,
            "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": MANAGER},
            "subjects": [subject],
        },
        {"apiVersion": version, "kind": "Role", "metadata": here, "rules": lease_rules()},
        {
            "apiVersion": version,
            "kind": "RoleBinding",
            "metadata": here,
            "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": MANAGER},
            "subjects": [subject],
        },
    ]


def _service(installation: Installation) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(installation),
        "spec": {
            "selector": _labels(),
            "ports": [{"name": "metrics", "port": METRICS_PORT, "targetPort": "metrics"}],
        },
    }


def _deployment(installation: Installation) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(installation),
        "spec": {
            "replicas": installation.replicas,
            "selector": {"matchLabels": _labels()},
            "template": {"metadata": {"labels": _labels()}, "spec": _pod(installation)},
        },
    }


def _pod(installation: Installation) -> dict[str, Any]:
    return {
        "serviceAccountName": MANAGER,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 30,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER_ID,
            "runAsGroup": _USER_ID,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(installation)],
        "volumes": [{"name": "tmp", "emptyDir": {}}],
    }


def _container(installation: Installation) -> dict[str, Any]:
    return {
        "name": "operator",
        "image": f"{installation.image_prefix}operator:{installation.tag}",
        "imagePullPolicy": installation.pull_policy,
        "args": ["--log-format", "json"],
        "env": [
            _from_pod("POD_NAME", "metadata.name"),
            _from_pod("POD_NAMESPACE", "metadata.namespace"),
            {"name": "BARNABAS_NAMESPACES", "value": ""},
            {"name": "BARNABAS_IMAGE_PREFIX", "value": installation.image_prefix},
            {"name": "BARNABAS_IMAGE_TAG", "value": installation.tag},
            {"name": "BARNABAS_IMAGE_PULL_POLICY", "value": installation.pull_policy},
            {"name": "BARNABAS_METRICS_PORT", "value": str(METRICS_PORT)},
        ],
        "ports": [{"name": "metrics", "containerPort": METRICS_PORT}],
        "livenessProbe": {
            "httpGet": {"path": "/healthz", "port": "metrics"},
            "initialDelaySeconds": 10,
            "periodSeconds": 10,
            "timeoutSeconds": 5,
            "failureThreshold": 6,
        },
        # A standby is ready, too: the next one is rolled out when it could take over.
        "readinessProbe": {
            "httpGet": {"path": "/readyz", "port": "metrics"},
            "periodSeconds": 5,
            "timeoutSeconds": 5,
            "failureThreshold": 3,
        },
        "resources": {
            "requests": {"cpu": "100m", "memory": "128Mi"},
            "limits": {"memory": "512Mi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],  # noqa: S108 - of the pod alone
    }


def _from_pod(name: str, path: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
