"""Zigzag varints inside records, the one place that reads and writes them.

Small numbers of either sign take one byte: 0, -1, 1, -2 become 0, 1, 2, 3; seven bits to a byte,
lowest first. A varint holds 32 bits, a varlong 64. `record` reads one-byte varints, which nearly
all are, by itself and calls here for longer.
"""

from barnabas_core.ports.disk import Buffer
from barnabas_core.records.error import BatchFault, CorruptBatch

_VARINT_BITS = 32
_VARLONG_BITS = 64
_TABLE_SIZE = 2048


def _encode_unsigned(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


# Nearly every length and delta is below this.
_TABLE = [_encode_unsigned(number << 1) for number in range(_TABLE_SIZE)]


def encode_varlong(number: int) -> bytes:
    if 0 <= number < _TABLE_SIZE:
        return _TABLE[number]
    assert -(2**63) <= number < 2**63, number
    return _encode_unsigned((number << 1) ^ (number >> 63))


def encode_varint(number: int) -> bytes:
    if 0 <= number < _TABLE_SIZE:
        return _TABLE[number]
    assert -(2**31) <= number < 2**31, number
    return _encode_unsigned((number << 1) ^ (number >> 31))


def read_varint(buffer: Buffer, position: int) -> tuple[int, int]:
    """(number, position after it). A buffer that ends within it is an IndexError."""
    return _read(buffer, position, _VARINT_BITS)


def read_varlong(buffer: Buffer, position: int) -> tuple[int, int]:
    return _read(buffer, position, _VARLONG_BITS)


def _read(buffer: Buffer, position: int, bits: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = buffer[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift >= bits:
            raise CorruptBatch(BatchFault.BAD_RECORD, f"varint of more than {bits} bits")
    if number >> bits:
        raise CorruptBatch(BatchFault.BAD_RECORD, f"varint of more than {bits} bits")
    return (number >> 1) ^ -(number & 1), position
