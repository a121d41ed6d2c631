"""Which shard something belongs to that a coordinator keeps, a group say: by Kafka's rule."""

from functools import lru_cache

_INT_MIN = -(2**31)
_REMEMBERED_NAMES = 4096
"""The same groups ask all the time, and Java's hash takes a step for each character."""


@lru_cache(maxsize=_REMEMBERED_NAMES)
def shard_of(name: str, shard_count: int) -> int:
    value = java_hash(name)
    return (0 if value == _INT_MIN else abs(value)) % shard_count


def java_hash(text: str) -> int:
    """`String.hashCode`: over UTF-16 units, in 32 bits with a sign."""
    value = 0
    data = text.encode("utf-16-be", "surrogatepass")
    for position in range(0, len(data), 2):
        value = (31 * value + (data[position] << 8 | data[position + 1])) & 0xFFFFFFFF
    return value - 2**32 if value >= 2**31 else value
