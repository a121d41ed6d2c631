"""The rare paths of a compiled encoder, and its table of lengths."""

import struct
from collections.abc import Callable

from barnabas_core.wire.error import EncodeError, UnsupportedField
from barnabas_core.wire.primitive import uvarint_bytes
from barnabas_core.wire.reader import MAX_STRING_BYTES, SMALL
from barnabas_core.wire.schema import Tags

# What the straight-line code raises on a value of the wrong type or out of its type's range.
BROKEN = (struct.error, AttributeError, TypeError, UnicodeEncodeError, OverflowError)


class _Lengths(dict[int, bytes]):
    """Unsigned varints by value: those of one byte are kept, longer ones made when asked for."""

    def __missing__(self, value: int) -> bytes:
        return uvarint_bytes(value)


class _StringLengths(_Lengths):
    def __missing__(self, value: int) -> bytes:
        if value - 1 > MAX_STRING_BYTES:
            raise EncodeError(f"a string of {value - 1} bytes; the longest has {MAX_STRING_BYTES}")
        return uvarint_bytes(value)


_SMALL_LENGTHS = {value: bytes((value,)) for value in range(SMALL + 1)}
lengths = _Lengths(_SMALL_LENGTHS)
string_lengths = _StringLengths(_SMALL_LENGTHS)


def explain(error: Exception, message: str) -> EncodeError:
    return EncodeError(f"{message} holds a value that its field cannot carry: {error}")


def refuse_field(field: str, version: int) -> UnsupportedField:
    return UnsupportedField(f"{field} cannot be sent at version {version}, and has a value")


def refuse_uuid(field: str) -> EncodeError:
    return EncodeError(f"{field} is a uuid that is not 16 bytes long")


def tag_section(known: Tags | list[tuple[int, bytes]], unknown: Tags) -> bytes:
    """All tagged fields of a struct, by ascending tag, behind their number."""
    tags = sorted((*known, *unknown))
    numbers = {tag for tag, _ in tags}
    if len(numbers) != len(tags):
        raise EncodeError("a tag that occurs twice")
    out = [uvarint_bytes(len(tags))]
    for tag, value in tags:
        out += (uvarint_bytes(tag), uvarint_bytes(len(value)), value)
    return b"".join(out)


class Packers(dict[int, Callable[..., bytes]]):
    """Writers of arrays of numbers, by count; called with the length field and the numbers."""

    def __init__(self, code: str, *, is_compact: bool) -> None:
        self._code = code
        self._is_compact = is_compact

    def __missing__(self, count: int) -> Callable[..., bytes]:
        if count >= SMALL:
            return self._pack_long
        length_code = "B" if self._is_compact else "i"
        self[count] = pack = struct.Struct(f">{length_code}{count}{self._code}").pack
        return pack

    def _pack_long(self, length: int, *numbers: int) -> bytes:
        head = uvarint_bytes(length) if self._is_compact else struct.pack(">i", length)
        return head + struct.pack(f">{len(numbers)}{self._code}", *numbers)
