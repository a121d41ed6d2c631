"""Where a node looks for controllers first: those that its properties name."""

from barnabas_core.config.node_properties import NodeProperties
from barnabas_core.config.own_property import internal_port
from barnabas_core.ports.link import Address


def known_controllers(properties: NodeProperties) -> tuple[Address, ...]:
    """Their links: voters, then bootstrap servers."""
    named = [(host, port) for _, host, port in properties.quorum_voters]
    named += properties.bootstrap_servers
    return tuple(dict.fromkeys(Address(host, internal_port(port)) for host, port in named))
