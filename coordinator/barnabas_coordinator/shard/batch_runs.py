"""The batches of a turn: one for each run of decisions of the same producer, or of none.

Many decisions share a batch, as every append costs the same; one decision is never split, so that
it is in the log as a whole or not at all. A marker is a batch of its own. Pure.
"""

from collections.abc import Sequence

from barnabas_coordinator.shard.decision import BatchForm, Producer
from barnabas_core.ports.disk import Buffer
from barnabas_core.records.builder import BatchBuilder
from barnabas_core.records.control import EndTransaction, end_transaction_batch

EncodedRecord = tuple[bytes, bytes | None]
_RECORD_HEAD_BYTES_MAX = 32
"""Lengths, deltas and attributes of a record, and no headers."""


class BatchRuns:
    def __init__(self, base_offset: int, now_ms: int, form: BatchForm) -> None:
        self.end_offset = base_offset
        self._now_ms = now_ms
        self._form = form
        self._producer: Producer | None = None
        self._builder: BatchBuilder | None = None
        self._built: list[Buffer] = []

    def add(self, producer: Producer | None, records: Sequence[EncodedRecord]) -> None:
        """The records of one decision."""
        builder = self._builder_for(producer, records)
        for key, value in records:
            builder.append(key, value, self._now_ms)
        self.end_offset += len(records)

    def add_marker(self, producer: Producer, marker: EndTransaction) -> None:
        self._close()
        self._built.append(
            end_transaction_batch(
                marker.is_commit,
                marker.coordinator_epoch,
                producer.id,
                producer.epoch,
                self._now_ms,
                self.end_offset,
            )
        )
        self.end_offset += 1

    def build(self) -> Buffer:
        """All of them, one behind the other; nothing if there was nothing to write."""
        self._close()
        return self._built[0] if len(self._built) == 1 else b"".join(self._built)

    def _builder_for(
        self, producer: Producer | None, records: Sequence[EncodedRecord]
    ) -> BatchBuilder:
        builder = self._builder
        if builder is not None and producer == self._producer:
            size = sum(_size_max(record) for record in records)
            if builder.size_bytes + size <= self._form.bytes_max:
                return builder
        self._close()
        self._producer = producer
        builder = self._builder = BatchBuilder(
            base_offset=self.end_offset, compression=self._form.compression
        )
        if producer is not None:
            builder.producer_id, builder.producer_epoch = producer
            builder.is_transactional = True
        return builder

    def _close(self) -> None:
        if self._builder is not None:
            self._built.append(self._builder.build())
            self._builder = None


def _size_max(record: EncodedRecord) -> int:
    key, value = record
    return _RECORD_HEAD_BYTES_MAX + len(key) + len(value or b"")
