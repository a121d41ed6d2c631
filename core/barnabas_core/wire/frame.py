"""Requests and responses on a connection: a size, a header, a message.

A frame handed in here has lost its 4-byte size already (the connection cut it out by that); a
frame handed out begins with it.
"""

import struct
from typing import TypeVar, cast

from barnabas_core.wire.api import API_BY_KEY, ApiInfo
from barnabas_core.wire.codec import decoder, encode, encode_parts
from barnabas_core.wire.error import TrailingBytes, Underflow, UnknownMessage
from barnabas_core.wire.messages.request_header import RequestHeader
from barnabas_core.wire.messages.response_header import ResponseHeader
from barnabas_core.wire.schema import Buffer, Message, Part

M = TypeVar("M", bound=Message)

_KEY_AND_VERSION = struct.Struct(">hh").unpack_from
_SIZE = struct.Struct(">i").pack
_SIZE_AND_CORRELATION = struct.Struct(">ii").pack
_SIZE_AND_CORRELATION_FLEXIBLE = struct.Struct(">iix").pack  # no tagged fields


def api_of(key: int) -> ApiInfo:
    try:
        return API_BY_KEY[key]
    except KeyError:
        raise UnknownMessage(f"no api has key {key}") from None


def decode_request_header(frame: Buffer) -> tuple[RequestHeader, int]:
    """(header, where the message starts).

    The version may be one that is not served: ApiVersions answers even then.
    """
    try:
        key, version = _KEY_AND_VERSION(frame)
    except struct.error:
        raise Underflow(f"a request of {len(frame)} bytes") from None
    header_version = api_of(key).request_header_version(version)
    return decoder(RequestHeader, header_version)(frame, 0)


def decode_request(frame: Buffer) -> tuple[RequestHeader, Message]:
    header, position = decode_request_header(frame)
    message = api_of(header.request_api_key).request
    return header, _decode_rest(message, header.request_api_version, frame, position)


def encode_request(
    message: Message, version: int, correlation_id: int, client_id: str | None = None
) -> list[Part]:
    api = _api_of_message(message)
    header = RequestHeader(api.key, version, correlation_id, client_id)
    head = encode(header, api.request_header_version(version))
    parts = encode_parts(message, version)
    size = len(head) + sum(map(len, parts))
    parts[0] = _SIZE(size) + head + cast("bytes", parts[0])
    return parts


def encode_response(message: Message, version: int, correlation_id: int) -> list[Part]:
    """The parts to send; `records` among them are the objects that the message holds."""
    header_version = _api_of_message(message).response_header_version(version)
    parts = encode_parts(message, version)
    size = 4 + header_version + sum(map(len, parts))
    pack = _SIZE_AND_CORRELATION_FLEXIBLE if header_version else _SIZE_AND_CORRELATION
    # The first part is always bytes of the encoder's own.
    parts[0] = pack(size, correlation_id) + cast("bytes", parts[0])
    return parts


def decode_response(message: type[M], version: int, frame: Buffer) -> tuple[ResponseHeader, M]:
    assert message.KEY is not None
    header_version = api_of(message.KEY).response_header_version(version)
    header, position = decoder(ResponseHeader, header_version)(frame, 0)
    return header, _decode_rest(message, version, frame, position)


def _decode_rest(message: type[M], version: int, frame: Buffer, position: int) -> M:
    value, end = decoder(message, version)(frame, position)
    if end != len(frame):
        raise TrailingBytes(f"{len(frame) - end} bytes behind {message.__name__} version {version}")
    return value


def _api_of_message(message: Message) -> ApiInfo:
    assert message.KEY is not None, f"{type(message).__name__} is not sent by itself"
    return api_of(message.KEY)
