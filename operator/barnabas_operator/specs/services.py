"""Services: a name for each pod, one to begin with for each listener, one per broker outside."""

from typing import Any

from barnabas_operator.api.listener import ListenerSpec, ListenerType
from barnabas_operator.specs.blueprint import Blueprint, NodeSet
from barnabas_operator.specs.containers import container_ports
from barnabas_operator.specs.metadata import object_metadata, pool_selector, role_selector
from barnabas_operator.specs.names import (
    BROKER_LABEL,
    NODE_LABEL,
    POD_NAME_LABEL,
    bootstrap_service,
    broker_service,
    pod_name,
    pool_object,
)
from barnabas_operator.specs.node_facts import external_listeners


def headless_service(node_set: NodeSet) -> dict[str, Any]:
    """Gives each pod its name, also before it is ready: nodes find each other to become so."""
    cluster = node_set.cluster
    metadata = object_metadata(
        cluster, pool_object(cluster.name, node_set.pool), pool=node_set.pool
    )
    spec = {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": pool_selector(node_set),
        "ports": [_port(name, port) for name, port in container_ports(node_set).items()],
    }
    return _service(metadata, spec)


def bootstrap_services(cluster: Blueprint) -> list[dict[str, Any]]:
    return [_bootstrap(cluster, one) for one in cluster.spec.listeners]


def _bootstrap(cluster: Blueprint, listener: ListenerSpec) -> dict[str, Any]:
    metadata = object_metadata(cluster, bootstrap_service(cluster.name, listener.name))
    spec = {
        "selector": role_selector(cluster, BROKER_LABEL),
        "ports": [_port(listener.name, listener.port)],
    }
    return _service(*_opened(listener, metadata, spec))


def broker_services(node_set: NodeSet) -> list[dict[str, Any]]:
    """At external listeners: clients have to reach each broker by itself."""
    return [
        _broker(node_set, listener, node_id)
        for listener in external_listeners(node_set)
        for node_id in node_set.node_ids
    ]


def _broker(node_set: NodeSet, listener: ListenerSpec, node_id: int) -> dict[str, Any]:
    cluster = node_set.cluster
    name = broker_service(cluster.name, listener.name, node_id)
    metadata = object_metadata(cluster, name, pool=node_set.pool)
    metadata["labels"][NODE_LABEL] = str(node_id)
    port = _port(listener.name, listener.port)
    chosen = next((one for one in listener.advertised if one.node_id == node_id), None)
    if chosen is not None and chosen.node_port is not None:
        port["nodePort"] = chosen.node_port
    spec = {
        "selector": pool_selector(node_set)
        | {POD_NAME_LABEL: pod_name(cluster.name, node_set.pool, node_id)},
        "ports": [port],
        # Its address is needed to start the broker, so it cannot wait for the broker.
        "publishNotReadyAddresses": True,
    }
    return _service(*_opened(listener, metadata, spec))


def _opened(
    listener: ListenerSpec, metadata: dict[str, Any], spec: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """As the type of the listener says."""
    if listener.type is ListenerType.INTERNAL:
        return metadata, {"type": "ClusterIP"} | spec
    if listener.annotations:
        metadata = metadata | {"annotations": dict(listener.annotations)}
    if listener.type is ListenerType.NODE_PORT:
        return metadata, {"type": "NodePort"} | spec
    opened = {"type": "LoadBalancer"} | spec
    if listener.source_ranges:
        opened["loadBalancerSourceRanges"] = list(listener.source_ranges)
    return metadata, opened


def _port(name: str, port: int) -> dict[str, Any]:
    return {"name": name, "port": port, "targetPort": name, "protocol": "TCP"}


def _service(metadata: dict[str, Any], spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}
