"""Arrays of 32-bit integers in Kafka's byte order, all of them at once."""

import sys
from array import array

from barnabas_core.ports import Buffer

INT32 = "i"
INT64 = "q"
assert array(INT32).itemsize == 4
assert array(INT64).itemsize == 8

_IS_LITTLE = sys.byteorder == "little"


def decode_ints(data: Buffer) -> "array[int]":
    ints = array(INT32)
    ints.frombytes(data)
    if _IS_LITTLE:
        ints.byteswap()
    return ints


def encode_ints(ints: "array[int]") -> bytes:
    """`ints` is not to be used afterwards."""
    if _IS_LITTLE:
        ints.byteswap()
    return ints.tobytes()


def join_halves(high: "array[int]", low: "array[int]") -> "array[int]":
    """64-bit integers from their halves."""
    halves = array(INT32, bytes(8 * len(high)))
    halves[_IS_LITTLE::2] = high
    halves[1 - _IS_LITTLE :: 2] = low
    whole = array(INT64)
    whole.frombytes(halves.tobytes())
    return whole


def split_halves(whole: "array[int]") -> "tuple[array[int], array[int]]":
    """(high, low) of 64-bit integers."""
    halves = array(INT32)
    halves.frombytes(whole.tobytes())
    return halves[_IS_LITTLE::2], halves[1 - _IS_LITTLE :: 2]
