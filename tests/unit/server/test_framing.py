"""The frame reader, driven by bytes alone."""

import struct
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.server.framing import FIRST_BYTES, SECOND_BYTES, FrameError, FrameReader

BOUND = 4 * 1024 * 1024


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def give(reader: FrameReader, data: bytes, *, direct: bool) -> None:
    """Give bytes as a connection does: into the frame's own buffer where there is one."""
    position = 0
    while position < len(data):
        room = reader.get_buffer() if direct else None
        if room is None:
            stop = position + FIRST_BYTES
            reader.feed(memoryview(data)[position:stop])
        else:
            stop = position + len(room)
            piece = data[position:stop]
            room[: len(piece)] = piece
            reader.filled(len(piece))
        position = stop


def drain(reader: FrameReader) -> list[bytes]:
    frames = []
    while (frame := reader.take()) is not None:
        frames.append(bytes(frame))
    return frames


bodies = st.lists(
    st.one_of(
        st.binary(max_size=40),
        st.integers(0, 3 * FIRST_BYTES).map(lambda size: bytes(range(256)) * (size // 256 + 1)),
    ),
    max_size=6,
)


@given(bodies, st.data(), st.booleans())
def test_any_split_of_the_bytes_gives_the_same_frames(
    wanted: list[bytes], data: st.DataObject, direct: bool
) -> None:
    stream = b"".join(map(framed, wanted))
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=12))
    reader = FrameReader(BOUND)

    for start, stop in pairwise([0, *sorted(cuts), len(stream)]):
        give(reader, stream[start:stop], direct=direct)

    assert drain(reader) == wanted


def test_a_stream_that_comes_byte_by_byte_is_understood() -> None:
    wanted = [b"", b"a", b"frame", bytes(300)]
    reader = FrameReader(BOUND)

    for value in b"".join(map(framed, wanted)):
        reader.feed(memoryview(bytes([value])))

    assert drain(reader) == wanted


@pytest.mark.parametrize("length", [-1, -(2**31), BOUND + 1, 2**31 - 1])
@pytest.mark.parametrize("cut", [1, 3, 4])
def test_a_length_out_of_bounds_is_refused_before_anything_is_allocated(
    length: int, cut: int
) -> None:
    reader = FrameReader(BOUND)
    prefix = struct.pack(">i", length)

    if cut < len(prefix):
        reader.feed(memoryview(prefix[:cut]))
        prefix = prefix[cut:]
    with pytest.raises(FrameError, match=str(length)):
        reader.feed(memoryview(prefix))

    assert reader.body_bytes == 0


def test_a_frame_of_exactly_the_bound_is_accepted() -> None:
    reader = FrameReader(100)

    reader.feed(memoryview(framed(bytes(100))))

    assert drain(reader) == [bytes(100)]


def test_a_promised_length_alone_allocates_little() -> None:
    reader = FrameReader(100 * 1024 * 1024)

    reader.feed(memoryview(struct.pack(">i", 100 * 1024 * 1024) + b"x"))

    assert reader.body_bytes == FIRST_BYTES


def test_memory_follows_what_has_arrived() -> None:
    reader = FrameReader(100 * 1024 * 1024)
    reader.feed(memoryview(struct.pack(">i", 100 * 1024 * 1024) + b"x"))

    arrived = 1
    while arrived < 50 * 1024 * 1024:
        wanted = reader.wanted_bytes
        before = reader.body_bytes
        room = reader.get_buffer()
        assert room is not None
        assert reader.body_bytes - before == wanted
        assert reader.body_bytes <= max(SECOND_BYTES, 2 * arrived)
        arrived += len(room)
        reader.filled(len(room))


def test_a_large_frame_is_handed_out_in_the_buffer_it_was_read_into() -> None:
    reader = FrameReader(BOUND)
    reader.feed(memoryview(struct.pack(">i", 3 * FIRST_BYTES) + bytes(FIRST_BYTES)))
    room = reader.get_buffer()
    assert room is not None
    room[:] = b"r" * len(room)
    reader.filled(len(room))

    frame = reader.take()

    assert frame is not None
    assert room.obj is frame
    assert len(frame) == 3 * FIRST_BYTES


def test_each_small_frame_is_a_buffer_of_its_own() -> None:
    shared = bytearray(framed(b"first") + framed(b"second"))
    reader = FrameReader(BOUND)

    reader.feed(memoryview(shared))
    shared[:] = bytes(len(shared))

    assert drain(reader) == [b"first", b"second"]


def test_queued_bytes_count_whole_frames_until_they_are_taken() -> None:
    reader = FrameReader(BOUND)

    reader.feed(memoryview(framed(bytes(10)) + framed(bytes(20)) + framed(bytes(30))[:-1]))
    assert reader.queued_bytes == 30
    reader.take()

    assert reader.queued_bytes == 20
    assert reader.body_bytes == 30


def test_a_frame_that_comes_alone_and_whole_need_not_be_fed() -> None:
    shared = bytearray(framed(b"request"))
    reader = FrameReader(BOUND)
    reader.fed_at_ns = 17

    frame = reader.sole_frame(memoryview(shared))
    shared[:] = bytes(len(shared))

    assert bytes(frame or b"") == b"request"
    assert reader.taken_arrival_ns == 17
    assert reader.queued_bytes == 0


@pytest.mark.parametrize(
    "data",
    [
        framed(b"one") + framed(b"two"),
        framed(b"request")[:-1],
        framed(b"request") + b"\0",
        framed(b""),
        b"\0\0\0",
        struct.pack(">i", -1) + b"rubbish",
        framed(bytes(101)),
    ],
)
def test_anything_but_one_whole_frame_has_to_be_fed(data: bytes) -> None:
    assert FrameReader(100).sole_frame(memoryview(data)) is None


@pytest.mark.parametrize("before", [framed(b"queued"), b"\0", framed(bytes(50))[:-1]])
def test_a_frame_is_not_alone_behind_what_came_before_it(before: bytes) -> None:
    reader = FrameReader(BOUND)
    reader.feed(memoryview(before))

    assert reader.sole_frame(memoryview(framed(b"request"))) is None
