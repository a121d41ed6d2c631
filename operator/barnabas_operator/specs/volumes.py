"""Disks and other volumes of a pod, and where they are in it.

Logs are in a folder of the disk, not at its top: file systems keep things of their own there
(`lost+found`), and so does the pod (its facts).
"""

from typing import Any, Final

from barnabas_operator.api.pod import Storage
from barnabas_operator.specs.blueprint import NodeSet
from barnabas_operator.specs.names import FACTS_ANNOTATION, cluster_labels, quorum_config_map

DATA_PATH: Final = "/var/lib/barnabas"
CONFIG_PATH: Final = "/etc/barnabas"
POD_PATH: Final = "/etc/barnabas-pod"
QUORUM_PATH: Final = "/etc/barnabas-quorum"
RUN_PATH: Final = "/run/barnabas"

# With a dash, which the name of a disk never has.
_CONFIG, _POD, _QUORUM = "barnabas-config", "barnabas-pod", "barnabas-quorum"
_RUN, _TEMPORARY = "barnabas-run", "barnabas-tmp"


def disk_path(storage: Storage) -> str:
    return f"{DATA_PATH}/{storage.name}"


def log_directory(storage: Storage) -> str:
    return f"{disk_path(storage)}/log"


def pod_volumes(node_set: NodeSet, config_map: str) -> list[dict[str, Any]]:
    """All but the disks, which come with the claims."""
    facts = {
        "path": "facts",
        "fieldRef": {"fieldPath": f"metadata.annotations['{FACTS_ANNOTATION}']"},
    }
    volumes: list[dict[str, Any]] = [
        {"name": _CONFIG, "configMap": {"name": config_map}},
        {"name": _POD, "downwardAPI": {"items": [facts]}},
        {"name": _RUN, "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
        {"name": _TEMPORARY, "emptyDir": {}},
    ]
    if node_set.is_controller:
        name = quorum_config_map(node_set.cluster.name)
        volumes.append({"name": _QUORUM, "configMap": {"name": name}})
    return volumes


def main_mounts(node_set: NodeSet) -> list[dict[str, Any]]:
    return [
        {"name": _RUN, "mountPath": RUN_PATH, "readOnly": True},
        {"name": _TEMPORARY, "mountPath": "/tmp"},  # noqa: S108 - of the pod alone
        *disk_mounts(node_set),
    ]


def setup_mounts(node_set: NodeSet) -> list[dict[str, Any]]:
    mounts: list[dict[str, Any]] = [
        {"name": _CONFIG, "mountPath": CONFIG_PATH, "readOnly": True},
        {"name": _POD, "mountPath": POD_PATH, "readOnly": True},
        {"name": _RUN, "mountPath": RUN_PATH},
        *disk_mounts(node_set),
    ]
    if node_set.is_controller:
        mounts.append({"name": _QUORUM, "mountPath": QUORUM_PATH, "readOnly": True})
    return mounts


def disk_mounts(node_set: NodeSet) -> list[dict[str, Any]]:
    return [{"name": one.name, "mountPath": disk_path(one)} for one in node_set.storage]


def claim_templates(node_set: NodeSet) -> list[dict[str, Any]]:
    return [_claim(node_set, one) for one in node_set.storage]


def _claim(node_set: NodeSet, storage: Storage) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": storage.size}},
    }
    if storage.storage_class is not None:
        spec["storageClassName"] = storage.storage_class
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": storage.name, "labels": cluster_labels(node_set.cluster.name)},
        "spec": spec,
    }


def with_live_claims(
    wanted: dict[str, Any], live: dict[str, Any] | None
) -> tuple[dict[str, Any], bool]:
    """(the StatefulSet to apply, whether it has to be made anew first, its pods left running).

    Claims in a StatefulSet cannot be changed. Other sizes are asked of the volumes themselves, so
    the live ones stay; other disks need another StatefulSet.
    """
    if live is None:
        return wanted, False
    kept = live["spec"].get("volumeClaimTemplates", [])
    names = [one["metadata"]["name"] for one in wanted["spec"].get("volumeClaimTemplates", [])]
    if [one["metadata"]["name"] for one in kept] != names:
        return wanted, True
    pruned = [{key: one[key] for key in one if key != "status"} for one in kept]
    spec = wanted["spec"] | ({"volumeClaimTemplates": pruned} if pruned else {})
    return wanted | {"spec": spec}, False
