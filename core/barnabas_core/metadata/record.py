"""Metadata records as they lie in `__cluster_metadata`: a frame around one message.

uvarint frame version (1), uvarint record type, uvarint message version, the message. A record of a
type or version that is not known stops whoever reads it: to skip it would be to miss a change that
the rest of the cluster has made.
"""

from functools import lru_cache
from typing import Final

from barnabas_core.wire.catalog import message_for_key
from barnabas_core.wire.codec import decoder, encode
from barnabas_core.wire.error import DecodeError, UnknownMessage, UnknownVersion
from barnabas_core.wire.primitive import read_uvarint, uvarint_bytes
from barnabas_core.wire.schema import Buffer, Message

FRAME_VERSION: Final = 1
_KIND: Final = "metadata-record"


class BadMetadataRecord(Exception):
    """Bytes that are no metadata record, or one of a later release."""


def encode_record(message: Message, version: int) -> bytes:
    kind = type(message)
    if kind.KIND != _KIND or kind.KEY is None:
        raise ValueError(f"{kind.__name__} is no metadata record")
    return _head(kind.KEY, version) + encode(message, version)


def decode_record(buffer: Buffer) -> Message:
    """The record; `BadMetadataRecord` if it is none that is known here."""
    data = bytes(buffer)
    try:
        frame, position = read_uvarint(data, 0)
        key, position = read_uvarint(data, position)
        version, position = read_uvarint(data, position)
        if frame != FRAME_VERSION:
            raise BadMetadataRecord(f"frame version {frame}, only {FRAME_VERSION} is known")
        message, position = decoder(_message(key), version)(data, position)
    except (DecodeError, UnknownMessage, UnknownVersion, IndexError) as error:
        raise BadMetadataRecord(f"a metadata record of {len(data)} bytes: {error}") from error
    if position != len(data):
        raise BadMetadataRecord(f"{len(data) - position} bytes behind {type(message).__name__}")
    return message


@lru_cache
def _message(key: int) -> type[Message]:
    return message_for_key(_KIND, key)


@lru_cache
def _head(key: int, version: int) -> bytes:
    return uvarint_bytes(FRAME_VERSION) + uvarint_bytes(key) + uvarint_bytes(version)
