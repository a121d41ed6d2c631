"""By which names others reach a node: its listeners for clients, and its links."""

from collections.abc import Callable

from barnabas_core.config.listener import WILDCARD, Listener
from barnabas_core.config.node_properties import NodeProperties

_EVERY_ADDRESS = ("", WILDCARD, "::")


def advertised_listeners(
    properties: NodeProperties, host_name: Callable[[], str]
) -> tuple[Listener, ...]:
    """`host_name`: what others call this machine, asked only where no property says it: that may
    take a while, where names are not served well."""
    listeners = properties.advertised_broker_listeners
    if all(one.host for one in listeners):
        return listeners
    told = host_name()
    return tuple(one if one.host else one._replace(host=told) for one in listeners)


def internal_host(properties: NodeProperties, advertised: tuple[Listener, ...]) -> str:
    """What listens on every address is reached as the node itself is."""
    host = properties.internal_listener.host
    if host not in _EVERY_ADDRESS:
        return host
    by_name = {one.name: one for one in advertised}
    return by_name[properties.inter_broker_listener_name].host
