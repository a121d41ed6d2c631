"""Which neighbours become one segment."""

from barnabas_core.log.cleaner.grouping import GroupBounds, SegmentFiles, group_segments

BOUNDS = GroupBounds(segment_bytes=100, index_bytes=64)


def segment(base: int, size: int = 10, index: int = 8, times: int = 12) -> SegmentFiles:
    return SegmentFiles(base, base + 10, size, index, times)


def bases(segments: list[SegmentFiles]) -> list[list[int]]:
    return [[it.base_offset for it in group] for group in group_segments(segments, BOUNDS)]


def test_no_segments_make_no_groups() -> None:
    assert bases([]) == []


def test_a_group_is_never_larger_than_a_segment_may_be() -> None:
    assert bases([segment(0, 60), segment(10, 40), segment(20, 1)]) == [[0, 10], [20]]


def test_a_segment_that_is_too_large_already_is_a_group_of_its_own() -> None:
    assert bases([segment(0, 500), segment(10, 1)]) == [[0], [10]]


def test_the_offset_index_has_to_fit() -> None:
    assert bases([segment(0, index=32), segment(10, index=32), segment(20)]) == [[0, 10], [20]]


def test_the_time_index_has_to_fit() -> None:
    assert bases([segment(0, times=36), segment(10, times=36)]) == [[0], [10]]


def test_the_relative_offsets_have_to_fit() -> None:
    far = SegmentFiles(2**31, 2**31 + 1, 10, 8, 12)
    near = SegmentFiles(2**31 - 1, 2**31, 10, 8, 12)

    assert bases([segment(0), near]) == [[0, 2**31 - 1]]
    assert bases([segment(0), far]) == [[0], [2**31]]
