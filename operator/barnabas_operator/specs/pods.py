"""The pod template of a node set, and its revision: what a pod has to have to be up to date."""

import json
from typing import Any, Final

from barnabas_operator.api.pod import PodTemplate
from barnabas_operator.specs.blueprint import ZONE_KEY, NodeSet
from barnabas_operator.specs.config_maps import properties_config_map, short_hash
from barnabas_operator.specs.containers import format_container, main_container, setup_container
from barnabas_operator.specs.metadata import pod_labels, pool_selector, role_selector
from barnabas_operator.specs.names import (
    BROKER_LABEL,
    CONTROLLER_LABEL,
    COORDINATOR_LABEL,
    REVISION_ANNOTATION,
)
from barnabas_operator.specs.volumes import pod_volumes

USER_ID: Final = 10001
_GRACE_SECONDS: Final = 120
_HOST_KEY: Final = "kubernetes.io/hostname"


def pod_template(node_set: NodeSet) -> dict[str, Any]:
    """With its revision among the annotations."""
    template = node_set.settings.template or PodTemplate()
    labels = {**template.labels, **pod_labels(node_set)}
    spec = _pod_spec(node_set, template)
    revision = short_hash(json.dumps([labels, dict(template.annotations), spec], sort_keys=True))
    annotations = {**template.annotations, REVISION_ANNOTATION: revision}
    return {"metadata": {"labels": labels, "annotations": annotations}, "spec": spec}


def revision_of(template: dict[str, Any]) -> str:
    revision: str = template["metadata"]["annotations"][REVISION_ANNOTATION]
    return revision


def _pod_spec(node_set: NodeSet, template: PodTemplate) -> dict[str, Any]:
    config_map = properties_config_map(node_set)["metadata"]["name"]
    formats = [format_container(node_set)] if node_set.storage else []
    grace_seconds = template.termination_grace_period_seconds or _GRACE_SECONDS
    spec = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": grace_seconds,
        "securityContext": _security(),
        "initContainers": [setup_container(node_set), *formats],
        "containers": [main_container(node_set)],
        "volumes": pod_volumes(node_set, config_map),
        "topologySpreadConstraints": _spread(node_set),
        "nodeSelector": _node_selector(node_set, template),
        "affinity": template.affinity,
        "tolerations": list(template.tolerations),
        "priorityClassName": template.priority_class_name,
        "imagePullSecrets": [{"name": name} for name in template.image_pull_secrets],
    }
    return {
        name: value for name, value in spec.items() if value is not None and value not in ([], {})
    }


def _security() -> dict[str, Any]:
    return {
        "runAsNonRoot": True,
        "runAsUser": USER_ID,
        "runAsGroup": USER_ID,
        "fsGroup": USER_ID,
        # Volumes with many files would take minutes otherwise.
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def _node_selector(node_set: NodeSet, template: PodTemplate) -> dict[str, str]:
    pinned = {}
    if node_set.rack is not None:
        pinned = {node_set.cluster.topology_key or ZONE_KEY: node_set.rack}
    return {**template.node_selector, **pinned}


def _spread(node_set: NodeSet) -> list[dict[str, Any]]:
    """Over zones within the pool, over hosts within the role.

    Where racks are asked for, a pod waits rather than upset them. Hosts are only preferred: a
    small installation has few.
    """
    cluster = node_set.cluster
    constraints = []
    if node_set.rack is None:
        must = cluster.topology_key is not None
        key = cluster.topology_key or ZONE_KEY
        constraints.append(_constraint(key, pool_selector(node_set), must=must))
    role = CONTROLLER_LABEL if node_set.is_controller else BROKER_LABEL
    role = COORDINATOR_LABEL if node_set.is_coordinator else role
    constraints.append(_constraint(_HOST_KEY, role_selector(cluster, role), must=False))
    return constraints


def _constraint(key: str, labels: dict[str, str], *, must: bool) -> dict[str, Any]:
    return {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule" if must else "ScheduleAnyway",
        "labelSelector": {"matchLabels": labels},
    }
