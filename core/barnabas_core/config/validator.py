"""Kafka's validators, from the way its documentation spells them: `[0,...]`, `[a, b]`, ..."""

import re
from collections.abc import Callable
from functools import lru_cache

from barnabas_core.config.error import ConfigError, InvalidValue
from barnabas_core.config.property_type import PropertyType, Value, format_value

Check = Callable[[str, Value], None]
"""Raises `ConfigError` if the named property may not have the value."""

# Patterns are compiled when a value first needs them: start-up with defaults needs none.
_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?"
_RANGE = rf"\[({_NUMBER}),\.\.\.(?:,({_NUMBER}))?\](?: or ({_NUMBER}))?"
_CHOICE = r"(\(case insensitive\) )?\[([^\]]*)\]"
_REPLICA = r"(?:[0-9]+:[0-9]+)?"
_DURATION = (
    r"(?i)[-+]?P(?=[0-9+\-T])(?:[-+]?[0-9]+D)?"
    r"(?:T(?=[0-9+\-])(?:[-+]?[0-9]+H)?(?:[-+]?[0-9]+M)?(?:[-+]?[0-9]+(?:\.[0-9]{0,9})?S)?)?"
)
_THROTTLED = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
_BY_DURATION = "by_duration:PnDTnHnMn.nS"
# Of the lists with fixed members only these two refuse to be empty.
_NEVER_EMPTY = frozenset({"process.roles", "group.coordinator.rebalance.protocols"})


@lru_cache(maxsize=256)
def validator(spelling: str, kind: PropertyType) -> Check | None:
    """The check for a `valid` column; None if every value of the type is fine."""
    if not spelling:
        return None
    if spelling in _NAMED:
        return _NAMED[spelling]
    numbers = re.fullmatch(_RANGE, spelling)
    if numbers:
        return _range(*numbers.groups())
    choice = re.fullmatch(_CHOICE, spelling)
    assert choice, f"no validator is known for {spelling!r}"
    choices = tuple(choice[2].split(", "))
    if kind is PropertyType.LIST:
        return _list_of(choices)
    return _any_case(choices) if choice[1] else _one_of(choices)


def is_choice(spelling: str) -> bool:
    """It names the values that are allowed."""
    return re.fullmatch(_CHOICE, spelling) is not None and "..." not in spelling


def _range(least: str, most: str | None, extra: str | None) -> Check:
    low, high = float(least), float("inf") if most is None else float(most)

    def check(name: str, value: Value) -> None:
        assert isinstance(value, int | float)
        if extra is not None:
            if not low <= value <= high and value != float(extra):
                reason = f"Value must be between {least} and {most} or equal to {extra}"
                raise InvalidValue(name, value, reason)
        elif value < low:
            raise InvalidValue(name, format_value(value), f"Value must be at least {least}")
        elif value > high:
            raise InvalidValue(name, format_value(value), f"Value must be no more than {most}")

    return check


def _one_of(choices: tuple[str, ...]) -> Check:
    def check(name: str, value: Value) -> None:
        if value in choices or (_BY_DURATION in choices and _is_duration(value)):
            return
        raise InvalidValue(name, value, f"String must be one of: {', '.join(choices)}")

    return check


def _is_duration(value: Value) -> bool:
    prefix, _, duration = str(value).partition(":")
    return prefix == "by_duration" and bool(re.fullmatch(_DURATION, duration))


def _any_case(choices: tuple[str, ...]) -> Check:
    def check(name: str, value: Value) -> None:
        if str(value).upper() not in choices:
            reason = f"String must be one of (case insensitive): {', '.join(choices)}"
            raise InvalidValue(name, value, reason)

    return check


def _list_of(choices: tuple[str, ...]) -> Check:
    one_of = _one_of(choices)

    def check(name: str, value: Value) -> None:
        assert isinstance(value, tuple)
        if not value and name in _NEVER_EMPTY:
            valid = f"[{', '.join(choices)}]"
            raise ConfigError(
                f"Configuration '{name}' must not be empty. Valid values include: {valid}"
            )
        for item in value:
            if not item:
                raise ConfigError(f"Configuration '{name}' values must not be empty.")
            one_of(name, item)

    return check


def _throttled_replicas(name: str, value: Value) -> None:
    assert isinstance(value, tuple)
    items = [item.strip() for item in value]
    if "".join(items) != "*" and not all(re.fullmatch(_REPLICA, item) for item in items):
        reason = (
            f"{name} must be the literal '*' or a list of replicas in the following format: "
            f"{_THROTTLED}"
        )
        raise InvalidValue(name, f"[{', '.join(value)}]", reason)


def _not_empty_string(name: str, value: Value) -> None:
    if value == "":
        raise InvalidValue(name, value, "String must be non-empty")


def _anything(name: str, value: Value) -> None:
    """A null is refused where values are read: text is never null."""


_NAMED: dict[str, Check] = {
    _THROTTLED: _throttled_replicas,
    "non-empty string": _not_empty_string,
    "non-null string": _anything,
    "non-empty list": _anything,
}
