"""Names of broker properties as they occur: plain, or with the prefix of a listener.

`listener.name.external.ssl.keystore.location` is `ssl.keystore.location` for one listener, and
`listener.name.external.scram-sha-256.sasl.jaas.config` is `sasl.jaas.config` for one mechanism of
one.
"""

import re
from typing import Final

from barnabas_core.config.definition import Kind, Property, definitions
from barnabas_core.config.own_property import own_properties
from barnabas_core.metadata.effective_config import same_property

READ_ONLY: Final = "read-only"
_LISTENER_NAME: Final = re.compile(r"listener\.name\.[^.]*\.(.*)", re.DOTALL)
_OF_A_MECHANISM: Final = (
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
    "connections.max.reauth.ms",
)


def base_name(name: str) -> str:
    """The name without the prefix that makes it one of a listener or a mechanism."""
    match = _LISTENER_NAME.fullmatch(name)
    if match is None:
        return name
    rest: str = match[1]
    return next((each for each in _OF_A_MECHANISM if rest.endswith(each)), rest)


def broker_property(name: str) -> Property | None:
    """The table's row for a broker's config, whatever its prefix; None for one of a plug-in."""
    base = base_name(name)
    tables = (definitions(Kind.BROKER), definitions(Kind.BROKER_DYNAMIC_ONLY), own_properties())
    return next((table[base] for table in tables if base in table), None)


def broker_synonyms(name: str) -> tuple[str, ...]:
    """Every name under which this property may be set, strongest first."""
    base = base_name(name)
    return (name, base) if base != name else same_property(name)


def is_dynamic(name: str) -> bool:
    """May be set while the broker runs, under exactly this name."""
    prop = None if base_name(name) != name else broker_property(name)
    return prop is not None and prop.update_mode != READ_ONLY
