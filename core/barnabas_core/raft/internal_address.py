"""Where the links of a node are, as its endpoints tell.

Kafka's own tools write only the CONTROLLER endpoint of a voter; ours add one called INTERNAL. Where
there is none, links are a fixed distance above the port of the first endpoint.
"""

from barnabas_core.ports.link import Address
from barnabas_core.raft.identity import Endpoint

INTERNAL_LISTENER = "INTERNAL"
INTERNAL_PORT_OFFSET = 1000
_PORT_MAX = 65535


def internal_address(
    endpoints: tuple[Endpoint, ...], port_offset: int = INTERNAL_PORT_OFFSET
) -> Address | None:
    """None if there is no endpoint at all."""
    for endpoint in endpoints:
        if endpoint.listener == INTERNAL_LISTENER:
            return Address(endpoint.host, endpoint.port)
    if not endpoints:
        return None
    return Address(endpoints[0].host, shifted(endpoints[0].port, port_offset))


def shifted(port: int, offset: int) -> int:
    """As `internal.listener` has it by default: below where there is no room above."""
    return port + offset if port + offset <= _PORT_MAX else port - offset
