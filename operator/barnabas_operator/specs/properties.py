"""`server.properties` of the nodes of a set.

One text for all of them: what differs stands as `@NAME@`, and is filled in by the pod's first
container (`python -m barnabas.pod_setup`). Kafka's own names throughout.
"""

from barnabas_operator.api.listener import CONTROLLER_PORT, LINK_PORT
from barnabas_operator.specs.blueprint import Blueprint, NodeSet
from barnabas_operator.specs.names import pool_object, service_host
from barnabas_operator.specs.node_facts import RACK_FACT, address_fact
from barnabas_operator.specs.volumes import log_directory

NODE_ID = "@NODE_ID@"
POD_NAME = "@POD_NAME@"
RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
_CONTROLLER = "CONTROLLER"
_INTERNAL_REPLICAS = 3


def server_properties(node_set: NodeSet) -> str:
    """What users set comes first, so that nothing of theirs replaces what is the operator's."""
    cluster = node_set.cluster
    properties = _defaults(cluster) | dict(sorted(cluster.static_config.items()))
    properties |= _identity(node_set) | _listeners(node_set) | _quorum(cluster)
    properties |= _links(node_set)
    properties |= _rack(node_set)
    return "".join(f"{name}={_escaped(value)}\n" for name, value in properties.items())


def controller_bootstrap(cluster: Blueprint) -> str:
    """One name for all controllers, those to come included: no file changes when they do."""
    service = pool_object(cluster.name, cluster.quorum_pool)
    return f"{service_host(cluster.namespace, service)}:{CONTROLLER_PORT}"


def own_host(node_set: NodeSet) -> str:
    cluster = node_set.cluster
    service = service_host(cluster.namespace, pool_object(cluster.name, node_set.pool))
    return f"{POD_NAME}.{service}"


def _defaults(cluster: Blueprint) -> dict[str, str]:
    """What is not Kafka's default, unless the user says otherwise."""
    found = {}
    if cluster.topology_key or any(pool.rack for pool in cluster.spec.brokers):
        found["replica.selector.class"] = RACK_AWARE
    brokers = sum(pool.replicas for pool in cluster.spec.brokers)
    if brokers < _INTERNAL_REPLICAS:
        # Or the topic could not be made, and no group would ever get an answer.
        found["offsets.topic.replication.factor"] = str(max(brokers, 1))
    return found


def _identity(node_set: NodeSet) -> dict[str, str]:
    # A coordinator reads a broker's file, of which it uses what is about links and groups.
    roles = [
        *(["broker"] if node_set.is_broker or node_set.is_coordinator else []),
        *(["controller"] if node_set.is_controller else []),
    ]
    found = {"process.roles": ",".join(roles), "node.id": NODE_ID}
    if node_set.storage:
        found["log.dirs"] = ",".join(log_directory(one) for one in node_set.storage)
    return found


def _listeners(node_set: NodeSet) -> dict[str, str]:
    host = own_host(node_set)
    listened, advertised = [], []
    if node_set.is_broker or node_set.is_coordinator:
        for one in node_set.cluster.spec.listeners:
            if node_set.is_coordinator and one.is_external:
                continue
            listened.append(f"{one.kafka_name}://:{one.port}")
            reached = f"@{address_fact(one)}@" if one.is_external else f"{host}:{one.port}"
            advertised.append(f"{one.kafka_name}://{reached}")
    if node_set.is_controller:
        listened.append(f"{_CONTROLLER}://:{CONTROLLER_PORT}")
        advertised.append(f"{_CONTROLLER}://{host}:{CONTROLLER_PORT}")
    names = [_CONTROLLER, *(one.kafka_name for one in node_set.cluster.spec.listeners)]
    found = {
        "listeners": ",".join(listened),
        "advertised.listeners": ",".join(advertised),
        "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in names),
    }
    if not (node_set.is_broker or node_set.is_coordinator):
        return found
    internal = next(one for one in node_set.cluster.spec.listeners if not one.is_external)
    return found | {"inter.broker.listener.name": internal.kafka_name}


def _quorum(cluster: Blueprint) -> dict[str, str]:
    return {
        "controller.listener.names": _CONTROLLER,
        "controller.quorum.bootstrap.servers": controller_bootstrap(cluster),
    }


def _links(node_set: NodeSet) -> dict[str, str]:
    """Controllers serve links where others look for them by default: their port plus 1000.

    On every address: a pod's own name may not be known yet when it starts. Others are told the
    host that is advertised to brokers.
    """
    found = {} if node_set.is_controller else {"internal.listener": f":{LINK_PORT}"}
    found["metrics.listener"] = f":{node_set.cluster.metrics_port}"
    if node_set.is_broker:
        found["coordinator.mode"] = "remote" if node_set.cluster.has_remote_groups else "local"
    return found


def _rack(node_set: NodeSet) -> dict[str, str]:
    if node_set.rack is not None:
        return {"broker.rack": node_set.rack}
    return {"broker.rack": f"@{RACK_FACT}@"} if node_set.finds_its_rack else {}


def _escaped(value: str) -> str:
    """As java.util.Properties reads it back."""
    text = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return f"\\{text}" if text.startswith(" ") else text
