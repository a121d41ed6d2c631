"""One producer as it is kept in memory and in a snapshot file: a `bytes` object.

First the 46 bytes of its entry in a `.snapshot` file, then 24 for each retained batch, oldest
first. A million producers fit in some 200 MB and cost the garbage collector nothing, and a
snapshot is a join of slices. An entry is never changed, only replaced, so whoever holds one may
go on using it.
"""

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from barnabas_core.ports import Buffer

RETAINED_BATCHES = 5
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_OFFSET = -1
SEQUENCE_MAX = 2**31 - 1

_ENTRY = Struct(">qhiqiqiq")
_BATCH = Struct(">iqiq")
ENTRY_BYTES = _ENTRY.size
_KEPT_BYTES = (RETAINED_BATCHES - 1) * _BATCH.size
# Last sequence, last offset, offset delta and timestamp: a batch as it is retained.
_LAST_BATCH = slice(10, 34)

Fields = tuple[int, int, int, int, int, int, int, int]
"""Those of `ProducerEntry`, without the cost of making one."""


class ProducerEntry(NamedTuple):
    """The fields of a snapshot file, in its order; what DescribeProducers tells."""

    producer_id: int
    epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp_ms: int
    coordinator_epoch: int
    transaction_first_offset: int
    """-1 if no transaction is ongoing."""


class RetainedBatch(NamedTuple):
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp_ms: int

    @property
    def first_sequence(self) -> int:
        """Sequences are 31 bits wide and go on at 0 after the largest."""
        return (self.last_sequence - self.offset_delta) & SEQUENCE_MAX

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta


UNKNOWN_PRODUCER = ProducerEntry(
    -1, NO_PRODUCER_EPOCH, NO_SEQUENCE, NO_OFFSET, 0, -1, -1, NO_OFFSET
)


def entry_of(packed: bytes) -> ProducerEntry:
    # Half the time of ProducerEntry(*fields); the struct gives exactly as many fields.
    return tuple.__new__(ProducerEntry, _ENTRY.unpack_from(packed))


def batches_of(packed: bytes) -> Iterator[RetainedBatch]:
    """Oldest first."""
    return map(RetainedBatch._make, _BATCH.iter_unpack(packed[ENTRY_BYTES:]))


def pack_loaded(entry: ProducerEntry) -> bytes:
    """What a snapshot file knows: the last batch is the only one retained."""
    head = _ENTRY.pack(*entry)
    return head + head[_LAST_BATCH] if entry.last_offset >= 0 else head


def pack_with_batch(fields: Fields, packed_before: bytes | None) -> bytes:
    """An entry with its last batch as the newest one, after what is retained of those before."""
    head = _ENTRY.pack(*fields)
    if packed_before is None:
        return head + head[_LAST_BATCH]
    return head + packed_before[ENTRY_BYTES:][-_KEPT_BYTES:] + head[_LAST_BATCH]


def pack_without_batch(fields: Fields, packed_before: bytes | None) -> bytes:
    """An entry with the batches before, if any."""
    kept = b"" if packed_before is None else packed_before[ENTRY_BYTES:]
    return _ENTRY.pack(*fields) + kept


def unpack_entries(entries: Buffer) -> Iterator[ProducerEntry]:
    """The producers in what `ProducerState.snapshot` gave."""
    return map(ProducerEntry._make, _ENTRY.iter_unpack(entries))
