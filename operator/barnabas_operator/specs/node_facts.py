"""What a pod cannot know before it runs somewhere: its rack, and its addresses seen from outside.

The operator writes them on the pod, as one annotation in JSON, as soon as the pod has a node; the
pod's first container waits for it and keeps a copy on the disk, with which the pod starts when no
operator is there. So pods need no access to Kubernetes. And what a pod started with can be read
from it: where that is not what it should be, the pod has to restart.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from barnabas_operator.api.listener import ListenerSpec, ListenerType
from barnabas_operator.specs.blueprint import NodeSet

RACK_FACT = "RACK"


@dataclass(frozen=True, slots=True)
class Address:
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What was seen around one pod."""

    rack: str | None = None
    """Value of the topology key on its node."""
    node_address: str | None = None
    """Where its node can be reached from outside."""
    services: Mapping[str, Address | None] = field(default_factory=dict)
    """Of its own Services, by listener: the load balancer's address, or any host and the port of
    the nodes; None while there is none."""


def address_fact(listener: ListenerSpec) -> str:
    """The name under which a pod finds what to advertise at a listener."""
    return f"ADVERTISED_{listener.kafka_name}"


def needed_facts(node_set: NodeSet) -> tuple[str, ...]:
    """Names of the facts that the pods of this set wait for."""
    racks = (RACK_FACT,) if node_set.finds_its_rack else ()
    return (*racks, *(address_fact(one) for one in external_listeners(node_set)))


def external_listeners(node_set: NodeSet) -> tuple[ListenerSpec, ...]:
    """Those for which each broker has a Service of its own."""
    if not node_set.is_broker:
        return ()
    return tuple(one for one in node_set.cluster.spec.listeners if one.is_external)


def node_facts(node_set: NodeSet, node_id: int, seen: Surroundings) -> dict[str, str] | None:
    """The facts of one pod; None as long as one of them is missing."""
    facts = _facts(node_set, node_id, seen)
    known = {name: fact for name, fact in facts.items() if fact is not None}
    return known if len(known) == len(facts) else None


def missing_words(
    node_set: NodeSet, node_id: int, seen: Surroundings, host: str
) -> tuple[str, ...]:
    """What the facts of one pod lack, for people. `host`: the node on which it is."""
    facts = _facts(node_set, node_id, seen)
    words = {RACK_FACT: f"the label {node_set.cluster.topology_key} of node {host}"} | {
        address_fact(one): f"an address of listener {one.name} ({one.type.value})"
        for one in external_listeners(node_set)
    }
    return tuple(words[name] for name, fact in facts.items() if fact is None)


def _facts(node_set: NodeSet, node_id: int, seen: Surroundings) -> dict[str, str | None]:
    facts: dict[str, str | None] = {}
    if node_set.finds_its_rack:
        facts[RACK_FACT] = seen.rack
    for listener in external_listeners(node_set):
        facts[address_fact(listener)] = _advertised(listener, node_id, seen)
    return facts


def _advertised(listener: ListenerSpec, node_id: int, seen: Surroundings) -> str | None:
    chosen = next((one for one in listener.advertised if one.node_id == node_id), None)
    service = seen.services.get(listener.name)
    host = chosen.host if chosen is not None and chosen.host else _host(listener, service, seen)
    port = chosen.port if chosen is not None and chosen.port else service and service.port
    return str(Address(host, port)) if host and port else None


def _host(listener: ListenerSpec, service: Address | None, seen: Surroundings) -> str | None:
    if listener.type is ListenerType.NODE_PORT:
        return seen.node_address
    return service.host if service is not None else None


def facts_text(facts: Mapping[str, str]) -> str:
    """The annotation; equal facts are equal texts."""
    return json.dumps(facts, sort_keys=True)
