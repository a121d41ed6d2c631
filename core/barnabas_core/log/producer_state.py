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

A producer takes one `bytes` object in one dict: its 46 bytes of a snapshot file, then 24 for each
retained batch. A million of them fit in some 250 MB and cost the garbage collector nothing; a
snapshot is a join of slices.
"""

from collections.abc import Iterator
from enum import Enum
from struct import Struct
from typing import NamedTuple

from barnabas_core.ports import Buffer
from barnabas_core.records.batch import BatchHeader
from barnabas_core.wire.error_code import ErrorCode

RETAINED_BATCHES = 5
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_OFFSET = -1
_SEQUENCE_MAX = 2**31 - 1

_ENTRY = Struct(">qhiqiqiq")
_BATCH = Struct(">iqiq")
ENTRY_BYTES = _ENTRY.size
_BATCHES_KEPT_BYTES = (RETAINED_BATCHES - 1) * _BATCH.size

# Beyond the largest timeout: the coordinator scans now and then, and its markers take time.
LATE_TRANSACTION_BUFFER_MS = 5 * 60 * 1000


class AppendOrigin(Enum):
    """Who wrote the batches, which decides what is checked."""

    CLIENT = "client"
    """A producer: epoch and sequence."""
    COORDINATOR = "coordinator"
    """Offset commits and end markers: they carry no sequence, so only the epochs."""
    REPLICATION = "replication"
    """A leader's log, or our own on recovery: nothing, it was checked when first written."""
    RAFT_LEADER = "raft leader"
    """The metadata log: batches without a producer."""


class ProducerError(Exception):
    """A batch that must not be appended; the producer state is what it was before."""

    error_code: ErrorCode


class OutOfOrderSequence(ProducerError):
    error_code = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


class InvalidProducerEpoch(ProducerError):
    error_code = ErrorCode.INVALID_PRODUCER_EPOCH


class InvalidTransactionState(ProducerError):
    error_code = ErrorCode.INVALID_TXN_STATE


class TransactionCoordinatorFenced(ProducerError):
    error_code = ErrorCode.TRANSACTION_COORDINATOR_FENCED


class ProducerEntry(NamedTuple):
    """One producer, in the order of the fields of a snapshot file and of DescribeProducers."""

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
        return (self.last_sequence - self.offset_delta) & _SEQUENCE_MAX


class Duplicate(NamedTuple):
    """The batch is here already: answer as if it had just been written."""

    first_offset: int
    last_offset: int
    timestamp_ms: int


class CompletedTransaction(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int
    """Of the end marker."""
    is_aborted: bool
    last_stable_offset: int
    """Where the first transaction still ongoing begins, else the offset after the marker."""


class _Started(NamedTuple):
    producer_id: int
    first_offset: int


class _Ended(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool


Control = tuple[int, int]
"""(control type: 0 abort, 1 commit; coordinator epoch): what an end marker says."""

_UNKNOWN = ProducerEntry(-1, NO_PRODUCER_EPOCH, NO_SEQUENCE, NO_OFFSET, 0, -1, -1, NO_OFFSET)


class ProducerState:
    __slots__ = ("_first_unstable", "_oldest_ms", "_ongoing", "_producers", "_unreplicated")

    def __init__(self) -> None:
        self._producers: dict[int, bytes] = {}
        # (first offset, producer id), sorted: transactions begin in log order.
        self._ongoing: list[tuple[int, int]] = []
        # (first offset, offset of the end marker), sorted by the latter.
        self._unreplicated: list[tuple[int, int]] = []
        self._first_unstable: int | None = None
        # No entry is older; lets `expire` return at once when nothing can have expired.
        self._oldest_ms = 2**63 - 1

    def __len__(self) -> int:
        return len(self._producers)

    def entry(self, producer_id: int) -> ProducerEntry | None:
        packed = self._producers.get(producer_id)
        return None if packed is None else _unpack(packed)

    def entries(self) -> Iterator[ProducerEntry]:
        return map(_unpack, self._producers.values())

    def batches(self, producer_id: int) -> list[RetainedBatch]:
        """The retained batches, oldest first."""
        packed = self._producers.get(producer_id, b"")
        return [RetainedBatch(*fields) for fields in _BATCH.iter_unpack(packed[ENTRY_BYTES:])]

    # Appending

    def begin(self, origin: AppendOrigin) -> "ProducerAppend":
        return ProducerAppend(self._producers, origin)

    def check(
        self, header: BatchHeader, origin: AppendOrigin, control: Control | None = None
    ) -> Duplicate | None:
        """Decide on a single batch; nothing changes."""
        return self.begin(origin).check_and_add(header, header.base_offset, control=control)

    def apply(self, append: "ProducerAppend") -> list[CompletedTransaction]:
        """Make what `append` gathered the state; the transactions that it ended, in order."""
        for packed in append.changed.values():
            self._put(packed)
        completed = []
        for event in append.events:
            if isinstance(event, _Started):
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

    def _put(self, packed: bytes) -> None:
        entry = _unpack(packed)
        self._producers[entry.producer_id] = packed
        self._oldest_ms = min(self._oldest_ms, entry.timestamp_ms)

    def _start_transaction(self, first_offset: int, producer_id: int) -> None:
        self._ongoing.append((first_offset, producer_id))
        if self._first_unstable is None:
            self._first_unstable = first_offset

    def _end_transaction(self, ended: _Ended) -> CompletedTransaction:
        self._ongoing.remove((ended.first_offset, ended.producer_id))
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
        entries = list(self.entries())
        expired = [entry for entry in entries if _is_expired(entry, now_ms, expiration_ms)]
        for entry in expired:
            del self._producers[entry.producer_id]
        self._oldest_ms = min((entry.timestamp_ms for entry in self.entries()), default=2**63 - 1)
        return len(expired)

    def clear(self) -> None:
        """Forget everything: the log is empty, or about to be replayed."""
        self._producers.clear()
        self._ongoing.clear()
        self._unreplicated.clear()
        self._first_unstable = None
        self._oldest_ms = 2**63 - 1

    def snapshot(self) -> bytes:
        """The producers, `ENTRY_BYTES` each, for `producer_snapshot.encode_snapshot`."""
        return b"".join([packed[:ENTRY_BYTES] for packed in self._producers.values()])

    def load(self, entries: Buffer, now_ms: int, expiration_ms: int) -> None:
        """Start from `snapshot` bytes: only the last batch of each producer comes back."""
        self.clear()
        for entry in unpack_entries(entries):
            if not _is_expired(entry, now_ms, expiration_ms):
                self._load(entry)
        self._ongoing.sort()
        self._find_first_unstable()

    def _load(self, entry: ProducerEntry) -> None:
        _, _, last_sequence, last_offset, offset_delta, timestamp_ms, _, first_offset = entry
        batches = b""
        if last_offset >= 0:
            batches = _BATCH.pack(last_sequence, last_offset, offset_delta, timestamp_ms)
        self._put(_ENTRY.pack(*entry) + batches)
        if first_offset >= 0:
            self._ongoing.append((first_offset, entry.producer_id))


class ProducerAppend:
    """The batches of one append, checked one after the other against state and each other."""

    __slots__ = ("_origin", "_producers", "changed", "events")

    def __init__(self, producers: dict[int, bytes], origin: AppendOrigin) -> None:
        self._producers = producers
        self._origin = origin
        self.changed: dict[int, bytes] = {}
        self.events: list[_Started | _Ended] = []

    def check_and_add(
        self,
        header: BatchHeader,
        first_offset: int,
        *,
        control: Control | None = None,
        transaction_version: int = 0,
    ) -> Duplicate | None:
        """Add one batch that will start at `first_offset`, unless it is a duplicate or refused."""
        producer_id = header.producer_id
        if producer_id < 0:
            return None
        packed = self.changed.get(producer_id) or self._producers.get(producer_id)
        entry = _UNKNOWN if packed is None else _unpack(packed)
        if header.is_control:
            # Compaction leaves a control batch empty when nothing of its transaction remains.
            if header.record_count:
                assert control is not None, "an end marker without its control record"
                self._check_marker(entry, header, control, transaction_version)
                self._add_marker(entry, packed, header, first_offset, control)
            return None
        if self._origin is AppendOrigin.CLIENT and producer_id not in self.changed:
            duplicate = _find_duplicate(entry, packed, header)
            if duplicate is not None:
                return duplicate
        if self._origin is not AppendOrigin.REPLICATION:
            self._check_data(entry, header)
        self._add_data(entry, packed, header, first_offset)
        return None

    def _check_data(self, entry: ProducerEntry, header: BatchHeader) -> None:
        if header.producer_epoch < entry.epoch:
            raise InvalidProducerEpoch(
                f"producer {header.producer_id} has epoch {header.producer_epoch}, "
                f"the last one seen is {entry.epoch}"
            )
        if self._origin is AppendOrigin.CLIENT:
            _check_sequence(entry, header)
        if entry.transaction_first_offset >= 0 and not header.is_transactional:
            raise InvalidTransactionState(
                f"producer {header.producer_id} writes outside its ongoing transaction"
            )

    def _add_data(
        self, entry: ProducerEntry, packed: bytes | None, header: BatchHeader, first_offset: int
    ) -> None:
        transaction_first_offset = entry.transaction_first_offset
        if header.is_transactional and transaction_first_offset < 0:
            transaction_first_offset = first_offset
            self.events.append(_Started(header.producer_id, first_offset))
        batch = (
            header.last_sequence,
            first_offset + header.last_offset_delta,
            header.last_offset_delta,
            header.max_timestamp,
        )
        kept = b""
        if packed is not None and entry.epoch == header.producer_epoch:
            kept = packed[ENTRY_BYTES:][-_BATCHES_KEPT_BYTES:]
        self.changed[header.producer_id] = b"".join(
            (
                _ENTRY.pack(
                    header.producer_id,
                    header.producer_epoch,
                    *batch,
                    entry.coordinator_epoch,
                    transaction_first_offset,
                ),
                kept,
                _BATCH.pack(*batch),
            )
        )

    def _check_marker(
        self, entry: ProducerEntry, header: BatchHeader, control: Control, transaction_version: int
    ) -> None:
        if self._origin is AppendOrigin.REPLICATION:
            return
        if _is_stale_marker(entry, header.producer_epoch, transaction_version):
            raise InvalidProducerEpoch(
                f"end marker of producer {header.producer_id} has epoch {header.producer_epoch}, "
                f"the last one seen is {entry.epoch} (transaction version {transaction_version})"
            )
        if control[1] < entry.coordinator_epoch:
            raise TransactionCoordinatorFenced(
                f"end marker of producer {header.producer_id} comes from coordinator epoch "
                f"{control[1]}, the last one seen is {entry.coordinator_epoch}"
            )

    def _add_marker(
        self,
        entry: ProducerEntry,
        packed: bytes | None,
        header: BatchHeader,
        offset: int,
        control: Control,
    ) -> None:
        # A transaction without records in this partition leaves no trace but its epochs.
        if entry.transaction_first_offset >= 0:
            is_aborted = control[0] == 0
            self.events.append(
                _Ended(header.producer_id, entry.transaction_first_offset, offset, is_aborted)
            )
        if entry.epoch == header.producer_epoch and packed is not None:
            batch, kept = entry[2:5], packed[ENTRY_BYTES:]
        else:
            batch, kept = _UNKNOWN[2:5], b""
        self.changed[header.producer_id] = (
            _ENTRY.pack(
                header.producer_id,
                header.producer_epoch,
                *batch,
                header.max_timestamp,
                control[1],
                NO_OFFSET,
            )
            + kept
        )


def _unpack(packed: bytes) -> ProducerEntry:
    return tuple.__new__(ProducerEntry, _ENTRY.unpack_from(packed))


def unpack_entries(entries: Buffer) -> Iterator[ProducerEntry]:
    """The producers in what `ProducerState.snapshot` gave."""
    return map(ProducerEntry._make, _ENTRY.iter_unpack(entries))


def _find_duplicate(
    entry: ProducerEntry, packed: bytes | None, header: BatchHeader
) -> Duplicate | None:
    """A retained batch of the same epoch with exactly these sequences."""
    if packed is None or header.producer_epoch != entry.epoch:
        return None
    if _follows(entry.last_sequence, header.base_sequence):
        return None
    for fields in _BATCH.iter_unpack(packed[ENTRY_BYTES:]):
        batch = RetainedBatch(*fields)
        if (batch.first_sequence, batch.last_sequence) == (
            header.base_sequence,
            header.last_sequence,
        ):
            first_offset = batch.last_offset - batch.offset_delta
            return Duplicate(first_offset, batch.last_offset, batch.timestamp_ms)
    return None


def _check_sequence(entry: ProducerEntry, header: BatchHeader) -> None:
    if entry.epoch == NO_PRODUCER_EPOCH:
        # Nothing is known of it, perhaps because retention or expiry took it: any sequence goes.
        return
    if header.producer_epoch != entry.epoch:
        if header.base_sequence != 0:
            raise OutOfOrderSequence(
                f"producer {header.producer_id} starts epoch {header.producer_epoch} with "
                f"sequence {header.base_sequence} (epoch {entry.epoch} before)"
            )
    elif not _follows(entry.last_sequence, header.base_sequence):
        raise OutOfOrderSequence(
            f"producer {header.producer_id} sends sequence {header.base_sequence}, "
            f"the last one written is {entry.last_sequence}"
        )


def _follows(last_sequence: int, sequence: int) -> bool:
    return sequence == last_sequence + 1 or (sequence == 0 and last_sequence == _SEQUENCE_MAX)


def _is_stale_marker(entry: ProducerEntry, epoch: int, transaction_version: int) -> bool:
    """Transaction version 2 (KIP-890) bumps the epoch in each marker.

    So a marker with an epoch seen before is late and could end the *next* transaction; a repeat of
    the one that was written last does no harm while nothing is ongoing.
    """
    if transaction_version < 2 or entry.transaction_first_offset < 0:
        return epoch < entry.epoch
    return epoch <= entry.epoch


def _is_expired(entry: ProducerEntry, now_ms: int, expiration_ms: int) -> bool:
    is_idle = entry.transaction_first_offset < 0
    return is_idle and now_ms - entry.timestamp_ms >= expiration_ms
