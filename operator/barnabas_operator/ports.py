"""Links to the clusters, opened when they are first needed and closed when a cluster is gone."""

from collections.abc import Sequence

from barnabas_core.links.cluster_health import OPERATOR, ClusterHealthClient
from barnabas_core.links.grpc_links import GrpcLinks
from barnabas_core.ports import Clock
from barnabas_core.ports.link import Address, Identity
from barnabas_core.runtime.log_setup import EventLog
from barnabas_operator.api.listener import CONTROLLER_PORT, LINK_PORT
from barnabas_operator.health.gateway import Gateway
from barnabas_operator.health.topic_admin import TopicAdmin
from barnabas_operator.specs.blueprint import Blueprint
from barnabas_operator.specs.names import bootstrap_service, pod_host, service_host

_CONTROLLER = "CONTROLLER"
_NO_NODE = -1


class ClusterPorts:
    def __init__(self, clock: Clock, log: EventLog) -> None:
        self._clock = clock
        self._log = log
        self._open: dict[str, tuple[Blueprint, Gateway]] = {}

    def of(self, cluster: Blueprint) -> Gateway:
        """Of this very cluster: one that was made anew under its name has another uid."""
        known = self._open.get(cluster.uid)
        gateway = self._make(cluster) if known is None else known[1]
        self._open[cluster.uid] = cluster, gateway
        return gateway

    async def close(self, namespace: str, name: str) -> None:
        for uid, (cluster, gateway) in list(self._open.items()):
            if (cluster.namespace, cluster.name) == (namespace, name):
                del self._open[uid]
                await gateway.close()

    async def close_all(self) -> None:
        for _, gateway in list(self._open.values()):
            await gateway.close()
        self._open.clear()

    def _make(self, cluster: Blueprint) -> Gateway:
        links = GrpcLinks(Identity(cluster.cluster_id, _NO_NODE, OPERATOR), self._clock, self._log)
        client = ClusterHealthClient(links, controller_addresses(cluster), self._clock)
        return Gateway(
            client,
            cluster.cluster_id,
            lambda node_id: Address(node_host(self._latest(cluster), node_id), LINK_PORT),
            lambda node_id: voter_endpoints(self._latest(cluster), node_id),
            TopicAdmin(lambda: internal_bootstrap(self._latest(cluster))),
        )

    def _latest(self, cluster: Blueprint) -> Blueprint:
        """Pools come while the links are open."""
        known = self._open.get(cluster.uid)
        return cluster if known is None else known[0]


def controller_addresses(cluster: Blueprint) -> list[Address]:
    """Those that started the quorum, and whoever the spec has besides: any of them will tell."""
    wanted = [node_id for one in cluster.node_sets if one.is_controller for node_id in one.node_ids]
    ids = dict.fromkeys([*cluster.initial_controllers, *wanted])
    return [Address(node_host(cluster, one), LINK_PORT) for one in ids]


def voter_endpoints(cluster: Blueprint, node_id: int) -> Sequence[tuple[str, Address]]:
    return ((_CONTROLLER, Address(node_host(cluster, node_id), CONTROLLER_PORT)),)


def node_host(cluster: Blueprint, node_id: int) -> str:
    pool = _set_of(cluster, node_id)
    return pod_host(cluster.namespace, cluster.name, pool, node_id)


def _set_of(cluster: Blueprint, node_id: int) -> str:
    """The pool with the highest first id that is not above it."""
    below = {name: first for name, first in cluster.first_node_ids.items() if first <= node_id}
    return max(below, key=lambda name: below[name])


def internal_bootstrap(cluster: Blueprint) -> str:
    listener = next(one for one in cluster.spec.listeners if not one.is_external)
    name = bootstrap_service(cluster.name, listener.name)
    return f"{service_host(cluster.namespace, name)}:{listener.port}"
