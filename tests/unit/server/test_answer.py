"""An answer of bytes and file ranges, taken piece by piece."""

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.server.answer import PIECE_BYTES, AnswerStream, AnswerTorn, Part

if TYPE_CHECKING:
    from barnabas_core.ports import Buffer


class Range:
    """A range over bytes in memory; the first reads at the positions in `cold` would block."""

    def __init__(self, data: bytes, cold: frozenset[int] = frozenset()) -> None:
        self.data = data
        self.cold = set(cold)
        self.largest_read = 0

    def __len__(self) -> int:
        return len(self.data)

    def try_read(self, position: int, size: int) -> bytes | None:
        if position in self.cold:
            return None
        return self.read(position, size)

    def read(self, position: int, size: int) -> bytes:
        self.cold.discard(position)
        self.largest_read = max(self.largest_read, size)
        return self.data[position : position + size]


def sent(stream: AnswerStream) -> bytes:
    """All of it, with every blocked read done as the owner does it."""
    out: list[Buffer] = []
    while not stream.is_done:
        pieces = stream.take()
        if not pieces:
            part, position, size = stream.blocked()
            pieces = [stream.supply(part.read(position, size))]
        out += pieces
    return b"".join(out)


parts = st.lists(
    st.one_of(
        st.binary(max_size=20),
        st.builds(
            lambda size, cold: Range(bytes(i & 255 for i in range(size)), frozenset(cold)),
            st.integers(1, 3000),
            st.sets(st.sampled_from([0, 100, 2999])),
        ),
    ),
    max_size=8,
)


@given(parts)
def test_everything_goes_out_in_order(wanted: list[Part]) -> None:
    expected = b"".join(part.data if isinstance(part, Range) else bytes(part) for part in wanted)  # type: ignore[arg-type]

    assert sent(AnswerStream(wanted)) == expected


def test_a_large_range_is_read_a_piece_at_a_time() -> None:
    large = Range(bytes(10 * PIECE_BYTES + 17))

    size = len(sent(AnswerStream([b"head", large, b"tail"])))

    assert size == len(large) + 8
    assert large.largest_read <= PIECE_BYTES


def test_one_take_reads_no_more_than_a_piece_from_files() -> None:
    stream = AnswerStream([Range(bytes(PIECE_BYTES - 5)), Range(bytes(PIECE_BYTES))])

    assert sum(map(len, stream.take())) == PIECE_BYTES


def test_bytes_before_a_read_that_blocks_are_given_first() -> None:
    stream = AnswerStream([b"head", Range(b"cold", frozenset([0]))])

    assert stream.take() == [b"head"]
    assert stream.take() == []
    assert not stream.is_done


def test_a_range_that_shrank_is_noticed() -> None:
    shrunk = Range(bytes(100))
    stream = AnswerStream([shrunk])
    shrunk.data = bytes(100)
    shrunk.try_read = lambda position, size: bytes(size - 1)  # type: ignore[method-assign]

    with pytest.raises(AnswerTorn):
        stream.take()


def test_a_blocked_read_that_came_short_is_noticed() -> None:
    stream = AnswerStream([Range(bytes(100), frozenset([0]))])
    assert stream.take() == []

    with pytest.raises(AnswerTorn):
        stream.supply(bytes(99))
