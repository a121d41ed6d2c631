"""From batch to batch, and over damage."""

from barnabas_core.log.index.offset_index import OffsetIndex
from barnabas_core.records.batch import HEADER_BYTES
from barnabas_core.records.builder import build_batch
from barnabas_pipeline.segments.log_files import NO_END
from barnabas_pipeline.segments.walk import Bounds, DamagedStretch, SoundBatch, walk

BASE = 100
LENGTH_POSITION = 8
EVERYTHING = Bounds(BASE, NO_END, NO_END)
SIZE = len(build_batch([(b"key", b"value")] * 2))


def segment(count: int) -> bytearray:
    """`count` batches of two records each, all of the same size."""
    batches = [
        build_batch([(b"key", b"value")] * 2, base_offset=BASE + 2 * number)
        for number in range(count)
    ]
    return bytearray().join(batches)


def offset_index(*numbers: int) -> bytes:
    """An index that knows the batches of these numbers."""
    index = OffsetIndex(BASE)
    for number in numbers:
        index.append(BASE + 2 * number + 1, number * SIZE)
    return index.encode()


def seen(
    data: bytearray, index: bytes = b"", bounds: Bounds = EVERYTHING
) -> list[int | tuple[int, int]]:
    """Base offsets of sound batches; (first byte, last byte) of damage."""
    return [
        it.header.base_offset if isinstance(it, SoundBatch) else (it.position, it.end_position)
        for it in walk(data, index, bounds)
    ]


def test_sound_batches_come_in_order() -> None:
    assert seen(segment(3)) == [100, 102, 104]


def test_a_wrong_checksum_costs_one_batch() -> None:
    data = segment(4)
    data[SIZE + HEADER_BYTES] ^= 1

    assert seen(data) == [100, (SIZE, 2 * SIZE), 104, 106]


def test_two_damaged_neighbours_are_told_apart() -> None:
    data = segment(4)
    data[SIZE + HEADER_BYTES] ^= 1
    data[2 * SIZE + HEADER_BYTES] ^= 1

    assert seen(data) == [100, (SIZE, 2 * SIZE), (2 * SIZE, 3 * SIZE), 106]


def test_after_a_damaged_length_the_index_knows_where_to_go_on() -> None:
    data = segment(6)
    data[SIZE + LENGTH_POSITION + 2] ^= 1

    assert seen(data, offset_index(0, 3, 5)) == [100, (SIZE, 3 * SIZE), 106, 108, 110]


def test_without_an_index_a_damaged_length_costs_the_rest() -> None:
    data = segment(6)
    data[SIZE + LENGTH_POSITION + 2] ^= 1

    assert seen(data) == [100, (SIZE, 6 * SIZE)]


def test_a_damaged_offset_is_seen_though_no_checksum_covers_it() -> None:
    back, far = segment(3), segment(3)
    back[SIZE + 7] = 50
    far[SIZE + 1] = 1

    assert seen(back) == [100, (SIZE, 2 * SIZE), 104]
    assert seen(far, bounds=Bounds(BASE, 106, 106)) == [100, (SIZE, 2 * SIZE), 104]


def test_a_segment_that_is_cut_short_ends_in_damage() -> None:
    assert seen(segment(2)[:-1]) == [100, (SIZE, 2 * SIZE - 1)]
    assert seen(segment(2)[: SIZE + 20]) == [100, (SIZE, SIZE + 20)]
    assert seen(segment(2)[:SIZE]) == [100]


def test_damage_says_up_to_which_offset_all_was_found() -> None:
    data = segment(3)
    data[SIZE + HEADER_BYTES] ^= 1

    [_, damage, _] = walk(data, b"", EVERYTHING)

    assert isinstance(damage, DamagedStretch)
    assert damage.offset_after == 102
    assert "CRC" in damage.reason


def test_nothing_is_seen_at_or_beyond_the_end() -> None:
    # What lies there may be a write under way.
    data = segment(3) + b"\x00" * 30

    assert seen(data, bounds=Bounds(BASE, NO_END, 104)) == [100, 102]
    assert seen(data, bounds=Bounds(BASE, NO_END, 106)) == [100, 102, 104]


def test_damage_beyond_the_end_is_nobody_s_business() -> None:
    data = segment(3)
    data[2 * SIZE + HEADER_BYTES] ^= 1

    assert seen(data, bounds=Bounds(BASE, NO_END, 104)) == [100, 102]
