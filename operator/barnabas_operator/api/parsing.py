"""From what a user wrote to a dataclass, and back; what is wrong is told with the field's path.

Kubernetes has checked most of it already, with the definitions that follow from the same
dataclasses. It is checked again here, as an object may be older than its definition.
"""

import re
import types
from collections.abc import Hashable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from barnabas_operator.api.facts import ConfigValue, Facts, FreeObject, spelled

T = TypeVar("T")
_WORDS = {str: "a string", int: "a whole number", bool: "true or false"}


class InvalidResource(Exception):
    """A field that cannot be: `path` names it as the user wrote it."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


def facts_of(member: Field[Any]) -> Facts:
    facts: Facts = member.metadata["facts"]
    return facts


@lru_cache
def hints_of(described_class: Hashable) -> Mapping[str, Any]:
    return get_type_hints(described_class)


def without_none(hint: Any) -> Any:
    """`X` of `X | None`; a `ConfigValue` is itself."""
    if hint == ConfigValue or get_origin(hint) not in (Union, types.UnionType):
        return hint
    (kept,) = [one for one in get_args(hint) if one is not type(None)]
    return kept


def parse(described_class: type[T], raw: Any, path: str = "spec") -> T:
    """`InvalidResource` if it is not one. What nobody knows is passed over: Kubernetes prunes."""
    if not isinstance(raw, Mapping):
        raise InvalidResource(path, "expected an object")
    hints = hints_of(cast("Hashable", described_class))
    values = {}
    for member in fields(described_class):  # type: ignore[arg-type]
        name = spelled(member.name)
        there = f"{path}.{name}"
        if raw.get(name) is not None:
            hint = without_none(hints[member.name])
            values[member.name] = _value(hint, facts_of(member), raw[name], there)
        elif member.default is MISSING and member.default_factory is MISSING:
            raise InvalidResource(there, "is not set")
    return described_class(**values)


def _value(hint: Any, facts: Facts, raw: Any, path: str) -> Any:
    origin = get_origin(hint)
    if hint == FreeObject:
        return _mapping(raw, path)
    if origin is tuple:
        return _list(get_args(hint)[0], facts, raw, path)
    if origin is not None and issubclass(origin, Mapping):
        item = facts.item or Facts("")
        return {
            str(key): _entry(get_args(hint)[1], item, value, f"{path}[{key}]")
            for key, value in _mapping(raw, path).items()
        }
    if is_dataclass(hint):
        return parse(hint, raw, path)  # type: ignore[arg-type]
    return _scalar(hint, facts, raw, path)


def _entry(hint: Any, facts: Facts, raw: Any, path: str) -> Any:
    if hint != ConfigValue:
        return _value(hint, facts, raw, path)
    if not isinstance(raw, str | int | float | bool | None):
        raise InvalidResource(path, "expected a string, a number, true, false or null")
    return raw


def _mapping(raw: Any, path: str) -> Mapping[str, Any]:
    if not isinstance(raw, Mapping):
        raise InvalidResource(path, "expected an object")
    return raw


def _list(hint: Any, facts: Facts, raw: Any, path: str) -> tuple[Any, ...]:
    if not isinstance(raw, list | tuple):
        raise InvalidResource(path, "expected a list")
    if len(raw) < (facts.items_min or 0):
        raise InvalidResource(path, f"expected at least {facts.items_min}")
    if facts.items_max is not None and len(raw) > facts.items_max:
        raise InvalidResource(path, f"expected at most {facts.items_max}")
    item = facts.item or Facts("")
    found = tuple(_value(hint, item, one, f"{path}[{index}]") for index, one in enumerate(raw))
    _check_keys(facts.key, raw, path)
    return found


def _check_keys(key: str | None, raw: Any, path: str) -> None:
    keys = [one[key] for one in raw if key in one] if key is not None else []
    for one in keys:
        if keys.count(one) > 1:
            raise InvalidResource(path, f"{key} {one} is there twice")


def _scalar(hint: Any, facts: Facts, raw: Any, path: str) -> Any:
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        choices = [one.value for one in hint]
        if raw not in choices:
            raise InvalidResource(path, f"expected one of {', '.join(choices)}, got {raw!r}")
        return hint(raw)
    if hint not in _WORDS:  # a quantity: 500m, or the number 2
        raw, hint = str(raw), str
    if not isinstance(raw, hint) or (hint is int and isinstance(raw, bool)):
        raise InvalidResource(path, f"expected {_WORDS[hint]}, got {raw!r}")
    _check_bounds(facts, raw, path)
    return raw


def _check_bounds(facts: Facts, raw: Any, path: str) -> None:
    if facts.minimum is not None and raw < facts.minimum:
        raise InvalidResource(path, f"{raw} is below {facts.minimum}")
    if facts.maximum is not None and raw > facts.maximum:
        raise InvalidResource(path, f"{raw} is above {facts.maximum}")
    if facts.length_max is not None and len(raw) > facts.length_max:
        raise InvalidResource(path, f"is longer than {facts.length_max} characters")
    if facts.pattern is not None and re.search(facts.pattern, raw) is None:
        raise InvalidResource(path, f"{raw!r} does not match {facts.pattern}")


def rendered(value: Any) -> Any:
    """The JSON of a described value; what is None or empty is left out."""
    if is_dataclass(value) and not isinstance(value, type):
        found = {
            spelled(member.name): rendered(getattr(value, member.name)) for member in fields(value)
        }
        return {name: one for name, one in found.items() if one is not None and one not in ([], {})}
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, Mapping):
        return {key: rendered(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [rendered(one) for one in value]
    return value
