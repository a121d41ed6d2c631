"""The listeners of a cluster: where its clients connect, from within and from outside."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from barnabas_operator.api.facts import Facts, FreeObject, Rule, described

CONTROLLER_PORT = 9093
LINK_PORT = 10093
METRICS_PORT = 9404
RESERVED_NAMES = ("controller", "internal", "metrics")
_RESERVED_PORTS = (CONTROLLER_PORT, LINK_PORT, METRICS_PORT)


class ListenerType(StrEnum):
    INTERNAL = "internal"
    NODE_PORT = "nodeport"
    LOAD_BALANCER = "loadbalancer"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvertisedAddress:
    """What clients are told of one broker, where it is not what Kubernetes says."""

    node_id: int = described("The broker.", minimum=0)
    host: str | None = described("Name or address.", default=None, length_max=253)
    port: int | None = described("Port.", default=None, minimum=1, maximum=65535)
    node_port: int | None = described(
        "The port to open on the nodes (nodeport); without it Kubernetes picks one.",
        default=None,
        minimum=1,
        maximum=65535,
    )

    RULES = (
        Rule(
            "has(self.host) || has(self.port) || has(self.nodePort)",
            "an advertised address has a host, a port or a nodePort",
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerSpec:
    """One listener of every broker."""

    name: str = described(
        "Kafka's name of it, in small letters.",
        pattern=r"^[a-z][a-z0-9]{0,11}$",
        length_max=12,
        rules=(
            Rule(
                f"!(self in {list(RESERVED_NAMES)})",
                "a listener cannot be called controller, internal or metrics: other ports are",
            ),
        ),
    )
    port: int = described(
        "The port in the pods.",
        minimum=1024,
        maximum=65535,
        rules=(
            Rule(
                f"!(self in {list(_RESERVED_PORTS)})",
                "ports 9093, 10093 and 9404 are the cluster's own (controllers, links, metrics)",
            ),
        ),
    )
    type: ListenerType = described(
        "`internal`: within Kubernetes; `nodeport`: a port of the nodes for each broker;"
        " `loadbalancer`: a load balancer for each broker."
    )
    advertised: tuple[AdvertisedAddress, ...] = described(
        "What clients are told of single brokers, where it is not what Kubernetes says.",
        default=(),
        items_max=500,
        key="nodeId",
    )
    annotations: Mapping[str, str] = described(
        "Of the Services, for the provider of load balancers.",
        default={},
        items_max=32,
        item=Facts("", length_max=4096),
    )
    source_ranges: tuple[str, ...] = described(
        "Networks from which a load balancer takes connections; without it from everywhere.",
        default=(),
        items_max=64,
        item=Facts("", length_max=43),
    )
    tls: FreeObject | None = described(
        "Refused: listeners are plain text until TLS is built.", default=None
    )
    authentication: FreeObject | None = described(
        "Refused: nobody is authenticated until SASL is built.", default=None
    )

    RULES = (
        Rule(
            "!has(self.tls)",
            "tls is refused: TLS is not built yet, and a listener that should"
            " be secured is not opened in the clear",
        ),
        Rule(
            "!has(self.authentication)",
            "authentication is refused: it is not built yet, and a"
            " listener that should be closed is not opened",
        ),
        Rule(
            "self.type != 'internal' || (!has(self.advertised) && !has(self.annotations))",
            "advertised and annotations are for listeners of type nodeport and loadbalancer",
        ),
        Rule(
            "self.type == 'loadbalancer' || !has(self.sourceRanges)",
            "sourceRanges are for listeners of type loadbalancer",
        ),
        Rule(
            "self.type == 'nodeport' || !has(self.advertised)"
            " || !self.advertised.exists(one, has(one.nodePort))",
            "nodePort is for listeners of type nodeport",
        ),
    )

    @property
    def kafka_name(self) -> str:
        return self.name.upper()

    @property
    def is_external(self) -> bool:
        return self.type is not ListenerType.INTERNAL


LISTENER_RULES = (
    Rule(
        "self.all(one, self.filter(other, other.port == one.port).size() == 1)",
        "every listener has a port of its own",
    ),
    Rule(
        "self.exists(one, one.type == 'internal')",
        "one listener at least is internal: brokers and the operator use it",
    ),
)

DEFAULT_LISTENERS = (ListenerSpec(name="plain", port=9092, type=ListenerType.INTERNAL),)
