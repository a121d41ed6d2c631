"""The rules of a CustomResourceDefinition, judged as an API server would: with CEL, by path.

Defaults are filled in first. Transition rules (`oldSelf`) are judged where an older object has a
value at the same place; the members of a keyed list are told apart by their key.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final

import celpy
from celpy import celtypes
from celpy.adapter import json_to_cel

_SUFFIXES: Final = {
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
    "k": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
}
_NOTHING: Final = object()


def refusals(schema: dict[str, Any], value: Any, old: Any = None) -> list[str]:
    """`path: message` of every rule that does not hold."""
    filled = with_defaults(schema, value)
    before = _NOTHING if old is None else with_defaults(schema, old)
    return list(_judge(schema, filled, before, ""))


def with_defaults(schema: dict[str, Any], value: Any) -> Any:
    if isinstance(value, dict):
        known = schema.get("properties", {})
        found = dict(value)
        for name, part in known.items():
            if name not in found and "default" in part:
                found[name] = part["default"]
        other = schema.get("additionalProperties", {})
        return {name: with_defaults(known.get(name, other), one) for name, one in found.items()}
    if isinstance(value, list):
        return [with_defaults(schema.get("items", {}), one) for one in value]
    return value


def _judge(schema: dict[str, Any], value: Any, old: Any, path: str) -> Iterator[str]:
    if value is None:
        return
    for rule in schema.get("x-kubernetes-validations", ()):
        if "oldSelf" in rule["rule"] and old is _NOTHING:
            continue
        if not _holds(rule["rule"], value, old):
            yield f"{path or '.'}: {rule['message']}"
    if isinstance(value, dict):
        for name, part in schema.get("properties", {}).items():
            if name in value:
                before = old.get(name, _NOTHING) if isinstance(old, dict) else _NOTHING
                yield from _judge(part, value[name], before, f"{path}.{name}")
    elif isinstance(value, list):
        for index, one in enumerate(value):
            before = _correlated(schema, one, old)
            yield from _judge(schema["items"], one, before, f"{path}[{index}]")


def _correlated(schema: dict[str, Any], member: Any, old: Any) -> Any:
    keys = schema.get("x-kubernetes-list-map-keys")
    if keys is None or not isinstance(old, list):
        return _NOTHING
    same = (one for one in old if all(one.get(key) == member.get(key) for key in keys))
    return next(same, _NOTHING)


def _holds(expression: str, value: Any, old: Any) -> bool:
    bound = {"self": json_to_cel(value)}
    if old is not _NOTHING:
        bound["oldSelf"] = json_to_cel(old)
    return bool(_program(expression).evaluate(bound))


@lru_cache
def _program(expression: str) -> Any:
    environment = celpy.Environment()
    return environment.program(environment.compile(expression), functions=_FUNCTIONS)


def _amount(text: str) -> int:
    for suffix, factor in _SUFFIXES.items():
        if text.endswith(suffix):
            return int(text.removesuffix(suffix)) * factor
    return int(text)


def _is_quantity(text: Any) -> celtypes.BoolType:
    try:
        _amount(str(text))
    except ValueError:
        return celtypes.BoolType(False)
    return celtypes.BoolType(True)


# What Kubernetes adds to CEL, as far as our rules use it. A quantity is its amount.
_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "isQuantity": _is_quantity,
    "quantity": lambda text: celtypes.IntType(_amount(str(text))),
    "compareTo": lambda one, other: celtypes.IntType((one > other) - (one < other)),
    "isGreaterThan": lambda one, other: celtypes.BoolType(one > other),
}
