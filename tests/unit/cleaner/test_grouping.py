"""Which neighbours become one segment."""

from barnabas_core.log.cleaner.grouping import GroupBounds, SegmentFiles, fits

BOUNDS = GroupBounds(segment_bytes=100, index_bytes=64)


def segment(base: int = 10, size: int = 10, index: int = 8, times: int = 12) -> SegmentFiles:
    return SegmentFiles(base, base + 10, size, index, times)


def written(size: int = 10, index: int = 8, times: int = 12) -> SegmentFiles:
    return SegmentFiles(0, 10, size, index, times)


def test_a_segment_joins_if_all_of_it_fits_behind_what_is_left() -> None:
    assert fits(written(60), segment(size=40), BOUNDS)
    assert not fits(written(60), segment(size=41), BOUNDS)


def test_the_offset_index_has_to_fit() -> None:
    assert fits(written(index=32), segment(index=32), BOUNDS)
    assert not fits(written(index=32), segment(index=40), BOUNDS)


def test_the_time_index_has_to_fit() -> None:
    assert fits(written(times=24), segment(times=36), BOUNDS)
    assert not fits(written(times=36), segment(times=36), BOUNDS)


def test_the_relative_offsets_have_to_fit() -> None:
    assert fits(written(), segment(base=2**31 - 10), BOUNDS)
    assert not fits(written(), segment(base=2**31 - 9), BOUNDS)
