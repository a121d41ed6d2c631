"""Kubernetes' amounts as whole numbers."""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from math import ceil
from typing import Final

_SUFFIXES: Final[Mapping[str, int | Decimal]] = {
    "": 1,
    "k": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "P": 10**15,
    "E": 10**18,
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
    "Pi": 2**50,
    "Ei": 2**60,
    "m": Decimal("0.001"),
}


def bytes_of(quantity: str) -> int:
    """Rounded up. `ValueError` if it is none."""
    number = quantity.rstrip("kKMGTPEim")
    suffix = quantity[len(number) :]
    try:
        value = Decimal(number) * _SUFFIXES[suffix]
    except (InvalidOperation, KeyError):
        raise ValueError(f"{quantity!r} is no amount") from None
    return ceil(value)


def quantity_of(count: int) -> str:
    """As people write it, where it is exact: 2147483648 is 2Gi."""
    for suffix in ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki"):
        unit = int(_SUFFIXES[suffix])
        if count and count % unit == 0:
            return f"{count // unit}{suffix}"
    return str(count)
