"""Which names the columns of a value may have, beside those that every record brings."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

_OURS: Final = ("kafka_", "barnabas_")
_REASON: Final = "bad_reason"


def name_complaint(names: Sequence[str]) -> str | None:
    """The first that cannot be; Spark does not tell capitals from small letters."""
    counts = Counter(name.lower() for name in names)
    for name in names:
        if counts[name.lower()] > 1:
            return f"`{name}` is there twice, capitals or not: rename one"
        if name.lower().startswith(_OURS) or name.lower() == _REASON:
            return f"`{name}` is the name of a column of ours: take another"
    return None
