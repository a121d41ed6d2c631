"""What clients are given to begin with, for each listener."""

from barnabas_operator.api.listener import ListenerSpec, ListenerType
from barnabas_operator.kube.paths import path_of
from barnabas_operator.reconcile.children import Children
from barnabas_operator.reconcile.surroundings import host_address, service_address
from barnabas_operator.specs.blueprint import Blueprint
from barnabas_operator.specs.names import bootstrap_service, service_host

_HOSTS_MAX = 3


def bootstrap_servers(cluster: Blueprint, listener: ListenerSpec, children: Children) -> str:
    """Empty as long as it is not known."""
    name = bootstrap_service(cluster.name, listener.name)
    if listener.type is ListenerType.INTERNAL:
        return f"{service_host(cluster.namespace, name)}:{listener.port}"
    address = service_address(children.present.get(path_of("Service", cluster.namespace, name)))
    if address is None:
        return ""
    if listener.type is ListenerType.LOAD_BALANCER:
        return str(address)
    hosts = [host_address(one) for _, one in sorted(children.hosts.items())]
    known = [one for one in hosts if one is not None][:_HOSTS_MAX]
    return ",".join(f"{one}:{address.port}" for one in known)
