"""Which topic names are valid, and which topics are Kafka's own."""

import re
from typing import Final

NAME_LENGTH_MAX: Final = 249  # a directory is called after it, with a partition number and a suffix
_LEGAL: Final = re.compile(rf"[a-zA-Z0-9._-]{{1,{NAME_LENGTH_MAX}}}")

INTERNAL_TOPICS: Final = frozenset(
    ("__consumer_offsets", "__transaction_state", "__share_group_state")
)


def is_valid(name: str) -> bool:
    return _LEGAL.fullmatch(name) is not None and name not in (".", "..")


def is_internal(name: str) -> bool:
    return name in INTERNAL_TOPICS


def collision_key(name: str) -> str:
    """Two names with the same key must not both exist: metrics write `.` as `_`."""
    return name.replace(".", "_")
