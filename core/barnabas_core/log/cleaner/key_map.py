"""The newest offset of each key of the dirty part, in a table of fixed size.

24 bytes per slot: the key's 128-bit hash in two words, then the offset.
`log.cleaner.dedupe.buffer.size` and `log.cleaner.io.buffer.load.factor` so mean what they mean to
Kafka: 128 MiB at 0.9 hold five million keys. A `dict` of digests to offsets takes 139 bytes per
key, and nothing bounds it; this table takes 27 at that load and is half as fast (1.6 against 0.9
microseconds a call, of which the hash is 0.4), in a worker process that is niced anyway.

Only the hash is kept: two keys with one hash would be taken for one key, and a record lost. With
128 bits and five million keys that is a chance of 1 in 10**25; a 64-bit hash, at 1 in 10**6, would
not do.

Open addressing with double hashing. The number of slots is prime, so that every step visits every
slot.
"""

from hashlib import blake2b
from struct import Struct

from barnabas_core.ports import Buffer

SLOT_BYTES = 24
ABSENT = -1

_SLOT_WORDS = 3
_DIGEST_BYTES = 16
_WORDS = Struct("<QQ")


class KeyMapTooSmall(Exception):
    """The memory bound leaves no room for a single key."""


class KeyMap:
    __slots__ = ("_limit", "_size", "_slots", "_table", "latest_offset")

    def __init__(self, max_bytes: int, load_factor: float, expected_keys: int) -> None:
        """Room for `expected_keys`, but never more than `max_bytes` in all."""
        most = _largest_prime(max_bytes // SLOT_BYTES)
        if min(int(most * load_factor), most - 1) < 1:
            raise KeyMapTooSmall(f"{max_bytes} bytes for keys, load factor {load_factor}")
        # Half full if memory allows: at 0.9 a search takes five times the probes.
        wanted = _smallest_prime(2 * expected_keys + 3)
        self._slots = min(wanted, most)
        # One slot stays free whatever the load factor, so that every search ends.
        self._limit = min(int(self._slots * load_factor), self._slots - 1)
        self._table = memoryview(bytearray(self._slots * SLOT_BYTES)).cast("Q")
        self._size = 0
        self.latest_offset = ABSENT
        """Up to here the map knows the log; a record beyond it is not judged."""

    def __len__(self) -> int:
        return self._size

    @property
    def size_bytes(self) -> int:
        return self._table.nbytes

    def put(self, key: Buffer, offset: int) -> bool:
        """False if the key is new and there is no room for it."""
        high, low = _hash(key)
        place = self._find(high, low)
        table = self._table
        if not table[place]:
            if self._size >= self._limit:
                return False
            table[place] = high
            table[place + 1] = low
            self._size += 1
        table[place + 2] = offset
        return True

    def get(self, key: Buffer) -> int:
        """The newest offset of `key`, `ABSENT` if it has none."""
        high, low = _hash(key)
        place = self._find(high, low)
        return self._table[place + 2] if self._table[place] else ABSENT

    def _find(self, high: int, low: int) -> int:
        """Where the key is, or the free slot where it would go."""
        table, slots = self._table, self._slots
        slot = high % slots
        place = slot * _SLOT_WORDS
        word = table[place]
        if not word or (word == high and table[place + 1] == low):
            return place
        step = 1 + low % (slots - 1)
        while word and (word != high or table[place + 1] != low):
            slot = (slot + step) % slots
            place = slot * _SLOT_WORDS
            word = table[place]
        return place


def _hash(key: Buffer) -> tuple[int, int]:
    high, low = _WORDS.unpack(blake2b(key, digest_size=_DIGEST_BYTES).digest())
    return high or 1, low  # a slot whose first word is 0 is free


def _is_prime(number: int) -> bool:
    if number < 2:
        return False
    divisor = 2
    while divisor * divisor <= number:
        if number % divisor == 0:
            return False
        divisor += 1
    return True


def _largest_prime(at_most: int) -> int:
    number = at_most
    while number > 1 and not _is_prime(number):
        number -= 1
    return max(number, 0)


def _smallest_prime(at_least: int) -> int:
    number = at_least
    while not _is_prime(number):
        number += 1
    return number
