"""Which topics are Kafka's own."""

from typing import Final

INTERNAL_TOPICS: Final = frozenset(
    ("__consumer_offsets", "__transaction_state", "__share_group_state")
)


def is_internal(name: str) -> bool:
    return name in INTERNAL_TOPICS
