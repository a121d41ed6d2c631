"""`config` of a resource: Kafka's names and values, checked against Kafka's own tables.

What a broker would refuse at its start is refused here, before anything is restarted.
"""

from collections.abc import Mapping

from barnabas_core.config.definition import Kind, definition
from barnabas_core.config.error import ConfigError
from barnabas_core.config.own_property import own_properties
from barnabas_operator.api.facts import ConfigValue
from barnabas_operator.api.owned_keys import refusal
from barnabas_operator.api.parsing import InvalidResource


def cluster_config(
    config: Mapping[str, ConfigValue], path: str = "spec.config"
) -> dict[str, str | None]:
    """Of a `KafkaCluster`, as text; None is to be left alone. `InvalidResource` names the field."""
    for name in config:
        instead = refusal(name)
        if instead is not None and config[name] is not None:
            raise InvalidResource(f"{path}[{name}]", instead)
    return _checked(Kind.BROKER, config, path)


def topic_config(
    config: Mapping[str, ConfigValue], path: str = "spec.config"
) -> dict[str, str | None]:
    """Of a `KafkaTopic`, likewise."""
    return _checked(Kind.TOPIC, config, path)


def _checked(kind: Kind, config: Mapping[str, ConfigValue], path: str) -> dict[str, str | None]:
    texts = {name: _text(value) for name, value in config.items()}
    for name, text in texts.items():
        try:
            prop = own_properties().get(name) or definition(_kind_of(kind, name), name)
            if text is not None:
                prop.parse(text)
        except ConfigError as error:
            raise InvalidResource(f"{path}[{name}]", str(error)) from error
    return texts


def _kind_of(kind: Kind, name: str) -> Kind:
    """Throttles and the like are in a table of their own."""
    if kind is not Kind.BROKER:
        return kind
    try:
        definition(Kind.BROKER_DYNAMIC_ONLY, name)
    except ConfigError:
        return kind
    return Kind.BROKER_DYNAMIC_ONLY


def _text(value: ConfigValue) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if value is None else str(value)
