"""The map from keys to offsets: right, and never larger than it may be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.log.cleaner.key_map import ABSENT, SLOT_BYTES, KeyMap, KeyMapTooSmall


@given(puts=st.lists(st.tuples(st.binary(max_size=3), st.integers(0, 2**63 - 1)), max_size=300))
def test_it_answers_like_a_dictionary(puts: list[tuple[bytes, int]]) -> None:
    key_map = KeyMap(SLOT_BYTES * 1000, 0.9, expected_keys=10)
    key_map_large = KeyMap(SLOT_BYTES * 1000, 0.9, expected_keys=300)
    expected: dict[bytes, int] = {}

    for key, offset in puts:
        assert key_map_large.put(key, offset)
        if key_map.put(key, offset):
            expected[key] = offset

    assert all(key_map.get(key) == offset for key, offset in expected.items())
    assert all(key_map_large.get(key) == offset for key, offset in dict(puts).items())
    assert key_map_large.get(b"never put") == ABSENT
    assert len(key_map_large) == len(dict(puts))


def test_a_full_map_refuses_new_keys_but_not_known_ones() -> None:
    key_map = KeyMap(SLOT_BYTES * 11, 0.9, expected_keys=1000)
    accepted = [key for key in range(20) if key_map.put(b"%d" % key, key)]

    assert accepted == list(range(9))
    assert key_map.put(b"3", 99)
    assert key_map.get(b"3") == 99
    assert key_map.get(b"10") == ABSENT
    assert len(key_map) == 9


def test_it_never_takes_more_memory_than_it_may() -> None:
    assert KeyMap(10_000, 0.9, expected_keys=10**9).size_bytes <= 10_000
    assert KeyMap(10**9, 0.9, expected_keys=100).size_bytes < 10_000


def test_a_bound_without_room_for_one_key_is_refused() -> None:
    with pytest.raises(KeyMapTooSmall):
        KeyMap(SLOT_BYTES, 0.9, expected_keys=1)


def test_a_full_table_at_its_load_factor_still_finds_every_key() -> None:
    key_map = KeyMap(SLOT_BYTES * 5000, 1.0, expected_keys=10**6)
    count = 0
    while key_map.put(b"key-%d" % count, count):
        count += 1

    assert count >= 4990
    assert all(key_map.get(b"key-%d" % key) == key for key in range(count))
