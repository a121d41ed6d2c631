"""By which names others reach a node: its listeners for clients, and its links."""

from collections.abc import Callable

from barnabas_core.config.listener import EVERY_ADDRESS, Listener
from barnabas_core.config.node_properties import NodeProperties


def advertised_listeners(
    properties: NodeProperties, host_name: Callable[[], str]
) -> tuple[Listener, ...]:
    """`host_name`: what others call this machine, asked only where no property says it: that may
    take a while, where names are not served well."""
    return _reachable(properties.advertised_broker_listeners, host_name)


def advertised_controllers(
    properties: NodeProperties, host_name: Callable[[], str]
) -> tuple[Listener, ...]:
    """The same for the listeners of a controller: what its voters record tells the others."""
    return _reachable(properties.advertised_controller_listeners, host_name)


def _reachable(
    listeners: tuple[Listener, ...], host_name: Callable[[], str]
) -> tuple[Listener, ...]:
    if all(one.host for one in listeners):
        return listeners
    told = host_name()
    return tuple(one if one.host else one._replace(host=told) for one in listeners)


def internal_host(properties: NodeProperties, advertised: tuple[Listener, ...]) -> str:
    """What listens on every address is reached as the node itself is: by brokers, if it is one."""
    host = properties.internal_listener.host
    if host not in EVERY_ADDRESS:
        return host
    by_name = {one.name: one for one in advertised}
    return by_name.get(properties.inter_broker_listener_name, advertised[0]).host
