"""Kafka's producer `.snapshot` file: what a restart needs of the producers, without a replay.

    version int16 = 1 | crc uint32 | count int32 | count entries of 46 bytes

The CRC-32C covers everything after itself. The file is named by the offset up to which it holds;
an entry is laid out as in `producer_entry.ProducerEntry`. A corrupt file is dropped by the log,
which then starts from an older one or replays more.
"""

from struct import Struct

from barnabas_core.log.producers.producer_entry import ENTRY_BYTES
from barnabas_core.records.checksum import crc32c

_VERSION = 1
_HEAD = Struct(">hI")
_COUNT = Struct(">i")
_ENTRIES_POSITION = _HEAD.size + _COUNT.size


class CorruptSnapshot(Exception):
    """Not a producer snapshot as it was written: delete it and do without."""


def encode_snapshot(entries: bytes) -> bytes:
    """The file for what `ProducerState.snapshot` gave."""
    body = _COUNT.pack(len(entries) // ENTRY_BYTES) + entries
    return _HEAD.pack(_VERSION, crc32c(body)) + body


def decode_snapshot(data: bytes) -> memoryview:
    """The entries for `ProducerState.load`."""
    if len(data) < _ENTRIES_POSITION:
        raise CorruptSnapshot(f"{len(data)} bytes are too few for a snapshot")
    version, crc = _HEAD.unpack_from(data)
    if version != _VERSION:
        raise CorruptSnapshot(f"version {version}, expected {_VERSION}")
    view = memoryview(data)
    actual = crc32c(view[_HEAD.size :])
    if crc != actual:
        raise CorruptSnapshot(f"CRC {actual:#010x}, expected {crc:#010x}")
    entries = view[_ENTRIES_POSITION:]
    (count,) = _COUNT.unpack_from(data, _HEAD.size)
    if count * ENTRY_BYTES != len(entries):
        raise CorruptSnapshot(f"{count} entries announced in {len(entries)} bytes")
    return entries
