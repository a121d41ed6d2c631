"""Which names a topic may have: legal ones, that collide with no other topic's.

Metrics write `.` as `_`, so `a.b` and `a_b` would be one there.
"""

import re
from collections.abc import Iterator
from itertools import product
from typing import Final

from barnabas_core.metadata.topics_image import TopicsImage

NAME_LENGTH_MAX: Final = 249
CLUSTER_METADATA_TOPIC: Final = "__cluster_metadata"
_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]+")
_MARKS_MAX: Final = 8
"""A name with so many of the two characters has 256 spellings: to try more of them would cost more
than to look through all topics."""


def name_fault(name: str) -> str | None:
    """What is wrong with it, in Kafka's words."""
    if not name:
        fault = "the empty string is not allowed"
    elif name in (".", ".."):
        fault = f"'{name}' is not allowed"
    elif len(name) > NAME_LENGTH_MAX:
        fault = f"the length of '{name}' is longer than the max allowed length {NAME_LENGTH_MAX}"
    elif _LEGAL.fullmatch(name) is None:
        fault = (
            f"'{name}' contains one or more characters other than "
            "ASCII alphanumerics, '.', '_' and '-'"
        )
    else:
        return None
    return f"Topic name is invalid: {fault}"


def collision_key(name: str) -> str:
    """Of two topics with the same key only one may exist."""
    return name.replace(".", "_")


def colliding_name(topics: TopicsImage, name: str) -> str | None:
    """A topic whose name differs only in `.` and `_` from this one, which is not taken itself."""
    pieces = re.split("[._]", name)
    if len(pieces) - 1 <= _MARKS_MAX:
        others = (other for other in _spellings(pieces) if other in topics.id_by_name)
    else:
        key = collision_key(name)
        others = (other for other in topics.id_by_name if collision_key(other) == key)
    return next(others, None)


def _spellings(pieces: list[str]) -> Iterator[str]:
    for marks in product("._", repeat=len(pieces) - 1):
        yield "".join(map("".join, zip(pieces, (*marks, ""), strict=True)))
