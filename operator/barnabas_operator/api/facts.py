"""What a dataclass field says about itself beyond its type: meaning, bounds and rules.

`described` makes such a field. Types give the rest: a field without a default is required, a
`tuple` is a list, a `Mapping` an object of free keys, a `StrEnum` a choice. No default is ever
written into the definitions unless it is part of an object's identity (`is_structural`): one that
was would be stored in every object, and could never be changed.
"""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field
from typing import Any, NewType

Quantity = NewType("Quantity", str)
"""Kubernetes' amounts: `10Gi`, `500m`."""

ConfigValue = str | int | float | bool | None
"""What stands behind one of Kafka's names; None means: leave it alone."""

FreeObject = Mapping[str, Any]
"""An object of Kubernetes' own that is passed on as it is."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A CEL expression that must hold, and what is said where it does not.

    One that mentions `oldSelf` is about changes.
    """

    expression: str
    message: str


@dataclass(frozen=True, slots=True)
class Facts:
    """Of one field."""

    description: str
    minimum: int | None = None
    maximum: int | None = None
    pattern: str | None = None
    length_max: int | None = None
    items_min: int | None = None
    items_max: int | None = None
    item: "Facts | None" = None
    """Of the members of a list, or the values of a mapping."""
    key: str | None = None
    """The member by which the entries of a list are told apart."""
    rules: tuple[Rule, ...] = ()
    is_structural: bool = False
    default_json: Any = None
    """Written into the definition."""
    keys_owned: Mapping[str, str] | None = None
    """Of a `config`: names that are not the user's, and who sets them."""
    date_time: bool = False


def described(description: str, *, default: Any = MISSING, **facts: Any) -> Any:
    """A field; `facts` are those of `Facts`."""
    metadata = {"facts": Facts(description, **facts)}
    if isinstance(default, dict):
        return field(default_factory=default.copy, metadata=metadata)
    return field(default=default, metadata=metadata)


def spelled(name: str) -> str:
    """The name in a resource: `topic_name` is `topicName`."""
    first, *others = name.split("_")
    return first + "".join(part.capitalize() for part in others)
