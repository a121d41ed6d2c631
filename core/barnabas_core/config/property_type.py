"""The types of configuration values: text to value and back, as Kafka reads and shows them."""

import math
import re
from enum import IntEnum
from typing import TypeAlias

from barnabas_core.config.error import InvalidValue
from barnabas_core.config.number import INT16_MAX, INT32_MAX, INT64_MAX, parse_whole


class PropertyType(IntEnum):
    """The numbers are those of DescribeConfigs."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class Password:
    """A secret that does not show in logs; `reveal` where it is used."""

    __slots__ = ("_secret",)

    def __init__(self, secret: str) -> None:
        self._secret = secret

    def reveal(self) -> str:
        return self._secret

    def __repr__(self) -> str:
        return "[hidden]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Password) and other._secret == self._secret

    def __hash__(self) -> int:
        return hash(self._secret)


Value: TypeAlias = bool | int | float | str | tuple[str, ...] | Password

_LARGEST = {
    PropertyType.SHORT: INT16_MAX,
    PropertyType.INT: INT32_MAX,
    PropertyType.LONG: INT64_MAX,
}
_BLANKS = "".join(map(chr, range(33)))
_SPACE = " \t\n\v\f\r"
# Patterns are compiled when a value first needs them: start-up with defaults needs none.
_DOUBLE = r"[+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?)"


def parse_value(name: str, kind: PropertyType, text: str) -> Value:
    """The value, or `InvalidValue` with Kafka's reason. Blanks around it do not count."""
    trimmed = text.strip(_BLANKS)
    if kind in _LARGEST:
        try:
            return parse_whole(trimmed, _LARGEST[kind])
        except ValueError as error:
            raise InvalidValue(name, text, f"Not a number of type {kind.name}") from error
    if kind is PropertyType.BOOLEAN:
        return _parse_boolean(name, text, trimmed)
    if kind is PropertyType.DOUBLE:
        return _parse_double(name, text, trimmed)
    if kind is PropertyType.LIST:
        return tuple(item.strip(_SPACE) for item in trimmed.split(",")) if trimmed else ()
    return Password(trimmed) if kind is PropertyType.PASSWORD else trimmed


def _parse_boolean(name: str, text: str, trimmed: str) -> bool:
    lower = trimmed.lower()
    if lower not in ("true", "false"):
        raise InvalidValue(name, text, "Expected value to be either true or false")
    return lower == "true"


def _parse_double(name: str, text: str, trimmed: str) -> float:
    if not re.fullmatch(_DOUBLE, trimmed):
        raise InvalidValue(name, text, "Not a number of type DOUBLE")
    return float(trimmed.rstrip("fFdD") if trimmed[-1] in "fFdD" else trimmed)


def format_value(value: Value | None) -> str | None:
    """The text that Kafka's tools show for it."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(value)
    return _format_double(value) if isinstance(value, float) else str(value)


def _format_double(value: float) -> str:
    """As Java writes it: an exponent below a thousandth and from ten million on."""
    if not math.isfinite(value):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value) if "e" not in repr(value) else f"{value:f}".rstrip("0")
    mantissa, exponent = _shortest_scientific(value)
    return f"{mantissa}E{exponent}"


def _shortest_scientific(value: float) -> tuple[str, int]:
    for digits in range(17):
        mantissa, exponent = f"{value:.{digits}e}".split("e")
        if float(f"{mantissa}e{exponent}") == value:
            break
    return (mantissa if "." in mantissa else f"{mantissa}.0"), int(exponent)
