"""Varints and uuids: the pieces of Kafka's wire format that `struct` does not know."""

from base64 import urlsafe_b64decode, urlsafe_b64encode

from barnabas_core.wire.error import BadVarint, EncodeError
from barnabas_core.wire.schema import ZERO_UUID, Buffer

__all__ = [
    "ZERO_UUID",
    "read_uvarint",
    "read_varint",
    "read_varlong",
    "uuid_from_text",
    "uuid_text",
    "uvarint_bytes",
    "varint_bytes",
    "varlong_bytes",
]

UUID_BYTES = 16
_UINT32_MAX = 0xFFFFFFFF
_UINT64_MAX = 0xFFFFFFFFFFFFFFFF
_INT32_BITS = 32
_INT64_BITS = 64
_MORE = 0x80
_PAYLOAD = 0x7F


def read_uvarint(buffer: Buffer, position: int) -> tuple[int, int]:
    """(value, next position). Raises IndexError where the buffer ends, as indexing does."""
    byte = buffer[position]
    if byte < _MORE:
        return byte, position + 1
    return continue_uvarint(buffer, position + 1, byte)


def continue_uvarint(buffer: Buffer, position: int, first: int) -> tuple[int, int]:
    """The rest of an unsigned varint whose first byte, already read, was not its last."""
    byte = buffer[position]
    if byte < _MORE:  # two bytes reach 16,383, which most lengths do not exceed
        return first - _MORE + (byte << 7), position + 1
    value = first & _PAYLOAD
    for shift in (7, 14, 21, 28):
        byte = buffer[position]
        position += 1
        value |= (byte & _PAYLOAD) << shift
        if byte < _MORE:
            if value > _UINT32_MAX:
                break
            return value, position
    raise BadVarint("an unsigned varint of more than 32 bits")


def read_varint(buffer: Buffer, position: int) -> tuple[int, int]:
    """A zigzag varint of 32 bits: (value, next position)."""
    value, position = read_uvarint(buffer, position)
    return (value >> 1) ^ -(value & 1), position


def read_varlong(buffer: Buffer, position: int) -> tuple[int, int]:
    """A zigzag varint of 64 bits: (value, next position)."""
    value = 0
    for shift in range(0, 70, 7):
        byte = buffer[position]
        position += 1
        value |= (byte & _PAYLOAD) << shift
        if byte < _MORE:
            if value > _UINT64_MAX:
                break
            return (value >> 1) ^ -(value & 1), position
    raise BadVarint("a varint of more than 64 bits")


def uvarint_bytes(value: int) -> bytes:
    if value < 0:
        raise EncodeError(f"an unsigned varint cannot be {value}")
    out = bytearray()
    while value > _PAYLOAD:
        out.append(value & _PAYLOAD | _MORE)
        value >>= 7
    out.append(value)
    return bytes(out)


def varint_bytes(value: int) -> bytes:
    return _zigzag_bytes(value, _INT32_BITS)


def varlong_bytes(value: int) -> bytes:
    return _zigzag_bytes(value, _INT64_BITS)


def _zigzag_bytes(value: int, bits: int) -> bytes:
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise EncodeError(f"{value} does not fit a varint of {bits} bits")
    return uvarint_bytes((value << 1) ^ (value >> bits - 1))


def uuid_text(uuid: bytes) -> str:
    """Kafka's text form: url-safe base64 without padding, 22 characters."""
    return urlsafe_b64encode(uuid).decode("ascii").rstrip("=")


def uuid_from_text(text: str) -> bytes:
    """The 16 bytes; ValueError if the text is not a uuid in Kafka's form."""
    try:
        uuid = urlsafe_b64decode(text + "==")
    except ValueError:
        uuid = b""
    if len(uuid) != UUID_BYTES or uuid_text(uuid) != text:
        raise ValueError(f"{text!r} is not a uuid in url-safe base64")
    return uuid
