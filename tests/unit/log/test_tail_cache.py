"""The last bytes of busy logs."""

from barnabas_core.log.segments.tail_cache import Tail, TailCache
from tests.support.small_log import batch_of


def one(offset: int, size: int = 100) -> tuple[int, int, bytes]:
    return offset, offset + 1, bytes(batch_of(value=bytes(size), base_offset=offset))


def read(
    tail: Tail, offset: int, max_bytes: int = 10_000, up_to: int = 1000, *, min_one: bool = True
) -> bytes:
    return b"".join(tail.read(offset, max_bytes, up_to, min_one_batch=min_one))


def test_what_was_appended_last_is_held_and_nothing_else() -> None:
    cache, tail = TailCache(10_000, 450), Tail()
    appends = [one(offset) for offset in range(5)]

    cache.add(tail, appends)

    size = len(appends[0][2])
    assert not tail.holds(1)
    assert tail.holds(4)
    assert not tail.holds(5)
    assert read(tail, 3) == appends[3][2] + appends[4][2]
    assert cache.size_bytes == tail.size_bytes == 450 // size * size


def test_whole_appends_are_given_up_to_the_limit_and_at_least_one() -> None:
    cache, tail = TailCache(), Tail()
    appends = [one(offset) for offset in range(5)]
    cache.add(tail, appends)
    size = len(appends[0][2])

    assert read(tail, 1, 2 * size + 10) == appends[1][2] + appends[2][2]
    assert read(tail, 1, 10) == appends[1][2]
    assert read(tail, 1, 10, min_one=False) == b""


def test_a_read_stops_below_the_high_watermark_even_within_an_append() -> None:
    cache, tail = TailCache(), Tail()
    batches = [one(offset)[2] for offset in range(4)]
    cache.add(tail, [(0, 4, b"".join(batches))])

    assert read(tail, 0, up_to=3) == b"".join(batches[:3])
    assert read(tail, 1, up_to=3) == b"".join(batches[1:3])
    assert read(tail, 2) == b"".join(batches[2:])


def test_appends_that_do_not_follow_start_the_tail_anew() -> None:
    cache, tail = TailCache(), Tail()
    cache.add(tail, [one(0)])

    cache.add(tail, [one(7)])

    assert not tail.holds(0)
    assert not tail.holds(3)
    assert tail.holds(7)
    assert cache.size_bytes == tail.size_bytes


def test_the_log_written_to_longest_ago_loses_its_tail_first() -> None:
    size = len(one(0)[2])
    cache = TailCache(3 * size, 2 * size)
    first, second, third = Tail(), Tail(), Tail()

    cache.add(first, [one(0)])
    cache.add(second, [one(0)])
    cache.add(first, [one(1)])
    cache.add(third, [one(0)])

    assert [tail.holds(0) for tail in (first, second, third)] == [True, False, True]
    assert cache.size_bytes == 3 * size


def test_a_small_view_of_a_large_buffer_is_copied() -> None:
    cache, tail = TailCache(), Tail()
    _, _, batch = one(0)
    request = bytearray(batch + bytes(10_000))

    cache.add(tail, [(0, 1, memoryview(request)[: len(batch)])])
    request[:] = bytes(len(request))

    assert read(tail, 0) == batch


def test_a_buffer_of_its_own_is_not_copied() -> None:
    cache, tail = TailCache(), Tail()
    _, _, batch = one(0)

    cache.add(tail, [(0, 1, batch)])

    (buffer,) = tail.read(0, 10_000, 10, min_one_batch=True)
    assert buffer is batch


def test_dropping_frees_what_was_held() -> None:
    cache, tail = TailCache(), Tail()
    cache.add(tail, [one(0)])

    cache.drop(tail)
    cache.drop(tail)

    assert cache.size_bytes == 0
    assert not tail.holds(0)
