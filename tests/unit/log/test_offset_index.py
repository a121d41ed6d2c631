"""Offset to position, in memory and in the file's bytes."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.log.index.offset_index import OffsetIndex, is_sound, lookup_position

BASE = 1000
rising = st.lists(st.integers(0, 10_000), unique=True, max_size=50).map(sorted)


def index_of(relatives: list[int]) -> OffsetIndex:
    index = OffsetIndex(BASE)
    for relative in relatives:
        index.append(BASE + relative, relative * 3)
    return index


@given(rising, st.integers(BASE - 10, BASE + 11_000))
def test_a_lookup_finds_the_last_batch_that_ends_at_or_before(
    relatives: list[int], offset: int
) -> None:
    index = index_of(relatives)
    expected = max((it * 3 for it in relatives if BASE + it <= offset), default=0)

    assert index.lookup(offset) == expected
    assert lookup_position(index.encode(), BASE, offset) == expected


@given(rising)
def test_the_file_reads_back_as_it_was(relatives: list[int]) -> None:
    data = index_of(relatives).encode()

    assert OffsetIndex(BASE, data).encode() == data
    assert len(data) == 8 * len(relatives)
    assert data == b"".join(it.to_bytes(4) + (it * 3).to_bytes(4) for it in relatives)


@given(rising, st.integers(BASE, BASE + 11_000))
def test_truncating_forgets_batches_that_end_at_or_after(relatives: list[int], offset: int) -> None:
    index = index_of(relatives)

    index.truncate(offset)

    kept = [it for it in relatives if BASE + it < offset]
    assert index.encode() == index_of(kept).encode()


def test_an_offset_far_beyond_the_segment_is_no_overflow() -> None:
    assert index_of([5]).lookup(2**62) == 15


def test_a_file_that_is_cut_or_points_beyond_the_log_is_not_sound() -> None:
    data = index_of([5, 10]).encode()

    assert is_sound(data, 31)
    assert not is_sound(data, 30)
    assert not is_sound(data[:-1], 31)
    assert is_sound(b"", 0)
