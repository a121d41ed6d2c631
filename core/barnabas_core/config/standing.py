"""What Barnabas does with each of Kafka's properties, from `table/standing.csv`.

honoured   it has its effect; the row names the tests that show it
no effect  it may be set to anything, as what it is about does not exist here; the row says why
refused    it must keep its default: to ignore it would weaken safety or security unseen
later      it belongs to a feature that is not built yet, which the row names: it may be set, and
           the node says so when it starts

`docs/configuration.md` is made from the same table, and a test holds it against Kafka's tables: no
property is missing, and none has neither a test nor a reason.
"""

import csv
import pkgutil
import re
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import Final, NamedTuple

from barnabas_core.config.definition import Kind, Property, definitions
from barnabas_core.config.error import ConfigError, RefusedProperty
from barnabas_core.config.node_properties import NodeProperties
from barnabas_core.config.own_property import own_properties

OWN: Final = "barnabas"
"""The name of the table of our own properties, besides those of `Kind`."""
_LISTENER_PREFIX: Final = r"listener\.name\.[^.]+\.(.+)"


KNOWN_CLASSES: Final[Mapping[str, tuple[str, ...]]] = {
    "authorizer.class.name": ("org.apache.kafka.metadata.authorizer.StandardAuthorizer",),
    "replica.selector.class": (
        "org.apache.kafka.common.replica.LeaderSelector",
        "org.apache.kafka.common.replica.RackAwareReplicaSelector",
    ),
}
"""Java classes whose names stand for something here; any other is refused by its name."""


class Standing(Enum):
    HONOURED = "honoured"
    NO_EFFECT = "no effect"
    REFUSED = "refused"
    LATER = "later"


class PropertyStanding(NamedTuple):
    """One row; `table` and `name` together are its key."""

    table: str
    name: str
    standing: Standing
    reason: str
    """Why it has no effect or is refused; of one that comes later, the feature."""
    tests: tuple[str, ...]


@lru_cache
def standings() -> tuple[PropertyStanding, ...]:
    """All rows, in the order of the table."""
    data = pkgutil.get_data(__package__, "table/standing.csv")
    assert data is not None
    return tuple(
        PropertyStanding(
            row["table"],
            row["name"],
            Standing(row["standing"]),
            row["reason"],
            tuple(row["tests"].split()),
        )
        for row in csv.DictReader(data.decode().splitlines())
    )


@lru_cache
def node_standings() -> Mapping[str, PropertyStanding]:
    """Those of a node's own properties, by name."""
    others = (Kind.TOPIC.value, Kind.GROUP.value)
    return {row.name: row for row in standings() if row.table not in others}


def later_warnings(properties: Mapping[str, str]) -> list[str]:
    """One line for each feature that is not built yet and that somebody has set properties of."""
    by_feature: dict[str, list[str]] = {}
    for name, text in properties.items():
        row = _row(name)
        if row is not None and row.standing is Standing.LATER and not _is_default(name, text):
            by_feature.setdefault(row.reason, []).append(name)
    return [
        f"{', '.join(sorted(names))}: no effect yet: {feature}"
        for feature, names in sorted(by_feature.items())
    ]


def refuse_unserved(properties: Mapping[str, str]) -> None:
    """`RefusedProperty` for the first that must not be ignored, and would be."""
    for name, text in properties.items():
        known = KNOWN_CLASSES.get(name, (text,))
        if text and text not in known:
            raise RefusedProperty(
                name, f"{name}: no class {text} is known here, only {', '.join(known)}"
            )
        row = _row(name)
        if row is not None and row.standing is Standing.REFUSED and not _is_default(name, text):
            raise RefusedProperty(name, f"{name} must not be set: {row.reason}")


def check_served(node: NodeProperties) -> None:
    """`ConfigError` where a node asks for what cannot be served yet, and is not safe without: a
    listener that should be secured is never served in the clear.

    For whoever starts the node; its directories may be formatted all the same.
    """
    refuse_unserved(node.raw)
    for listener in node.listeners:
        if listener.security_protocol != "PLAINTEXT":
            raise RefusedProperty(
                "listeners",
                f"listener {listener} is {listener.security_protocol}, which is not served yet: "
                "only PLAINTEXT is",
            )


def _row(name: str) -> PropertyStanding | None:
    return node_standings().get(_base_name(name))


def _base_name(name: str) -> str:
    match = re.fullmatch(_LISTENER_PREFIX, name)
    return match[1] if match else name


def _is_default(name: str, text: str) -> bool:
    prop = _property(_base_name(name))
    try:
        return prop is not None and prop.has_default and prop.parse(text) == prop.default
    except ConfigError:
        return False


def _property(name: str) -> Property | None:
    tables = (definitions(Kind.BROKER), definitions(Kind.BROKER_DYNAMIC_ONLY), own_properties())
    return next((table[name] for table in tables if name in table), None)
