"""The batches of one append, checked against what is known of their producers and each other.

Everything is gathered in a `ProducerAppend`; the producer state itself is only read. So an append
that is refused, or given up because of a duplicate, has changed nothing.
"""

from enum import Enum
from typing import NamedTuple

from barnabas_core.log.producers.producer_entry import (
    NO_OFFSET,
    SEQUENCE_MAX,
    UNKNOWN_PRODUCER,
    ProducerEntry,
    batches_of,
    entry_of,
    pack_with_batch,
    pack_without_batch,
)
from barnabas_core.records.batch import BatchHeader
from barnabas_core.wire.error_code import ErrorCode

NEVER_MS = 2**63 - 1


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


class Duplicate(NamedTuple):
    """The batch is here already: answer as if it had just been written."""

    first_offset: int
    last_offset: int
    timestamp_ms: int


class StartedTransaction(NamedTuple):
    producer_id: int
    first_offset: int


class EndedTransaction(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool


Control = tuple[int, int]
"""(control type: 0 abort, 1 commit; coordinator epoch): what an end marker says."""
_ABORT = 0


class ProducerAppend:
    __slots__ = ("_origin", "_producers", "changed", "events", "oldest_ms")

    def __init__(self, producers: dict[int, bytes], origin: AppendOrigin) -> None:
        self._producers = producers
        self._origin = origin
        self.changed: dict[int, bytes] = {}
        self.events: list[StartedTransaction | EndedTransaction] = []
        self.oldest_ms = NEVER_MS

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
        entry = UNKNOWN_PRODUCER if packed is None else entry_of(packed)
        if header.is_control:
            # Compaction leaves a control batch empty when nothing of its transaction remains.
            if header.record_count:
                assert control is not None, "an end marker without its control record"
                self._check_marker(entry, header, control, transaction_version)
                self._add_marker(entry, packed, header, first_offset, control)
            return None
        # Of an unknown producer any sequence goes: retention or expiry may have taken its state,
        # and if it is still at work it could never write here again.
        if packed is not None and self._origin is not AppendOrigin.REPLICATION:
            duplicate = self._check_data(entry, packed, header)
            if duplicate is not None:
                return duplicate
        self._add_data(entry, packed, header, first_offset)
        return None

    def _check_data(
        self, entry: ProducerEntry, packed: bytes, header: BatchHeader
    ) -> Duplicate | None:
        follows = header.producer_epoch == entry.epoch and _follows(
            entry.last_sequence, header.base_sequence
        )
        # The common case needs no more. (After batches of a coordinator 0 also follows -1.)
        if not follows or entry.last_sequence < 0:
            # One inside this append would be answered with an offset that nobody has written.
            is_client = self._origin is AppendOrigin.CLIENT
            if is_client and header.producer_id not in self.changed:
                duplicate = _find_duplicate(entry, packed, header)
                if duplicate is not None:
                    return duplicate
            _check_epoch(entry, header)
            if is_client:
                _check_sequence(entry, header)
        if entry.transaction_first_offset >= 0 and not header.is_transactional:
            raise InvalidTransactionState(
                f"producer {header.producer_id} writes outside its ongoing transaction"
            )
        return None

    def _add_data(
        self, before: ProducerEntry, packed: bytes | None, header: BatchHeader, first_offset: int
    ) -> None:
        transaction_first_offset = before.transaction_first_offset
        if header.is_transactional and transaction_first_offset < 0:
            transaction_first_offset = first_offset
            self.events.append(StartedTransaction(header.producer_id, first_offset))
        fields = (
            header.producer_id,
            header.producer_epoch,
            header.last_sequence,
            first_offset + header.last_offset_delta,
            header.last_offset_delta,
            header.max_timestamp,
            before.coordinator_epoch,
            transaction_first_offset,
        )
        is_same_epoch = before.epoch == header.producer_epoch
        self._put(header, pack_with_batch(fields, packed if is_same_epoch else None))

    def _check_marker(
        self,
        entry: ProducerEntry,
        header: BatchHeader,
        control: Control,
        transaction_version: int,
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
        before: ProducerEntry,
        packed: bytes | None,
        header: BatchHeader,
        offset: int,
        control: Control,
    ) -> None:
        # A transaction without records in this partition leaves no trace but its epochs.
        first_offset = before.transaction_first_offset
        if first_offset >= 0:
            is_aborted = control[0] == _ABORT
            self.events.append(
                EndedTransaction(header.producer_id, first_offset, offset, is_aborted)
            )
        is_same_epoch = before.epoch == header.producer_epoch
        batch = before if is_same_epoch else UNKNOWN_PRODUCER
        fields = (
            header.producer_id,
            header.producer_epoch,
            batch.last_sequence,
            batch.last_offset,
            batch.offset_delta,
            header.max_timestamp,
            control[1],
            NO_OFFSET,
        )
        self._put(header, pack_without_batch(fields, packed if is_same_epoch else None))

    def _put(self, header: BatchHeader, packed: bytes) -> None:
        self.changed[header.producer_id] = packed
        if header.max_timestamp < self.oldest_ms:
            self.oldest_ms = header.max_timestamp


def _find_duplicate(entry: ProducerEntry, packed: bytes, header: BatchHeader) -> Duplicate | None:
    """A retained batch of the same epoch with exactly these sequences."""
    if header.producer_epoch != entry.epoch:
        return None
    wanted = header.base_sequence, header.last_sequence
    for batch in batches_of(packed):
        if (batch.first_sequence, batch.last_sequence) == wanted:
            return Duplicate(batch.first_offset, batch.last_offset, batch.timestamp_ms)
    return None


def _check_epoch(entry: ProducerEntry, header: BatchHeader) -> None:
    if header.producer_epoch < entry.epoch:
        raise InvalidProducerEpoch(
            f"producer {header.producer_id} has epoch {header.producer_epoch}, "
            f"the last one seen is {entry.epoch}"
        )


def _check_sequence(entry: ProducerEntry, header: BatchHeader) -> None:
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
    return sequence == last_sequence + 1 or (sequence == 0 and last_sequence == SEQUENCE_MAX)


def _is_stale_marker(entry: ProducerEntry, epoch: int, transaction_version: int) -> bool:
    """Transaction version 2 (KIP-890) bumps the epoch in each marker.

    So a marker with an epoch seen before is late and could end the *next* transaction; a repeat of
    the one that was written last does no harm while nothing is ongoing.
    """
    if transaction_version < 2 or entry.transaction_first_offset < 0:
        return epoch < entry.epoch
    return epoch <= entry.epoch
