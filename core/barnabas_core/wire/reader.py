"""The rare paths of a compiled decoder: what it calls instead of containing.

A decoder reads forward and never looks whether a slice came out short. It may do so because a
position only ever grows: behind a length that lies, every read of a fixed size raises, and the
check of the last position finds what was a slice. So nothing here, and nothing in the compiled
code, may move a position back, or make room for elements that the bytes left could not hold.
"""

import struct
from collections.abc import Callable
from typing import NoReturn

from barnabas_core.wire.error import (
    BadTag,
    BadUtf8,
    DecodeError,
    LengthBeyondBuffer,
    LengthTooLarge,
    NegativeLength,
    TooManyElements,
    Underflow,
    UnexpectedNull,
)
from barnabas_core.wire.primitive import continue_uvarint, read_uvarint
from barnabas_core.wire.schema import Buffer, Tags

MAX_ELEMENTS = 1_000_000
MAX_TAGS = 10_000
MAX_STRING_BYTES = 32_767
# Up to here a count costs one byte, and an array of so many elements is too small to do harm.
SMALL = 127
_TAG_MIN_BYTES = 2

# What the straight-line code raises on bytes that end too early or are not text.
BROKEN = (IndexError, struct.error, UnicodeDecodeError)


def explain(error: Exception, position: int, buffer: Buffer) -> DecodeError:
    """The typed error for one of `BROKEN`, raised after `position` had been reached."""
    if position > len(buffer):
        return beyond_buffer(position, buffer)
    if isinstance(error, UnicodeDecodeError):
        return BadUtf8(f"not UTF-8 before byte {position}: {error.reason}")
    return Underflow(f"the buffer of {len(buffer)} bytes ends in a value that starts at {position}")


def beyond_buffer(position: int, buffer: Buffer) -> DecodeError:
    missing = position - len(buffer)
    return LengthBeyondBuffer(f"a length reaches {missing} bytes beyond the end of the buffer")


def long_string(buffer: Buffer, position: int, first: int) -> tuple[int, int]:
    """A compact string's length, plus one, that takes more than one byte."""
    length, position = continue_uvarint(buffer, position, first)
    if length - 1 > MAX_STRING_BYTES:
        raise LengthTooLarge(f"a string of {length - 1} bytes")
    return length, position


def long_array(buffer: Buffer, position: int, first: int, min_bytes: int) -> tuple[int, int]:
    """A compact array's count, plus one, that takes more than one byte."""
    count, position = continue_uvarint(buffer, position, first)
    check_count(count - 1, min_bytes, len(buffer) - position)
    return count, position


def check_count(count: int, min_bytes: int, left_bytes: int) -> None:
    """Refuse an array before the first element of it is made."""
    if count > MAX_ELEMENTS:
        raise TooManyElements(f"an array of {count} elements")
    if count * min_bytes > left_bytes:
        raise TooManyElements(f"an array of {count} elements in {left_bytes} bytes")


def refuse_length(length: int, field: str) -> NoReturn:
    if length == -1:
        raise UnexpectedNull(f"{field} is null")
    raise NegativeLength(f"{field} has length {length}")


def refuse_null(field: str) -> NoReturn:
    raise UnexpectedNull(f"{field} is null")


def tag_count(buffer: Buffer, position: int, first: int) -> tuple[int, int]:
    """How many tagged fields follow, of which the first byte, already read, said `first`."""
    count = first
    if first > SMALL:
        count, position = continue_uvarint(buffer, position, first)
    if count > MAX_TAGS:
        raise TooManyElements(f"{count} tagged fields")
    if count * _TAG_MIN_BYTES > len(buffer) - position:
        raise TooManyElements(f"{count} tagged fields in {len(buffer) - position} bytes")
    return count, position


def tag_head(buffer: Buffer, position: int, last: int) -> tuple[int, int, int]:
    """(tag, where its value starts, where it ends); tags ascend, so each comes once."""
    tag, position = read_uvarint(buffer, position)
    size, position = read_uvarint(buffer, position)
    if tag <= last:
        raise BadTag(f"tag {tag} after tag {last}")
    end = position + size
    if end > len(buffer):
        raise beyond_buffer(end, buffer)
    return tag, position, end


def refuse_tag_size(tag: int, position: int, end: int) -> NoReturn:
    raise BadTag(f"the value of tag {tag} ends at {position} instead of {end}")


def unknown_tags(buffer: Buffer, position: int, first: int) -> tuple[Tags, int]:
    """The tagged fields of a struct that has none of its own."""
    count, position = tag_count(buffer, position, first)
    tags = []
    tag = -1
    for _ in range(count):
        tag, start, position = tag_head(buffer, position, tag)
        tags.append((tag, bytes(buffer[start:position])))
    return tuple(tags), position


class Unpackers(dict[int, Callable[[Buffer, int], tuple[int, ...]]]):
    """Readers of arrays of numbers, by length field; `null` is what that field says for null."""

    def __init__(self, code: str, null: int) -> None:
        self._code = code
        self._null = null

    def __missing__(self, length: int) -> Callable[[Buffer, int], tuple[int, ...]]:
        unpack = struct.Struct(f">{length - self._null - 1}{self._code}").unpack_from
        if length <= SMALL:
            self[length] = unpack
        return unpack
