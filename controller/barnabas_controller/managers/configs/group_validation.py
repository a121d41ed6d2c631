"""Configs of a group, which lie between bounds that the brokers' properties give."""

from collections.abc import Mapping
from typing import Final

from barnabas_core.config.definition import Kind, Property, definition, definitions
from barnabas_core.config.error import ConfigError
from barnabas_core.config.property_type import Value

_KINDS: Final = ("consumer", "share", "streams")
_OTHER_NAMES: Final = {
    "group.streams.max.num.standby.replicas": "group.streams.max.standby.replicas"
}


def validate_group_config(
    configs: Mapping[str, str], node_properties: Mapping[str, str]
) -> str | None:
    """None if a group may have exactly these configs, else what is wrong (INVALID_CONFIG)."""
    try:
        for name in configs:
            definition(Kind.GROUP, name)
        values = {
            name: prop.parse(configs[name]) if name in configs else _default(prop, node_properties)
            for name, prop in definitions(Kind.GROUP).items()
        }
        return _out_of_bounds(values, node_properties) or _session_too_short(values)
    except ConfigError as error:
        return str(error)


def _default(prop: Property, node_properties: Mapping[str, str]) -> Value | None:
    for synonym in prop.broker_synonyms:
        if synonym in node_properties:
            return definition(Kind.BROKER, synonym).parse(node_properties[synonym])
    return prop.default


def _out_of_bounds(
    values: Mapping[str, Value | None], node_properties: Mapping[str, str]
) -> str | None:
    for name, value in values.items():
        kind, _, rest = name.partition(".")
        least_name, most_name = (f"group.{kind}.{end}.{rest}" for end in ("min", "max"))
        least = _bound(least_name, node_properties)
        most = _bound(_OTHER_NAMES.get(most_name, most_name), node_properties)
        if least is not None and _number(value) < least:
            return f"{name} must be greater than or equal to {least_name}"
        if most is not None and _number(value) > most:
            shown = _OTHER_NAMES.get(most_name, most_name)
            return f"{name} must be less than or equal to {shown}"
    return None


def _bound(name: str, node_properties: Mapping[str, str]) -> int | None:
    prop = definitions(Kind.BROKER).get(name)
    if prop is None:
        return None
    return _number(prop.parse(node_properties[name]) if name in node_properties else prop.default)


def _session_too_short(values: Mapping[str, Value | None]) -> str | None:
    for kind in _KINDS:
        session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        if _number(values[session]) <= _number(values[heartbeat]):
            return f"{session} must be greater than {heartbeat}"
    return None


def _number(value: Value | None) -> int:
    assert isinstance(value, int), value
    return value
