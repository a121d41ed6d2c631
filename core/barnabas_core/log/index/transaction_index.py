"""Aborted transactions: the entries of a `.txnindex`, and which of them a reader must know.

An entry is 34 bytes, big endian: version (0), producer id, first offset, last offset (of the
abort marker), and the last stable offset at the time of the abort. A file holds them in the order
of their markers. Pure: the log owns the files.

A `read_committed` fetch of [start, up_to) must be given every aborted transaction that overlaps
it, in the order of first offsets: clients keep a heap or a queue over that list and surface
aborted records when it is out of order.
"""

from collections.abc import Iterable
from struct import Struct
from typing import NamedTuple

from barnabas_core.ports import Buffer

_ENTRY = Struct(">hqqqq")
_VERSION = 0

ENTRY_BYTES = _ENTRY.size


class AbortedTransaction(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class CorruptTransactionIndex(Exception):
    """The file cannot be trusted: the segment's records must be replayed to rebuild it."""


def encode_aborted(aborted: AbortedTransaction) -> bytes:
    return _ENTRY.pack(_VERSION, *aborted)


def decode_aborted(data: Buffer) -> list[AbortedTransaction]:
    if len(data) % ENTRY_BYTES:
        raise CorruptTransactionIndex(f"{len(data)} bytes are no whole number of entries")
    entries: list[AbortedTransaction] = []
    for version, *fields in _ENTRY.iter_unpack(data):
        if version != _VERSION:
            raise CorruptTransactionIndex(f"entry {len(entries)} has version {version}")
        entries.append(AbortedTransaction(*fields))
    return entries


def check_aborted(
    entries: Iterable[AbortedTransaction], base_offset: int, next_offset: int | None = None
) -> None:
    """Refuse entries that cannot belong to a segment that starts at `base_offset`.

    A transaction may begin in an earlier segment, but its marker, and so its entry, is in this one.
    """
    previous = base_offset - 1
    for index, entry in enumerate(entries):
        if entry.last_offset <= previous:
            raise CorruptTransactionIndex(
                f"entry {index}: marker {entry.last_offset} is not in order"
            )
        if entry.first_offset > entry.last_offset:
            raise CorruptTransactionIndex(f"entry {index}: begins after it ends")
        if next_offset is not None and entry.last_offset >= next_offset:
            raise CorruptTransactionIndex(
                f"entry {index}: marker {entry.last_offset} is not written"
            )
        previous = entry.last_offset


class Collected(NamedTuple):
    aborted: list[AbortedTransaction]
    is_complete: bool
    """No later segment can hold another one: its transactions all began at or after `up_to`."""


def collect_aborted(entries: Iterable[AbortedTransaction], start: int, up_to: int) -> Collected:
    """Those of one segment's entries that overlap [start, up_to), in the order of markers.

    Whoever reads several segments stops at the first complete one, joins the lists and sorts by
    `first_offset` (`overlapping_aborted` does all of it).
    """
    aborted = []
    for entry in entries:
        if entry.last_offset >= start and entry.first_offset < up_to:
            aborted.append(entry)
        if entry.last_stable_offset >= up_to:
            return Collected(aborted, is_complete=True)
    return Collected(aborted, is_complete=False)


def overlapping_aborted(
    segments: Iterable[Iterable[AbortedTransaction]], start: int, up_to: int
) -> list[AbortedTransaction]:
    """What a fetch of [start, up_to) answers, from the segment with `start` and all later ones.

    They are taken lazily: a segment whose predecessors already settle the matter is not read.
    """
    found: list[AbortedTransaction] = []
    for entries in segments:
        aborted, is_complete = collect_aborted(entries, start, up_to)
        found += aborted
        if is_complete:
            break
    found.sort(key=lambda aborted: aborted.first_offset)
    return found
