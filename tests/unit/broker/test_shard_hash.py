"""A group belongs to the shard that Kafka's clients and tools expect it in."""

import pytest

from barnabas_broker.shards.shard_hash import java_hash, shard_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        ("polygenelubricants", -(2**31)),
        ("\U0001f600", 1772899),
    ],
)
def test_it_is_javas_hash_of_a_string(text: str, expected: int) -> None:
    assert java_hash(text) == expected


def test_the_smallest_number_of_all_has_a_shard_too() -> None:
    assert shard_of("polygenelubricants", 50) == 0
    assert shard_of("hello", 50) == 99162322 % 50
