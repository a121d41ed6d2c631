"""Properties from the environment, as Kafka's container image takes them.

`KAFKA_NODE_ID` sets `node.id`: the prefix goes, capitals become small, `_` becomes a dot, `__` an
underscore and `___` a dash. What the environment says wins over the file. Its values are read as
they would be in the file, escapes included.
"""

import re
from collections.abc import Mapping

from barnabas_core.config.error import ConfigError
from barnabas_core.config.properties import parse_properties_text

PREFIX = "KAFKA_"

NOT_PROPERTIES = frozenset(
    {
        "KAFKA_VERSION",
        "KAFKA_HEAP_OPTS",
        "KAFKA_LOG4J_OPTS",
        "KAFKA_OPTS",
        "KAFKA_JMX_OPTS",
        "KAFKA_JMX_PORT",
        "KAFKA_JVM_PERFORMANCE_OPTS",
        "KAFKA_GC_LOG_OPTS",
        "KAFKA_LOG4J_ROOT_LOGLEVEL",
        "KAFKA_LOG4J_LOGGERS",
        "KAFKA_TOOLS_LOG4J_LOGLEVEL",
        "KAFKA_JMX_HOSTNAME",
    }
)
"""Variables that are about the image's Java process."""

_IMAGE_PREFIXES = ("KAFKA_LOG4J_", "KAFKA_JMX_", "KAFKA_TOOLS_LOG4J_")


def property_name(variable: str) -> str:
    """The property that a variable sets."""
    name = variable.replace(PREFIX, "").lower().replace("_", ".")
    return name.replace("...", "-").replace("..", "_")


def environment_properties(environment: Mapping[str, str]) -> dict[str, str]:
    """Property to value, for all variables that set one, by the name of the variable."""
    properties = {}
    for variable in sorted(environment):
        if not variable.startswith(PREFIX) or _is_of_the_image(variable):
            continue
        name = property_name(variable)
        if name:
            properties[name] = _value(variable, environment[variable])
    _drop_empty_advertised(properties)
    return properties


def variable_of(name: str, environment: Mapping[str, str]) -> str | None:
    """The variable that sets a property, if one does: the last by name, as it wins."""
    setting = [
        variable
        for variable in sorted(environment)
        if variable.startswith(PREFIX)
        and not _is_of_the_image(variable)
        and property_name(variable) == name
    ]
    return setting[-1] if setting else None


def default_listeners(advertised_listeners: str) -> str:
    """What the image listens on where only the advertised listeners are given: all addresses."""
    return re.sub(r"://[^:]*:", "://0.0.0.0:", advertised_listeners)


def _is_of_the_image(variable: str) -> bool:
    return variable in NOT_PROPERTIES or variable.startswith(_IMAGE_PREFIXES)


def _value(variable: str, text: str) -> str:
    properties = parse_properties_text(f"value={text}")
    if list(properties) != ["value"]:
        raise ConfigError(f"environment variable {variable}: expected one line")
    return properties["value"]


def _drop_empty_advertised(properties: dict[str, str]) -> None:
    """The image takes an empty one for none where the node is a controller alone."""
    is_controller = properties.get("process.roles") == "controller"
    if is_controller and properties.get("advertised.listeners") == "":
        del properties["advertised.listeners"]
