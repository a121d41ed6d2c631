"""The containers of a pod: two that make it ready, one that runs."""

from typing import Any, Final

from barnabas_operator.api.listener import CONTROLLER_PORT, LINK_PORT
from barnabas_operator.api.parsing import rendered
from barnabas_operator.specs.blueprint import NodeSet
from barnabas_operator.specs.config_maps import INITIAL_CONTROLLERS, PROPERTIES_FILE
from barnabas_operator.specs.names import (
    FORMAT_CONTAINER,
    MAIN_CONTAINER,
    POD_INDEX_LABEL,
    SETUP_CONTAINER,
)
from barnabas_operator.specs.volumes import (
    CONFIG_PATH,
    POD_PATH,
    QUORUM_PATH,
    RUN_PATH,
    disk_path,
    main_mounts,
    setup_mounts,
)

_PROPERTIES: Final = f"{RUN_PATH}/{PROPERTIES_FILE}"
_FORMAT_ARGUMENTS: Final = f"{RUN_PATH}/format-arguments"
_SMALL: Final = {
    "requests": {"cpu": "50m", "memory": "64Mi"},
    "limits": {"memory": "256Mi"},
}
_CLOSED: Final = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
# A broker that crashed reads its logs first: half an hour for it.
_START_FAILURES: Final = 360
_START_PERIOD_SECONDS: Final = 5
_SETTLE_SECONDS: Final = 2


def setup_container(node_set: NodeSet) -> dict[str, Any]:
    """Writes the node's own properties, once it knows what is asked for in them."""
    command = [
        "python3",
        "-m",
        "barnabas.pod_setup",
        "--template",
        f"{CONFIG_PATH}/{PROPERTIES_FILE}",
        "--facts",
        f"{POD_PATH}/facts",
        "--output",
        _PROPERTIES,
    ]
    if node_set.storage:
        command += ["--remembered", f"{disk_path(node_set.storage[0])}/facts.json"]
    else:
        command += ["--optional"]
    if node_set.is_controller:
        command += ["--initial-controllers", f"{QUORUM_PATH}/{INITIAL_CONTROLLERS}"]
        command += ["--format-arguments", _FORMAT_ARGUMENTS]
    return _container(node_set, SETUP_CONTAINER, command) | {
        "env": [
            _from_pod("NODE_ID", f"metadata.labels['{POD_INDEX_LABEL}']"),
            _from_pod("POD_NAME", "metadata.name"),
        ],
        "resources": _SMALL,
        "volumeMounts": setup_mounts(node_set),
    }


def format_container(node_set: NodeSet) -> dict[str, Any]:
    """Makes new disks ready. One that is formatted is never formatted again."""
    command = [
        "kafka-storage",
        "format",
        "--cluster-id",
        node_set.cluster.cluster_id,
        "--config",
        _PROPERTIES,
        "--ignore-formatted",
    ]
    if node_set.is_controller:
        command.append(f"@{_FORMAT_ARGUMENTS}")
    return _container(node_set, FORMAT_CONTAINER, command) | {
        "resources": _SMALL,
        "volumeMounts": main_mounts(node_set),
    }


def main_container(node_set: NodeSet) -> dict[str, Any]:
    found = _container(node_set, MAIN_CONTAINER, _run_command(node_set))
    found["ports"] = [
        {"name": name, "containerPort": port} for name, port in container_ports(node_set).items()
    ]
    if node_set.settings.resources is not None:
        found["resources"] = rendered(node_set.settings.resources)
    return found | {
        "startupProbe": _probe("/healthz", _START_FAILURES, _START_PERIOD_SECONDS),
        "livenessProbe": _probe("/healthz", 6, 10),
        "readinessProbe": _probe("/readyz", 3, 5),
        # Services stop sending new connections here before it stops taking them.
        "lifecycle": {"preStop": {"sleep": {"seconds": _SETTLE_SECONDS}}},
        "volumeMounts": main_mounts(node_set),
    }


def container_ports(node_set: NodeSet) -> dict[str, int]:
    found: dict[str, int] = {}
    if node_set.is_broker:
        found |= {one.name: one.port for one in node_set.cluster.spec.listeners}
    if node_set.is_controller:
        found["controller"] = CONTROLLER_PORT
    found["internal"] = LINK_PORT
    found["metrics"] = node_set.cluster.metrics_port
    return found


def _run_command(node_set: NodeSet) -> list[str]:
    options = ["--log-format", "json"]
    if node_set.is_coordinator:
        run = ["python3", "-m", "barnabas_coordinator", "--role", node_set.pool]
        return [*run, "--config", _PROPERTIES, *options]
    if not node_set.is_broker:
        return ["python3", "-m", "barnabas_controller", "--config", _PROPERTIES, *options]
    if node_set.is_controller or not node_set.cluster.has_remote_groups:
        # Several roles in one process: with the quorum, with coordinators, or with both.
        return ["barnabas", "serve", _PROPERTIES, *options]
    return ["python3", "-m", "barnabas_broker", "--config", _PROPERTIES, *options]


def _container(node_set: NodeSet, name: str, command: list[str]) -> dict[str, Any]:
    return {
        "name": name,
        "image": node_set.image,
        "imagePullPolicy": node_set.cluster.images.pull_policy,
        "command": command,
        "securityContext": _CLOSED,
    }


def _from_pod(name: str, path: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def _probe(path: str, failures: int, period_seconds: int) -> dict[str, Any]:
    return {
        "httpGet": {"path": path, "port": "metrics"},
        "periodSeconds": period_seconds,
        "timeoutSeconds": 5,
        "failureThreshold": failures,
    }
