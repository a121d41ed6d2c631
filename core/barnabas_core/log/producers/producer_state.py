"""What one partition knows of its idempotent and transactional producers. Pure: no I/O, no clock.

Per producer id: the epoch, the last five batches (a repeated one is answered with its old
offset), the epoch of the coordinator that last ended a transaction, and where an ongoing
transaction began. Per partition: the ongoing transactions, and those whose end marker still lies
above the high watermark; the smallest first offset of either is the first unstable offset, beyond
which `read_committed` readers may not look.

How a log uses it:

- leader append, all of it or nothing::

    append = state.begin(AppendOrigin.CLIENT)
    for header in headers:                # one buffer may hold several batches
        duplicate = append.check_and_add(header, first_offset)
        if duplicate: answer with its offsets, drop `append`
    completed = state.apply(append)       # nothing changed before this line

  `check_and_add` raises a `ProducerError`, which carries the error code for the client. The
  header must hold the final max timestamp (log append time is patched before); its base offset is
  not looked at. For an end marker pass `control=(control type, coordinator epoch)`, and the
  transaction version that WriteTxnMarkers brought.
- what is already in a log, here (recovery) or at the leader (replication): `replay`, which
  accepts everything, because it has been accepted once.
- each `CompletedTransaction` that was aborted goes into the transaction index of the segment that
  holds its marker.
- `on_high_watermark` when that moves, `on_log_start` likewise; then `first_unstable_offset()`.
  The last stable offset is max(log start, min(high watermark, first unstable offset)).
- `expire` now and then. Truncation: `clear`, `load` the newest snapshot at or below the new end,
  `replay` from there on.
"""

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from barnabas_core.log.producers.producer_append import (
    NEVER_MS,
    AppendOrigin,
    Control,
    Duplicate,
    EndedTransaction,
    InvalidProducerEpoch,
    InvalidTransactionState,
    OutOfOrderSequence,
    ProducerAppend,
    ProducerError,
    StartedTransaction,
    TransactionCoordinatorFenced,
)
from barnabas_core.log.producers.producer_entry import (
    ENTRY_BYTES,
    ProducerEntry,
    RetainedBatch,
    batches_of,
    entry_of,
    pack_loaded,
    unpack_entries,
)
from barnabas_core.ports import Buffer
from barnabas_core.records.batch import BatchHeader

__all__ = [
    "AppendOrigin",
    "CompletedTransaction",
    "Control",
    "Duplicate",
    "InvalidProducerEpoch",
    "InvalidTransactionState",
    "OutOfOrderSequence",
    "ProducerAppend",
    "ProducerEntry",
    "ProducerError",
    "ProducerState",
    "TransactionCoordinatorFenced",
]

# Beyond the largest timeout: the coordinator scans now and then, and its markers take time.
LATE_TRANSACTION_BUFFER_MS = 5 * 60 * 1000


class CompletedTransaction(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int
    """Of the end marker."""
    is_aborted: bool
    last_stable_offset: int
    """Where the first transaction still ongoing begins, else the offset after the marker."""


class ProducerState:
    __slots__ = ("_first_unstable", "_oldest_ms", "_ongoing", "_producers", "_unreplicated")

    def __init__(self) -> None:
        self._producers: dict[int, bytes] = {}
        # (first offset, producer id), sorted: transactions begin in log order.
        self._ongoing: list[tuple[int, int]] = []
        # (first offset, offset of the end marker), sorted by the latter.
        self._unreplicated: list[tuple[int, int]] = []
        self._first_unstable: int | None = None
        # No idle entry is older: lets `expire` return at once when nothing can have expired.
        self._oldest_ms = NEVER_MS

    def __len__(self) -> int:
        return len(self._producers)

    def entry(self, producer_id: int) -> ProducerEntry | None:
        packed = self._producers.get(producer_id)
        return None if packed is None else entry_of(packed)

    def entries(self) -> Iterator[ProducerEntry]:
        return map(entry_of, self._producers.values())

    def batches(self, producer_id: int) -> list[RetainedBatch]:
        """The retained batches, oldest first."""
        return list(batches_of(self._producers.get(producer_id, b"")))

    # Appending

    def begin(self, origin: AppendOrigin) -> ProducerAppend:
        return ProducerAppend(self._producers, origin)

    def check(
        self, header: BatchHeader, origin: AppendOrigin, control: Control | None = None
    ) -> Duplicate | None:
        """Decide on a single batch; nothing changes."""
        return self.begin(origin).check_and_add(header, header.base_offset, control=control)

    def apply(self, append: ProducerAppend) -> list[CompletedTransaction]:
        """Make what `append` gathered the state; the transactions that it ended, in order."""
        self._producers.update(append.changed)
        if append.oldest_ms < self._oldest_ms:
            self._oldest_ms = append.oldest_ms
        completed = []
        for event in append.events:
            if isinstance(event, StartedTransaction):
                self._start_transaction(event.first_offset, event.producer_id)
            else:
                completed.append(self._end_transaction(event))
        return completed

    def replay(
        self, header: BatchHeader, first_offset: int, *, control: Control | None = None
    ) -> CompletedTransaction | None:
        """Take in a batch that is in the log already."""
        if header.producer_id < 0:
            return None
        append = self.begin(AppendOrigin.REPLICATION)
        append.check_and_add(header, first_offset, control=control)
        completed = self.apply(append)
        return completed[0] if completed else None

    def _start_transaction(self, first_offset: int, producer_id: int) -> None:
        self._ongoing.append((first_offset, producer_id))
        if self._first_unstable is None:
            self._first_unstable = first_offset

    def _end_transaction(self, ended: EndedTransaction) -> CompletedTransaction:
        ongoing = (ended.first_offset, ended.producer_id)
        index = bisect_left(self._ongoing, ongoing)
        assert self._ongoing[index] == ongoing, f"no transaction to end: {ended}"
        del self._ongoing[index]
        self._unreplicated.append((ended.first_offset, ended.last_offset))
        last_stable = self._ongoing[0][0] if self._ongoing else ended.last_offset + 1
        return CompletedTransaction(*ended, last_stable)

    # Stability

    def first_unstable_offset(self) -> int | None:
        """The first offset of a transaction that is ongoing, or whose end may yet be lost."""
        return self._first_unstable

    def first_undecided_offset(self) -> int | None:
        """Like `first_unstable_offset`, but an end marker counts whether replicated or not."""
        return self._ongoing[0][0] if self._ongoing else None

    def on_high_watermark(self, high_watermark: int) -> None:
        """End markers below it cannot be lost any more."""
        settled = 0
        for _, last_offset in self._unreplicated:
            if last_offset >= high_watermark:
                break
            settled += 1
        if settled:
            del self._unreplicated[:settled]
            self._find_first_unstable()

    def on_log_start(self, log_start: int) -> None:
        self.on_high_watermark(log_start)

    def _find_first_unstable(self) -> None:
        first_offsets = [first_offset for first_offset, _ in self._unreplicated]
        if self._ongoing:
            first_offsets.append(self._ongoing[0][0])
        self._first_unstable = min(first_offsets, default=None)

    def has_late_transaction(self, now_ms: int, transaction_timeout_max_ms: int) -> bool:
        """The oldest transaction outlived every timeout: no coordinator will end it."""
        if not self._ongoing:
            return False
        entry = self.entry(self._ongoing[0][1])
        assert entry is not None, "an ongoing transaction of an unknown producer"
        idle_ms = now_ms - entry.timestamp_ms
        return idle_ms > transaction_timeout_max_ms + LATE_TRANSACTION_BUFFER_MS

    # Lifetime

    def expire(self, now_ms: int, expiration_ms: int) -> int:
        """Forget producers idle for `expiration_ms`, but none with a transaction; how many."""
        if now_ms - self._oldest_ms < expiration_ms:
            return 0
        expired = []
        oldest_ms = NEVER_MS
        for entry in self.entries():
            # One with a transaction comes back by its end marker, with a new timestamp.
            if entry.transaction_first_offset >= 0:
                continue
            if now_ms - entry.timestamp_ms >= expiration_ms:
                expired.append(entry.producer_id)
            else:
                oldest_ms = min(oldest_ms, entry.timestamp_ms)
        for producer_id in expired:
            del self._producers[producer_id]
        self._oldest_ms = oldest_ms
        return len(expired)

    def clear(self) -> None:
        """Forget everything: the log is empty, or about to be replayed."""
        self._producers.clear()
        self._ongoing.clear()
        self._unreplicated.clear()
        self._first_unstable = None
        self._oldest_ms = NEVER_MS

    def snapshot(self) -> bytes:
        """The producers, `ENTRY_BYTES` each, for `producer_snapshot.encode_snapshot`."""
        return b"".join([packed[:ENTRY_BYTES] for packed in self._producers.values()])

    def load(self, entries: Buffer, now_ms: int, expiration_ms: int) -> None:
        """Start from `snapshot` bytes: only the last batch of each producer comes back."""
        self.clear()
        for entry in unpack_entries(entries):
            self._load(entry)
        self.expire(now_ms, expiration_ms)
        self._ongoing.sort()
        self._find_first_unstable()

    def _load(self, entry: ProducerEntry) -> None:
        self._producers[entry.producer_id] = pack_loaded(entry)
        self._oldest_ms = min(self._oldest_ms, entry.timestamp_ms)
        if entry.transaction_first_offset >= 0:
            self._ongoing.append((entry.transaction_first_offset, entry.producer_id))
