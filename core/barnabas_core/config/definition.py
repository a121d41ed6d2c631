"""The tables of Kafka's configuration properties, each read when it is first asked for."""

import csv
import pkgutil
from collections.abc import Mapping
from enum import Enum
from functools import cached_property, lru_cache

from barnabas_core.config.error import InvalidValue, MissingProperty, UnknownProperty
from barnabas_core.config.property_type import PropertyType, Value, parse_value
from barnabas_core.config.validator import is_choice, validator


class Kind(Enum):
    """What a property configures; the name of its table."""

    BROKER = "broker"
    BROKER_DYNAMIC_ONLY = "broker-dynamic-only"
    TOPIC = "topic"
    GROUP = "group"
    CLIENT_METRICS = "client-metrics"
    CLIENT_QUOTA = "client-quota"
    IP_QUOTA = "ip-quota"
    ADMIN = "admin"
    CONSUMER = "consumer"
    PRODUCER = "producer"


class Property:
    """One row of a table."""

    def __init__(self, row: Mapping[str, str]) -> None:
        self.name = row["name"]
        self.type = PropertyType[row["type"]]
        self.has_default = row["has_default"] == "true"
        self.default_text = None if row["default"] == "null" else row["default"]
        self.valid = row["valid"]
        self.is_set = self.type is PropertyType.LIST and is_choice(self.valid)
        """A list of fixed members, of which repeated ones count once."""
        self.importance = row["importance"]
        self.is_internal = row["internal"] == "true"
        self.update_mode = row.get("update_mode", "")
        """Of a broker property: read-only, per-broker or cluster-wide."""
        synonyms = row.get("all_broker_synonyms") or row.get("broker_synonym") or ""
        self.broker_synonyms = tuple(synonyms.split("|")) if synonyms else ()
        """Broker properties that give a topic's or group's default, the first set one wins."""

    @cached_property
    def default(self) -> Value | None:
        if not self.has_default or self.default_text is None:
            return None
        return parse_value(self.name, self.type, self.default_text)

    def parse(self, text: str | None) -> Value:
        """The value that `text` means; `ConfigError` if it is none or not allowed."""
        if text is None:
            raise InvalidValue(self.name, "null", "Value must be non-null")
        value = parse_value(self.name, self.type, text)
        if self.is_set:
            assert isinstance(value, tuple)
            value = tuple(dict.fromkeys(value))
        check = validator(self.valid, self.type)
        if check is not None:
            check(self.name, value)
        return value


@lru_cache
def definitions(kind: Kind) -> Mapping[str, Property]:
    """All properties of a kind by name, in the order of the table (alphabetical)."""
    data = pkgutil.get_data(__package__, f"table/{kind.value}.csv")
    assert data is not None, kind
    rows = csv.DictReader(data.decode().splitlines())
    return {row["name"]: Property(row) for row in rows}


def definition(kind: Kind, name: str) -> Property:
    try:
        return definitions(kind)[name]
    except KeyError:
        raise UnknownProperty(kind.value, name) from None


def parse_properties(kind: Kind, properties: Mapping[str, str]) -> dict[str, Value | None]:
    """Typed values of all properties of a kind, set or by default; names of no such are ignored.

    `ConfigError` if one is wrong, or if one without a default is not set.
    """
    values: dict[str, Value | None] = {}
    for name, prop in definitions(kind).items():
        if name in properties:
            values[name] = prop.parse(properties[name])
        elif prop.has_default:
            values[name] = prop.default
        else:
            raise MissingProperty(name)
    return values
