"""Links to the clusters, opened when they are first needed and closed when a cluster is gone."""

from collections.abc import Sequence
from dataclasses import dataclass

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


@dataclass(slots=True)
class _Open:
    cluster: Blueprint
    """As it was last seen: pools and controllers come and go while the links are open."""
    gateway: Gateway


class ClusterPorts:
    def __init__(self, clock: Clock, log: EventLog) -> None:
        self._clock = clock
        self._log = log
        self._open: dict[tuple[str, str], _Open] = {}
        """By namespace and name."""
        self._given_up: list[Gateway] = []
        """To be closed, of clusters that are gone: `of` does not wait for that."""

    def of(self, cluster: Blueprint) -> Gateway:
        """Of this very cluster: one that was made anew under its name has another uid."""
        key = cluster.namespace, cluster.name
        known = self._open.get(key)
        if known is not None and known.cluster.uid != cluster.uid:
            self._given_up.append(known.gateway)
            known = None
        if known is None:
            known = self._open[key] = self._make(cluster)
        known.cluster = cluster
        known.gateway.know(controller_addresses(cluster))
        return known.gateway

    async def close(self, namespace: str, name: str) -> None:
        """There is no such cluster any more."""
        known = self._open.pop((namespace, name), None)
        if known is not None:
            self._given_up.append(known.gateway)
        await self._close_given_up()

    async def close_all(self) -> None:
        self._given_up += [one.gateway for one in self._open.values()]
        self._open.clear()
        await self._close_given_up()

    async def _close_given_up(self) -> None:
        while self._given_up:
            await self._given_up.pop().close()

    def _make(self, cluster: Blueprint) -> _Open:
        links = GrpcLinks(Identity(cluster.cluster_id, _NO_NODE, OPERATOR), self._clock, self._log)
        client = ClusterHealthClient(links, controller_addresses(cluster), self._clock)
        gateway = Gateway(
            client,
            cluster.cluster_id,
            lambda node_id: Address(node_host(made.cluster, node_id), LINK_PORT),
            lambda node_id: voter_endpoints(made.cluster, node_id),
            TopicAdmin(lambda: internal_bootstrap(made.cluster)),
        )
        made = _Open(cluster, gateway)
        return made


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
