"""A naive model of a partition's producers: it keeps every batch and looks at all of them again.

It answers the questions that `ProducerState` answers, straight from the rules and with no state
of its own but the log: the two are compared step by step.
"""

from dataclasses import dataclass, field

from barnabas_core.log.producers.producer_append import (
    AppendOrigin,
    Duplicate,
    InvalidProducerEpoch,
    InvalidTransactionState,
    OutOfOrderSequence,
    ProducerError,
    TransactionCoordinatorFenced,
)
from barnabas_core.records.batch import BatchHeader

SEQUENCE_COUNT = 2**31


@dataclass(frozen=True)
class Batch:
    """Data, or an end marker if `is_commit` is set."""

    producer_id: int
    epoch: int
    base_sequence: int = -1
    count: int = 1
    is_transactional: bool = False
    timestamp_ms: int = 0
    is_commit: bool | None = None
    coordinator_epoch: int = -1
    transaction_version: int = 0

    @property
    def is_marker(self) -> bool:
        return self.is_commit is not None

    @property
    def control(self) -> tuple[int, int] | None:
        return (int(self.is_commit), self.coordinator_epoch) if self.is_commit is not None else None

    @property
    def sequences(self) -> tuple[int, int]:
        last = (self.base_sequence + self.count - 1) % SEQUENCE_COUNT
        return self.base_sequence, last if self.base_sequence >= 0 else -1

    def header(self, base_offset: int = 0) -> BatchHeader:
        attributes = 0x30 if self.is_marker else 0x10 if self.is_transactional else 0
        return BatchHeader(
            base_offset=base_offset,
            batch_length=49,
            partition_leader_epoch=0,
            magic=2,
            crc=0,
            attributes=attributes,
            last_offset_delta=self.count - 1,
            base_timestamp=self.timestamp_ms,
            max_timestamp=self.timestamp_ms,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=self.base_sequence,
            record_count=self.count,
        )


@dataclass(frozen=True)
class Transaction:
    producer_id: int
    first_offset: int
    marker_offset: int | None = None
    is_aborted: bool = False


@dataclass
class ProducerHistory:
    log: list[tuple[int, Batch]] = field(default_factory=list)
    forgotten: dict[int, int] = field(default_factory=dict)
    """Producer id -> how much of the log counted when it expired."""

    @property
    def end_offset(self) -> int:
        return self.log[-1][0] + self.log[-1][1].count if self.log else 0

    def of(self, producer_id: int) -> list[tuple[int, Batch]]:
        known = self.log[self.forgotten.get(producer_id, 0) :]
        return [(offset, batch) for offset, batch in known if batch.producer_id == producer_id]

    def producer_ids(self) -> list[int]:
        ids = {batch.producer_id for _, batch in self.log}
        return sorted(producer_id for producer_id in ids if self.of(producer_id))

    def retained(self, producer_id: int) -> list[tuple[int, Batch]]:
        """The last five data batches of the epoch that was seen last."""
        mine = self.of(producer_id)
        current = []
        for offset, batch in reversed(mine):
            if batch.epoch != mine[-1][1].epoch:
                break
            if not batch.is_marker:
                current.append((offset, batch))
        return current[4::-1]

    def transactions(self) -> list[Transaction]:
        found: list[Transaction] = []
        for producer_id in sorted({batch.producer_id for _, batch in self.log}):
            first: int | None = None
            for offset, batch in self.log:
                if batch.producer_id != producer_id:
                    continue
                if batch.is_marker and first is not None:
                    found.append(Transaction(producer_id, first, offset, not batch.is_commit))
                    first = None
                elif batch.is_transactional and first is None:
                    first = offset
            if first is not None:
                found.append(Transaction(producer_id, first))
        return sorted(found, key=lambda transaction: transaction.first_offset)

    def ongoing(self, producer_id: int) -> int | None:
        for transaction in self.transactions():
            if transaction.producer_id == producer_id and transaction.marker_offset is None:
                return transaction.first_offset
        return None

    def first_unstable(self, high_watermark: int) -> int | None:
        for transaction in self.transactions():
            if transaction.marker_offset is None or transaction.marker_offset >= high_watermark:
                return transaction.first_offset
        return None

    def coordinator_epoch(self, producer_id: int) -> int:
        epochs = [batch.coordinator_epoch for _, batch in self.of(producer_id) if batch.is_marker]
        return epochs[-1] if epochs else -1

    def decide(self, batch: Batch, origin: AppendOrigin) -> Duplicate | type[ProducerError] | None:
        """None to append it, what it repeats, or the error that refuses it."""
        mine = self.of(batch.producer_id)
        if not mine:
            return None
        epoch = mine[-1][1].epoch
        if batch.is_marker:
            return self._decide_marker(batch, epoch)
        if origin is AppendOrigin.CLIENT:
            for offset, retained in self.retained(batch.producer_id):
                if retained.epoch == batch.epoch and retained.sequences == batch.sequences:
                    return Duplicate(offset, offset + retained.count - 1, retained.timestamp_ms)
        return self._decide_data(batch, epoch, origin)

    def _decide_data(
        self, batch: Batch, epoch: int, origin: AppendOrigin
    ) -> type[ProducerError] | None:
        if batch.epoch < epoch:
            return InvalidProducerEpoch
        if origin is AppendOrigin.CLIENT and batch.base_sequence != self._expected(batch, epoch):
            return OutOfOrderSequence
        if self.ongoing(batch.producer_id) is not None and not batch.is_transactional:
            return InvalidTransactionState
        return None

    def _expected(self, batch: Batch, epoch: int) -> int:
        retained = self.retained(batch.producer_id)
        if batch.epoch != epoch or not retained:
            return 0
        last = retained[-1][1].sequences[1]
        return 0 if last == -1 else (last + 1) % SEQUENCE_COUNT

    def _decide_marker(self, batch: Batch, epoch: int) -> type[ProducerError] | None:
        is_open = self.ongoing(batch.producer_id) is not None
        if batch.epoch < epoch or (
            batch.transaction_version >= 2 and is_open and batch.epoch == epoch
        ):
            return InvalidProducerEpoch
        if batch.coordinator_epoch < self.coordinator_epoch(batch.producer_id):
            return TransactionCoordinatorFenced
        return None

    def append(self, batch: Batch) -> int:
        offset = self.end_offset
        self.log.append((offset, batch))
        return offset

    def expire(self, now_ms: int, expiration_ms: int) -> None:
        for producer_id in self.producer_ids():
            _, last = self.of(producer_id)[-1]
            is_idle = self.ongoing(producer_id) is None
            if is_idle and now_ms - last.timestamp_ms >= expiration_ms:
                self.forgotten[producer_id] = len(self.log)
