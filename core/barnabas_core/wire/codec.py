"""Messages to bytes and back.

`decode(FetchRequest, 12, buffer)` and `encode(message, 12)`: the functions that do it are
compiled from the message's rows the first time a (message, version) is used, and kept; `python -m
barnabas_core.wire show FetchRequest 12` prints them.

A decoder copies a buffer that is not `bytes` before it reads, unless the message has `records`,
which are views of the buffer given: so give it the message's own bytes, not a large buffer of
which the message is a small part.
"""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, cast

from barnabas_core.wire.decode_source import decode_source
from barnabas_core.wire.encode_source import encode_source
from barnabas_core.wire.error import TrailingBytes
from barnabas_core.wire.schema import Buffer, Message, Part, check_version
from barnabas_core.wire.source import compile_function

M = TypeVar("M", bound=Message)
Decoder: TypeAlias = Callable[[Buffer, int], tuple[M, int]]
Encoder: TypeAlias = Callable[[M], list[Part]]

_decoders: dict[tuple[type[Message], int], Any] = {}
_encoders: dict[tuple[type[Message], int], Any] = {}


def decode(message: type[M], version: int, buffer: Buffer) -> M:
    """The message that `buffer` is, to its last byte."""
    value, position = decoder(message, version)(buffer, 0)
    if position != len(buffer):
        left = len(buffer) - position
        raise TrailingBytes(f"{left} bytes behind {message.__name__} version {version}")
    return value


def encode(message: Message, version: int) -> bytes:
    return b"".join(cast("list[bytes]", encoder(type(message), version)(message)))


def encode_parts(message: Message, version: int) -> list[Part]:
    """The bytes in order; each `records` value is a part by itself, the very object given."""
    return encoder(type(message), version)(message)


def decoder(message: type[M], version: int) -> Decoder[M]:
    """(buffer, position) -> (message, next position), compiled on first use."""
    found: Decoder[M] | None = _decoders.get((message, version))
    if found is None:
        check_version(message, version)
        source = decode_source(message, version)
        origin = f"decode {message.__name__} version {version}"
        found = cast("Decoder[M]", compile_function(source, "decode", origin))
        _decoders[message, version] = found
    return found


def encoder(message: type[M], version: int) -> Encoder[M]:
    """message -> parts, compiled on first use."""
    found: Encoder[M] | None = _encoders.get((message, version))
    if found is None:
        check_version(message, version)
        source = encode_source(message, version)
        origin = f"encode {message.__name__} version {version}"
        found = cast("Encoder[M]", compile_function(source, "encode", origin))
        _encoders[message, version] = found
    return found
