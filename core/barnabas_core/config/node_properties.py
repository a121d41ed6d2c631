"""What a node's properties mean: roles, listeners, quorum, directories."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from barnabas_core.config.error import ConfigError
from barnabas_core.config.listener import (
    WILDCARD,
    Listener,
    parse_address,
    parse_listeners,
    parse_security_protocols,
    parse_voter,
)
from barnabas_core.config.own_property import (
    COORDINATOR_MODE,
    INTERNAL_LISTENER,
    METRICS_LISTENER,
    REMOTE,
    TLS_PROPERTIES,
    internal_listener,
)
from barnabas_core.config.property_type import Value

BROKER = "broker"
CONTROLLER = "controller"


@dataclass(frozen=True)
class NodeProperties:
    """The configuration of one node. Reading a property of it may raise `ConfigError` until
    `check_node` has passed; `load_server_properties` hands out only what has.
    """

    values: Mapping[str, Value | None]
    """Every property of Kafka's broker and of our own, set or by default, typed."""
    raw: Mapping[str, str]
    """What was set, by file or environment, providers resolved, as text: passwords too."""
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        # Not the values: some are secret.
        return f"NodeProperties(node_id={self.values.get('node.id')}, {len(self.raw)} set)"

    def text(self, name: str) -> str | None:
        value = self.values[name]
        assert value is None or isinstance(value, str), name
        return value

    def number(self, name: str) -> int:
        value = self.values[name]
        assert isinstance(value, int), name
        return value

    def flag(self, name: str) -> bool:
        value = self.values[name]
        assert isinstance(value, bool), name
        return value

    def items(self, name: str) -> tuple[str, ...]:
        """The members of a list that say something."""
        value = self.values[name]
        assert value is None or isinstance(value, tuple), name
        return tuple(item for item in value or () if item)

    # --- who it is

    @property
    def node_id(self) -> int:
        return self.number("node.id")

    @property
    def process_roles(self) -> tuple[str, ...]:
        return self.items("process.roles")

    @property
    def is_broker(self) -> bool:
        return BROKER in self.process_roles

    @property
    def is_controller(self) -> bool:
        return CONTROLLER in self.process_roles

    # --- where it can be reached

    @cached_property
    def security_protocols(self) -> Mapping[str, str]:
        """Listener name to security protocol.

        Where the map is not set and nothing in use is secured, controller listeners are plain.
        """
        protocols = parse_security_protocols(self.text("listener.security.protocol.map") or "")
        if "listener.security.protocol.map" in self.raw:
            return protocols
        names = [entry.partition("://")[0] for entry in self.items("listeners")]
        if any(name in _SECURED for name in (*names, *self.controller_listener_names)):
            return protocols
        return protocols | dict.fromkeys(self.controller_listener_names, "PLAINTEXT")

    @property
    def controller_listener_names(self) -> tuple[str, ...]:
        return self.items("controller.listener.names")

    @cached_property
    def listeners(self) -> tuple[Listener, ...]:
        return parse_listeners(self.items("listeners"), self.security_protocols)

    @cached_property
    def advertised_listeners(self) -> tuple[Listener, ...]:
        """As configured; where they are not, what the node listens on."""
        if self.values["advertised.listeners"] is None:
            return self.listeners
        return parse_listeners(
            self.items("advertised.listeners"),
            self.security_protocols,
            name="advertised.listeners",
            distinct_ports=False,
        )

    @property
    def controller_listeners(self) -> tuple[Listener, ...]:
        names = self.controller_listener_names
        return tuple(listener for listener in self.listeners if listener.name in names)

    @property
    def broker_listeners(self) -> tuple[Listener, ...]:
        names = self.controller_listener_names
        return tuple(listener for listener in self.listeners if listener.name not in names)

    @property
    def advertised_broker_listeners(self) -> tuple[Listener, ...]:
        names = self.controller_listener_names
        return tuple(one for one in self.advertised_listeners if one.name not in names)

    @property
    def advertised_controller_listeners(self) -> tuple[Listener, ...]:
        """By the order of the names: as advertised, else as listened on.

        Where a node listens on every address, nothing says by which it can be reached: no host.
        """
        known = {
            one.name: one._replace(host="") if one.host == WILDCARD else one
            for one in self.controller_listeners
        }
        if self.values["advertised.listeners"] is not None:
            known |= {listener.name: listener for listener in self.advertised_listeners}
        return tuple(known[name] for name in self.controller_listener_names if name in known)

    @property
    def inter_broker_listener_name(self) -> str:
        name = self.text("inter.broker.listener.name")
        return (name or self.text("security.inter.broker.protocol") or "PLAINTEXT").upper()

    @property
    def has_internal_listener(self) -> bool:
        """It was set, and is not only the default."""
        return self.values[INTERNAL_LISTENER] is not None

    @property
    def has_internal_tls(self) -> bool:
        return self.values[TLS_PROPERTIES[0]] is not None

    @cached_property
    def internal_listener(self) -> Listener:
        """Where this node serves links from our own processes; not in `listeners`."""
        beside = (*self.controller_listeners, *self.listeners)
        if not beside:
            raise ConfigError("listeners: expected at least one listener")
        text = self.text(INTERNAL_LISTENER)
        return internal_listener(text, beside[0], has_tls=self.has_internal_tls)

    @cached_property
    def metrics_address(self) -> tuple[str, int] | None:
        """(host, port) where figures are given out; None: nowhere. No host: every address."""
        text = self.text(METRICS_LISTENER)
        return None if not text else parse_address(METRICS_LISTENER, text, may_be_any=True)

    @property
    def has_remote_coordinators(self) -> bool:
        """They are processes of their own, which register with the controllers."""
        return self.text(COORDINATOR_MODE) == REMOTE

    # --- the quorum

    @cached_property
    def quorum_voters(self) -> tuple[tuple[int, str, int], ...]:
        """(node id, host, port) of each static voter; empty where the log names them."""
        return tuple(parse_voter(entry) for entry in self.items("controller.quorum.voters"))

    @cached_property
    def bootstrap_servers(self) -> tuple[tuple[str, int], ...]:
        """(host, port) of controllers that know who leads."""
        name = "controller.quorum.bootstrap.servers"
        return tuple(parse_address(name, entry) for entry in self.items(name))

    # --- directories

    @property
    def log_dirs(self) -> tuple[str, ...]:
        """In the order in which they came first."""
        name = "log.dirs" if self.values["log.dirs"] is not None else "log.dir"
        return tuple(dict.fromkeys(self.items(name)))

    @property
    def metadata_log_dir(self) -> str:
        return self.text("metadata.log.dir") or self.log_dirs[0]


_SECURED = ("SSL", "SASL_SSL", "SASL_PLAINTEXT")
