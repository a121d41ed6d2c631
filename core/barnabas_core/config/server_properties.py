"""A node's `server.properties`: file, then environment, then providers, then checked as a whole.

A name that is neither Kafka's nor ours is refused with the nearest one that is: a property that is
silently ignored is found in production. A variable of the environment that names no property is
only reported, since Kubernetes sets such by itself (`KAFKA_SERVICE_HOST`, for a Service `kafka`).
"""

import re
from collections.abc import Mapping
from functools import lru_cache

from barnabas_core.config.definition import Kind, Property, definitions, parse_properties
from barnabas_core.config.environment_override import (
    default_listeners,
    environment_properties,
    variable_of,
)
from barnabas_core.config.error import ConfigError, MissingProperty, RefusedProperty
from barnabas_core.config.node_properties import NodeProperties
from barnabas_core.config.node_rule import check_node
from barnabas_core.config.own_property import own_properties
from barnabas_core.config.properties import parse_properties_text, property_lines
from barnabas_core.config.property_type import Value
from barnabas_core.config.provider import Read, World, resolve_variables
from barnabas_core.config.standing import check_served, later_warnings

__all__ = [
    "InvalidServerProperties",
    "NodeProperties",
    "check_properties",
    "load_server_properties",
    "node_properties",
]

_REQUIRED = ("process.roles", "node.id", "controller.listener.names")

_PLUGIN_PREFIXES = (
    "config.providers.",
    "listener.name.",
    "metric.",
    "metrics.",
    "kafka.metrics.",
    "kafka.csv.metrics.",
    "client.quota.callback.",
    "authorizer.",
    "principal.builder.",
)
"""What plug-ins read, whose names no table has."""

_AUTHORIZER = frozenset({"super.users", "allow.everyone.if.no.acl.found"})
"""Properties of Kafka's own authorizer, which its table of broker properties leaves out."""

_RETIRED = frozenset(
    {
        "broker.id.generation.enable",
        "control.plane.listener.name",
        "inter.broker.protocol.version",
        "log.message.format.version",
        "log.message.timestamp.difference.max.ms",
        "log.message.downconversion.enable",
        "reserved.broker.max.id",
        "group.coordinator.new.enable",
        "log.cleaner.enable",
        "auto.include.jmx.reporter",
    }
)
"""Gone since Kafka 4.0, where files that are older still set them."""
_RETIRED_PREFIXES = ("zookeeper.", "password.encoder.")
_LISTENER_PREFIX = re.compile(r"listener\.name\.[^.]+\.(.+)")


class InvalidServerProperties(ConfigError):
    """The file, the line where it can be told, and the one thing in it that must change."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason

    @classmethod
    def of(
        cls, path: str, text: str, environment: Mapping[str, str], error: ConfigError
    ) -> "InvalidServerProperties":
        """With the place where the property is set that is wrong."""
        name = getattr(error, "name", None)
        if name is None:
            return cls(path, str(error))
        variable = variable_of(name, environment)
        line = property_lines(text).get(name)
        if variable is not None:
            return cls(path, f"environment variable {variable}: {error}")
        return cls(path, str(error) if line is None else f"line {line}: {error}")


def load_server_properties(
    path: str, environment: Mapping[str, str], read: Read, *, to_serve: bool = False
) -> NodeProperties:
    """The node's configuration, whole and checked; `InvalidServerProperties` otherwise.

    `read` is the disk port's: the file itself, and what its providers point to. `to_serve`: refused
    as well is what this node would ignore at somebody's peril.
    """
    data = read(path)
    if data is None:
        raise InvalidServerProperties(path, "no such file")
    text = data.decode("latin-1")  # as Java does; whatever else was meant is escaped
    try:
        node = node_properties(parse_properties_text(text), environment, read)
        if to_serve:
            check_served(node)
    except ConfigError as error:
        raise InvalidServerProperties.of(path, text, environment, error) from error
    return node


def node_properties(
    in_file: Mapping[str, str], environment: Mapping[str, str], read: Read
) -> NodeProperties:
    """The same from properties that are at hand; `ConfigError` if something is wrong."""
    overrides, warnings = _known_overrides(environment, in_file)
    given = dict(in_file) | overrides
    _fill_in(given, overrides)
    resolved = resolve_variables(given, World(environment, read))
    retired = [name for name in resolved if _is_retired(name)]
    warnings += [f"{name} is no longer a property and has no effect" for name in retired]
    raw = {name: value for name, value in resolved.items() if name not in retired}
    _check_names(raw)
    warnings += later_warnings(raw)
    node = NodeProperties(_typed(raw), raw, tuple(warnings))
    check_node(node)
    return node


def check_properties(properties: Mapping[str, str]) -> None:
    """`ConfigError` if one is unknown or of the wrong type: where there is no file, nor a node."""
    _check_names(properties)
    table = _all_properties()
    for name, text in properties.items():
        if name in table:
            table[name].parse(text)
    _check_listener_properties(properties)


def _check_names(properties: Mapping[str, str]) -> None:
    for name in properties:
        if not is_known(name, properties):
            raise RefusedProperty(name, f"unknown property {name}{_suggestion(name)}")


def is_known(name: str, properties: Mapping[str, str]) -> bool:
    """It means something to Kafka, to us, or to a plug-in that the properties may name."""
    if name in _all_properties() or name in _AUTHORIZER:
        return True
    prefixes = (*_PLUGIN_PREFIXES, *_remote_prefixes(properties))
    return name.startswith(prefixes)


def _remote_prefixes(properties: Mapping[str, str]) -> list[str]:
    """Of the plug-ins for tiered storage, which may choose theirs."""
    names = ("remote.log.storage.manager.impl.prefix", "remote.log.metadata.manager.impl.prefix")
    table = definitions(Kind.BROKER)
    chosen = (properties.get(name) or table[name].default_text for name in names)
    return [prefix for prefix in chosen if prefix]


def _is_retired(name: str) -> bool:
    if name in definitions(Kind.BROKER):
        return False
    return name in _RETIRED or name.startswith(_RETIRED_PREFIXES)


def _known_overrides(
    environment: Mapping[str, str], in_file: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """What the environment sets, and a warning for each variable that sets nothing."""
    overrides = environment_properties(environment)
    together = dict(in_file) | overrides
    unknown = [name for name in overrides if not is_known(name, together) and not _is_retired(name)]
    warnings = [f"the environment sets {name}, which is no property" for name in unknown]
    return {name: text for name, text in overrides.items() if name not in unknown}, warnings


def _fill_in(given: dict[str, str], overrides: Mapping[str, str]) -> None:
    """What follows from other properties before anything is parsed."""
    if "node.id" not in given and "broker.id" in given:
        given["node.id"] = given["broker.id"]
    advertised = overrides.get("advertised.listeners")
    if advertised and "listeners" not in given and given.get("process.roles") != "controller":
        given["listeners"] = default_listeners(advertised)


def _typed(raw: Mapping[str, str]) -> dict[str, Value | None]:
    for name in _REQUIRED:
        if name not in raw:
            raise MissingProperty(name)
    values = parse_properties(Kind.BROKER, raw)
    if "broker.id" not in raw:
        values["broker.id"] = values["node.id"]
    for name, prop in own_properties().items():
        values[name] = prop.parse(raw[name]) if name in raw else prop.default
    _check_listener_properties(raw)
    return values


def _check_listener_properties(raw: Mapping[str, str]) -> None:
    """`listener.name.<x>.<property>` has the type of the property."""
    table = definitions(Kind.BROKER)
    for name, text in raw.items():
        match = _LISTENER_PREFIX.fullmatch(name)
        prop = table.get(match[1]) if match else None
        if prop is not None:
            try:
                prop.parse(text)
            except ConfigError as error:
                raise RefusedProperty(name, f"{name}: {error}") from error


@lru_cache
def _all_properties() -> Mapping[str, Property]:
    kinds = (Kind.BROKER, Kind.BROKER_DYNAMIC_ONLY)
    kafka = {name: prop for kind in kinds for name, prop in definitions(kind).items()}
    return kafka | dict(own_properties())


def _suggestion(name: str) -> str:
    import difflib  # noqa: PLC0415 - only a mistake needs it

    nearest = difflib.get_close_matches(name, _all_properties(), n=1, cutoff=0.75)
    return f"; did you mean {nearest[0]}?" if nearest else ""
