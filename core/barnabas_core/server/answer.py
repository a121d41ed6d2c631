"""One answer on its way out: a list of byte strings and file ranges, taken a piece at a time.

A Fetch answer may name a hundred megabytes of log. Its file ranges are read at most `PIECE_BYTES`
at a time, when the socket has room for them, so an answer costs that much memory whatever its
size. A range that is not in the page cache is read by the owner in a thread and handed back with
`supply`.

Pure: no socket, no loop.
"""

from collections.abc import Sequence
from typing import Final, TypeAlias

from barnabas_core.log.read import LogRead, LogSlice
from barnabas_core.ports import Buffer

PIECE_BYTES: Final = 256 * 1024


Part: TypeAlias = Buffer | LogSlice | LogRead
"""A `LogRead` stands for its slices."""


class AnswerTorn(Exception):
    """A range gave fewer bytes than it promised: the frame cannot be completed any more."""


class AnswerStream:
    __slots__ = ("_index", "_parts", "_position")

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = _flat(parts)
        self._index = 0
        self._position = 0  # in the range at `_index`

    @property
    def is_done(self) -> bool:
        return self._index == len(self._parts)

    def take(self) -> list[Buffer]:
        """What comes next, about `PIECE_BYTES` of it. Empty: done, or `blocked` says what to read.

        Bytes that are in memory already are given whole: nothing is gained by cutting them.
        """
        pieces: list[Buffer] = []
        size = 0
        while size < PIECE_BYTES and not self.is_done:
            part = self._parts[self._index]
            if isinstance(part, bytes | bytearray | memoryview):
                self._index += 1
                piece: Buffer = part
            else:
                wanted = min(PIECE_BYTES - size, len(part) - self._position)
                found = part.try_read(self._position, wanted)
                if found is None:
                    break
                self._advance(part, len(found), wanted)
                piece = found
            pieces.append(piece)
            size += len(piece)
        return pieces

    def blocked(self) -> tuple[LogSlice, int, int]:
        """(range, position, size) of the read that must wait, after an empty `take`."""
        part = self._parts[self._index]
        assert not isinstance(part, bytes | bytearray | memoryview)
        return part, self._position, min(PIECE_BYTES, len(part) - self._position)

    def supply(self, data: Buffer) -> Buffer:
        """What the read that `blocked` named gave; it goes out next."""
        part, _, wanted = self.blocked()
        self._advance(part, len(data), wanted)
        return data

    def _advance(self, part: LogSlice, found: int, wanted: int) -> None:
        if found != wanted:
            raise AnswerTorn(f"{found} bytes read instead of {wanted}")
        self._position += found
        if self._position == len(part):
            self._index += 1
            self._position = 0


def _flat(parts: Sequence[Part]) -> list[Buffer | LogSlice]:
    flat: list[Buffer | LogSlice] = []
    for part in parts:
        if isinstance(part, LogRead):
            flat += part.slices
        else:
            flat.append(part)
    return flat
