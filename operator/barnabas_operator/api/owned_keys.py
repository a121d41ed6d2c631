"""Names in `config` that are the operator's, and what to write instead.

Kafka's names are the users' to set, but for those by which the nodes of a cluster find each other
and themselves: two sources of these would be one too many.
"""

from collections.abc import Mapping
from typing import Final

_LISTENERS: Final = "set spec.listeners"
_IDENTITY: Final = "it follows from the pool, see status.pools"
_QUORUM: Final = "set spec.controllers"
_STORAGE: Final = "set the pool's storage"
_COORDINATORS: Final = "set spec.coordinators"
_LINKS: Final = "links between nodes are the operator's"

CLUSTER_KEYS: Final[Mapping[str, str]] = {
    "advertised.listeners": _LISTENERS,
    "broker.id": _IDENTITY,
    "broker.rack": "set spec.rack, or the pool's rack",
    "controller.listener.names": _QUORUM,
    "controller.quorum.bootstrap.servers": _QUORUM,
    "controller.quorum.voters": _QUORUM,
    "coordinator.mode": _COORDINATORS,
    "inter.broker.listener.name": _LISTENERS,
    "internal.listener": _LINKS,
    "internal.tls.ca": _LINKS,
    "internal.tls.certificate": _LINKS,
    "internal.tls.key": _LINKS,
    "listener.security.protocol.map": _LISTENERS,
    "listeners": _LISTENERS,
    "log.dir": _STORAGE,
    "log.dirs": _STORAGE,
    "metadata.log.dir": _STORAGE,
    "metrics.listener": "set spec.metrics",
    "node.id": _IDENTITY,
    "process.roles": "set the pool's roles",
    "security.inter.broker.protocol": _LISTENERS,
}
"""Of a `KafkaCluster`."""


def refusal(name: str) -> str | None:
    """Why the users of a cluster may not set a property; None where they may."""
    instead = CLUSTER_KEYS.get(name)
    return None if instead is None else f"{name} is set by the operator: {instead}"
