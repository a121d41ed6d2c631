"""Which properties of a node go together: what Kafka checks before it starts, and our own.

Each rule raises `ConflictingValues`. The words follow Kafka's, so that a search for them helps.
"""

from collections.abc import Callable

from barnabas_core.config.error import ConfigError, ConflictingValues
from barnabas_core.config.listener import WILDCARD
from barnabas_core.config.node_properties import NodeProperties
from barnabas_core.config.own_property import TLS_PROPERTIES

_WHOLE_LISTS = (
    "listeners",
    "advertised.listeners",
    "controller.listener.names",
    "controller.quorum.voters",
    "controller.quorum.bootstrap.servers",
    "log.dirs",
    "log.dir",
)


def check_node(node: NodeProperties) -> None:
    """`ConfigError` with the first rule that the node breaks."""
    for rule in _RULES:
        rule(node)


def _require(holds: bool, reason: str) -> None:  # noqa: FBT001 - reads as the assertion it is
    if not holds:
        raise ConflictingValues(reason)


def _same_ids(node: NodeProperties) -> None:
    _require(
        node.values["broker.id"] == node.node_id,
        "You must set `node.id` to the same value as `broker.id`.",
    )


def _quorum_is_known(node: NodeProperties) -> None:
    _require(
        bool(node.quorum_voters or node.bootstrap_servers),
        "If using process.roles, either controller.quorum.bootstrap.servers must contain the set "
        "of bootstrap controllers or controller.quorum.voters must contain a parseable set of "
        "controllers.",
    )


def _voters_name_controllers(node: NodeProperties) -> None:
    ids = [voter[0] for voter in node.quorum_voters]
    shown = ",".join(map(str, sorted(ids)))
    _require(len(set(ids)) == len(ids), f"controller.quorum.voters names a node id twice: {shown}")
    if node.is_controller:
        _require(
            not ids or node.node_id in ids,
            f"If process.roles contains the 'controller' role, the node id {node.node_id} must be "
            f"included in the set of voters controller.quorum.voters={shown}",
        )
    else:
        _require(
            node.node_id not in ids,
            f"If process.roles contains just the 'broker' role, the node id {node.node_id} must "
            f"not be included in the set of voters controller.quorum.voters={shown}",
        )


def _controllers_are_listened_on(node: NodeProperties) -> None:
    if not node.is_controller:
        return
    listened = {listener.name for listener in node.listeners}
    _require(
        bool(node.advertised_controller_listeners),
        "controller.listener.names must contain at least one value appearing in the 'listeners' "
        "configuration when running the KRaft controller role",
    )
    _require(
        all(name in listened for name in node.controller_listener_names),
        "controller.listener.names must only contain values appearing in the 'listeners' "
        "configuration when running the KRaft controller role",
    )
    _require(
        node.is_broker or len(node.controller_listeners) == len(node.listeners),
        "The listeners config must only contain KRaft controller listeners from "
        "controller.listener.names when process.roles=controller",
    )


def _brokers_know_controllers(node: NodeProperties) -> None:
    if node.is_controller:
        return
    _require(
        bool(node.controller_listener_names),
        "controller.listener.names must contain at least one value when running KRaft with just "
        "the broker role",
    )
    _require(
        not node.controller_listeners,
        "controller.listener.names must not contain a value appearing in the 'listeners' "
        "configuration when running KRaft with just the broker role",
    )
    for name in node.controller_listener_names:
        _require(
            name.upper() in node.security_protocols,
            f"Controller listener with name {name.upper()} defined in controller.listener.names "
            "not found in listener.security.protocol.map",
        )


def _brokers_are_advertised(node: NodeProperties) -> None:
    if not node.is_broker:
        return
    advertised = [listener.name for listener in node.advertised_broker_listeners]
    listened = [listener.name for listener in node.listeners]
    _require(
        bool(advertised),
        "There must be at least one broker advertised listener. Perhaps all listeners appear in "
        "controller.listener.names?",
    )
    _require(
        node.inter_broker_listener_name in advertised,
        "inter.broker.listener.name must be a listener name defined in advertised.listeners. The "
        "valid options based on currently configured listeners are " + ",".join(advertised),
    )
    _require(
        set(advertised) <= set(listened),
        "advertised.listeners listener names must be equal to or a subset of the ones defined in "
        f"listeners. Found {','.join(advertised)}. The valid options based on the current "
        f"configuration are {','.join(listened)}",
    )


def _one_way_to_name_the_inter_broker_listener(node: NodeProperties) -> None:
    name = node.text("inter.broker.listener.name")
    _require(
        name is None or "security.inter.broker.protocol" not in node.raw,
        "Only one of inter.broker.listener.name and security.inter.broker.protocol should be set.",
    )
    _require(
        name is None or name.upper() in node.security_protocols,
        f"Listener with name {name} defined in inter.broker.listener.name not found in "
        "listener.security.protocol.map.",
    )


def _advertised_can_be_reached(node: NodeProperties) -> None:
    advertised = (*node.advertised_broker_listeners, *node.advertised_controller_listeners)
    _require(
        all(listener.host != WILDCARD for listener in advertised),
        f"advertised.listeners cannot use the nonroutable meta-address {WILDCARD}. Use a routable "
        "IP address.",
    )


def _early_listeners_exist(node: NodeProperties) -> None:
    known = {*(one.name for one in node.listeners), *node.controller_listener_names}
    for name in node.items("early.start.listeners"):
        _require(
            name in known,
            f"early.start.listeners contains listener {name}, but this is not contained in "
            "listeners or controller.listener.names",
        )


def _has_a_directory(node: NodeProperties) -> None:
    _require(
        bool(node.log_dirs), "At least one log directory must be defined via log.dirs or log.dir."
    )


def _lists_have_no_gaps(node: NodeProperties) -> None:
    for name in _WHOLE_LISTS:
        value = node.values[name]
        assert value is None or isinstance(value, tuple), name
        _require("" not in (value or ()), f"Configuration '{name}' values must not be empty.")


def _cordoned_directories_exist(node: NodeProperties) -> None:
    missing = [one for one in node.items("cordoned.log.dirs") if one not in ("*", *node.log_dirs)]
    _require(
        not missing,
        "All entries in cordoned.log.dirs must be present in log.dirs or log.dir. Missing "
        f"entries : {','.join(missing)}",
    )


def _times_fit(node: NodeProperties) -> None:
    roll_ms, retention_ms = node.values["log.roll.ms"], node.values["log.retention.ms"]
    _require(
        not isinstance(roll_ms, int) or roll_ms >= 1,
        "log.roll.ms must be greater than or equal to 1",
    )
    _require(
        retention_ms != 0,
        "log.retention.ms must be unlimited (-1) or, greater than or equal to 1",
    )
    delay_ms = node.number("connection.failed.authentication.delay.ms")
    idle_ms = node.number("connections.max.idle.ms")
    _require(
        idle_ms < 0 or delay_ms < idle_ms,
        f"connection.failed.authentication.delay.ms={delay_ms} should always be less than "
        f"connections.max.idle.ms={idle_ms} to prevent failed authentication responses from "
        "timing out",
    )


def _limits_fit(node: NodeProperties) -> None:
    number = node.number
    per_thread = number("log.cleaner.dedupe.buffer.size") // number("log.cleaner.threads")
    _require(
        per_thread > 1024 * 1024,
        "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.",
    )
    wait = number("replica.fetch.wait.max.ms")
    _require(
        wait <= number("replica.socket.timeout.ms"),
        "replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms to prevent "
        "unnecessary socket timeouts",
    )
    _require(
        wait <= number("replica.lag.time.max.ms"),
        "replica.fetch.wait.max.ms should always be less than or equal to replica.lag.time.max.ms "
        "to prevent frequent changes in ISR",
    )
    queued = number("queued.max.request.bytes")
    _require(
        queued <= 0 or queued >= number("socket.request.max.bytes"),
        "queued.max.request.bytes must be larger or equal to socket.request.max.bytes",
    )
    _require(
        number("max.connections.per.ip") != 0
        or bool(node.text("max.connections.per.ip.overrides")),
        "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides "
        "property is set.",
    )


def _classic_groups_are_served(node: NodeProperties) -> None:
    _require(
        "classic" in node.items("group.coordinator.rebalance.protocols"),
        "Disabling the 'classic' protocol is not supported.",
    )


def _internal_listener_is_our_own(node: NodeProperties) -> None:
    own = node.internal_listener
    taken = {one.port for one in node.listeners if one.port != 0}
    # Only what was set: the default must never keep Kafka's own file from working.
    _require(
        not node.has_internal_listener or own.port not in taken,
        f"internal.listener must have a port that no listener has, got {own.port}",
    )
    given = [name for name in TLS_PROPERTIES if node.values[name] is not None]
    _require(
        len(given) in (0, len(TLS_PROPERTIES)),
        f"expected all of {', '.join(TLS_PROPERTIES)} or none, got {', '.join(given)}",
    )


def _metrics_have_a_port_of_their_own(node: NodeProperties) -> None:
    address = node.metrics_address
    taken = {one.port for one in (*node.listeners, node.internal_listener)}
    _require(
        address is None or address[1] == 0 or address[1] not in taken,
        f"metrics.listener must have a port that no listener has, got {address and address[1]}",
    )


_RULES: tuple[Callable[[NodeProperties], None], ...] = (
    _same_ids,
    _lists_have_no_gaps,
    _has_a_directory,
    _cordoned_directories_exist,
    _times_fit,
    _limits_fit,
    _classic_groups_are_served,
    _quorum_is_known,
    _voters_name_controllers,
    _brokers_know_controllers,
    _controllers_are_listened_on,
    _one_way_to_name_the_inter_broker_listener,
    _brokers_are_advertised,
    _advertised_can_be_reached,
    _early_listeners_exist,
    _internal_listener_is_our_own,
    _metrics_have_a_port_of_their_own,
)


def check_internal_links(node: NodeProperties) -> None:
    """Links carry principals: where clients must prove who they are, processes must as well.

    For whoever starts such links; a node that is its own cluster has none.
    """
    secured = [one for one in node.listeners if one.security_protocol != "PLAINTEXT"]
    if secured and not node.has_internal_tls:
        raise ConfigError(
            f"listener {secured[0]} is {secured[0].security_protocol}, but the links between "
            f"nodes are not: expected {', '.join(TLS_PROPERTIES)}"
        )
