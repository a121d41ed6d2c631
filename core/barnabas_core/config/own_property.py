"""Properties that are not Kafka's: how the processes of one cluster reach each other, and more.

`internal.listener` is `host:port`, where this node serves the links between our own processes. It
is never part of `listeners`. Where it is not set, it is the node's controller listener (or, on a
plain broker, its first listener) with the port moved by 1000, so that others can tell it from what
Kafka's files say of a voter.

`coordinator.mode` says where coordinators run: `local`, in the broker's own process, or `remote`,
as processes that register with the controllers.

`metrics.listener` is `host:port`, where this process gives its figures to Prometheus and says
whether it is well; not set: nowhere. `metrics.group.partitions.max` bounds how many groups, and how
many of their committed offsets, a coordinator tells of one by one; 0: of none.
"""

import csv
import pkgutil
from collections.abc import Mapping
from functools import lru_cache

from barnabas_core.config.definition import Property
from barnabas_core.config.listener import PORT_MAX, Listener, parse_address

INTERNAL_LISTENER = "internal.listener"
INTERNAL_NAME = "INTERNAL"
METRICS_LISTENER = "metrics.listener"
GROUP_SERIES = "metrics.group.partitions.max"
COORDINATOR_MODE = "coordinator.mode"
REMOTE = "remote"
TLS_PROPERTIES = ("internal.tls.certificate", "internal.tls.key", "internal.tls.ca")
_PORT_STEP = 1000


@lru_cache
def own_properties() -> Mapping[str, Property]:
    """All of them by name, in the order of the table (alphabetical)."""
    data = pkgutil.get_data(__package__, "table/barnabas.csv")
    assert data is not None
    rows = csv.DictReader(data.decode().splitlines())
    return {row["name"]: Property(row) for row in rows}


def group_series_max(properties: Mapping[str, str]) -> int:
    """`ConfigError` if it is no such number."""
    prop = own_properties()[GROUP_SERIES]
    text = properties.get(GROUP_SERIES)
    return int(str(prop.default if text is None else prop.parse(text)))


def internal_port(port: int) -> int:
    """The port of the internal listener beside a listener of Kafka's; of a free one, free too."""
    if port == 0:
        return 0
    return port + _PORT_STEP if port + _PORT_STEP <= PORT_MAX else port - _PORT_STEP


def internal_listener(text: str | None, beside: Listener, *, has_tls: bool) -> Listener:
    """The listener that `internal.listener` names, or the one that follows from `beside`."""
    protocol = "SSL" if has_tls else "PLAINTEXT"
    if text is None:
        return Listener(INTERNAL_NAME, beside.host, internal_port(beside.port), protocol)
    host, port = parse_address(INTERNAL_LISTENER, text, may_be_any=True)
    return Listener(INTERNAL_NAME, host, port, protocol)
