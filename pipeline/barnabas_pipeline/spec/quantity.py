"""Lengths of time and sizes as people write them: `10s`, `5 minutes`, `128MiB`."""

import re
from typing import Final

_MS: Final = {
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), 1),
    **dict.fromkeys(("s", "second", "seconds"), 1_000),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000),
    **dict.fromkeys(("d", "day", "days"), 86_400_000),
}
_BYTES: Final = {
    "": 1, "B": 1, "KB": 1000, "MB": 1000**2, "GB": 1000**3,
    "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
}  # fmt: skip
_NUMBER_AND_UNIT: Final = re.compile(r"(\d+)\s*([A-Za-z]*)")


def duration_ms(text: str) -> int:
    number, unit = _split(text)
    if unit not in _MS or number == 0:
        raise ValueError("a length of time above 0 with its unit, such as `10s` or `5 minutes`")
    return number * _MS[unit]


def size_bytes(text: str) -> int:
    number, unit = _split(text)
    if unit not in _BYTES or number == 0:
        raise ValueError("a size above 0, such as `128MiB`")
    return number * _BYTES[unit]


def _split(text: str) -> tuple[int, str]:
    match = _NUMBER_AND_UNIT.fullmatch(text.strip())
    return (int(match[1]), match[2]) if match else (0, "?")
