"""Where pods ended up: read from hosts and Services, written on the pods for their start."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from barnabas_operator.kube.client import Json
from barnabas_operator.kube.paths import path_of
from barnabas_operator.kube.reading import is_pod_ready
from barnabas_operator.reconcile.children import Children
from barnabas_operator.specs.blueprint import Blueprint, NodeSet
from barnabas_operator.specs.names import FACTS_ANNOTATION, broker_service, pod_name
from barnabas_operator.specs.node_facts import (
    Address,
    Surroundings,
    external_listeners,
    facts_text,
    missing_words,
    needed_facts,
    node_facts,
)

_REACHABLE: Final = ("ExternalIP", "InternalIP")


def missing_facts(cluster: Blueprint, children: Children) -> Iterator[tuple[str, dict[str, Any]]]:
    """(pod, change) for pods that wait for what is known by now."""
    for node_set, node_id, pod in _without_facts(cluster, children):
        facts = node_facts(node_set, node_id, _seen(node_set, node_id, pod, children))
        if facts is not None:
            change = {"metadata": {"annotations": {FACTS_ANNOTATION: facts_text(facts)}}}
            yield pod["metadata"]["name"], change


def reasons_without_facts(cluster: Blueprint, children: Children) -> list[str]:
    """Pods that do not start, and what has to be there first."""
    found = []
    for node_set, node_id, pod in _without_facts(cluster, children):
        seen = _seen(node_set, node_id, pod, children)
        missing = missing_words(node_set, node_id, seen, pod["spec"]["nodeName"])
        if missing and not is_pod_ready(pod):
            found.append(f"{pod['metadata']['name']} waits for {' and '.join(missing)}")
    return found


def _without_facts(cluster: Blueprint, children: Children) -> Iterator[tuple[NodeSet, int, Json]]:
    """Pods that need facts, have a node from which to learn them, and were told none yet."""
    for node_set in cluster.node_sets:
        if not needed_facts(node_set):
            continue
        for node_id in node_set.node_ids:
            pod = children.pods.get(pod_name(cluster.name, node_set.pool, node_id))
            if pod is not None and _written(pod) is None and pod["spec"].get("nodeName"):
                yield node_set, node_id, pod


def has_stale_facts(node_set: NodeSet, node_id: int, pod: Json, children: Children) -> bool:
    """It started with what is no longer so. What cannot be seen now counts as unchanged."""
    written = _written(pod)
    if written is None or not needed_facts(node_set):
        return False
    facts = node_facts(node_set, node_id, _seen(node_set, node_id, pod, children))
    return facts is not None and facts_text(facts) != written


def _written(pod: Json) -> str | None:
    return (pod["metadata"].get("annotations") or {}).get(FACTS_ANNOTATION)


def _seen(node_set: NodeSet, node_id: int, pod: Json, children: Children) -> Surroundings:
    cluster = node_set.cluster
    host = children.hosts.get(pod["spec"].get("nodeName") or "")
    labels: Mapping[str, str] = {} if host is None else host["metadata"].get("labels") or {}
    services = {}
    for listener in external_listeners(node_set):
        name = broker_service(cluster.name, listener.name, node_id)
        path = path_of("Service", cluster.namespace, name)
        services[listener.name] = service_address(children.present.get(path))
    return Surroundings(
        labels.get(cluster.topology_key or ""),
        None if host is None else host_address(host),
        services,
    )


def host_address(host: Json) -> str | None:
    addresses = (host.get("status") or {}).get("addresses") or []
    for kind in _REACHABLE:
        for one in addresses:
            if one["type"] == kind:
                return str(one["address"])
    return None


def service_address(service: Json | None) -> Address | None:
    """A load balancer's own, or any host with the port of the nodes."""
    if service is None:
        return None
    (port, *_) = service["spec"]["ports"]
    if service["spec"]["type"] == "NodePort":
        return Address("", port["nodePort"]) if port.get("nodePort") else None
    ingress = (service.get("status") or {}).get("loadBalancer", {}).get("ingress") or []
    for one in ingress:
        if one.get("hostname") or one.get("ip"):
            return Address(one.get("hostname") or one["ip"], port["port"])
    return None
