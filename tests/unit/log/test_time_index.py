"""Timestamp to offset, in memory and in the file's bytes."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.log.index.time_index import (
    NO_TIMESTAMP,
    TimeIndex,
    TimestampOffset,
    is_sound,
    last_entry,
    lookup_offset,
)

BASE = 1000
rising = st.lists(st.integers(0, 10_000), unique=True, max_size=50).map(sorted)


def index_of(timestamps: list[int]) -> TimeIndex:
    index = TimeIndex(BASE)
    for number, timestamp_ms in enumerate(timestamps):
        index.maybe_append(timestamp_ms, BASE + number * 2)
    return index


@given(rising, st.integers(-5, 11_000))
def test_a_lookup_finds_where_the_last_timestamp_before_was_reached(
    timestamps: list[int], timestamp_ms: int
) -> None:
    index = index_of(timestamps)
    reached = [number for number, it in enumerate(timestamps) if it <= timestamp_ms]
    expected = BASE + (reached[-1] * 2 if reached else 0)

    assert index.lookup(timestamp_ms) == expected
    assert lookup_offset(index.encode(), BASE, timestamp_ms) == expected


@given(rising)
def test_the_file_reads_back_as_it_was(timestamps: list[int]) -> None:
    index = index_of(timestamps)
    data = index.encode()

    again = TimeIndex(BASE, data)

    assert again.encode() == data
    assert again.last == index.last == last_entry(data, BASE)
    assert is_sound(data)


@given(rising, st.integers(BASE, BASE + 110))
def test_truncating_forgets_entries_of_batches_that_end_at_or_after(
    timestamps: list[int], offset: int
) -> None:
    index = index_of(timestamps)

    index.truncate(offset)

    kept = [it for number, it in enumerate(timestamps) if BASE + number * 2 < offset]
    assert index.encode() == index_of(kept).encode()


def test_only_a_growing_timestamp_makes_an_entry() -> None:
    index = index_of([5])

    index.maybe_append(5, BASE + 10)
    index.maybe_append(4, BASE + 11)
    index.maybe_append(NO_TIMESTAMP, BASE + 12)

    assert len(index) == 1
    assert index.last == TimestampOffset(5, BASE)


def test_an_empty_index_has_no_timestamp() -> None:
    assert TimeIndex(BASE).last == last_entry(b"", BASE) == TimestampOffset(NO_TIMESTAMP, BASE)


def test_a_file_that_is_cut_or_goes_back_in_time_is_not_sound() -> None:
    data = index_of([5, 6]).encode()

    assert not is_sound(data[:-1])
    assert not is_sound(data[12:] + data[:12])
