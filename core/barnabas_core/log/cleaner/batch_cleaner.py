"""What stays of one batch: all of it, some records, its header alone, or nothing.

Fed with every batch of a pass in offset order. Of data, the newest record of each key stays, in the
way of Kafka:

- records beyond what the key map knows are not judged; records without a key are dropped (they
  should not be there) and counted;
- a tombstone is kept until its delete horizon (KIP-534). The first pass that finds it clean puts
  the horizon, now plus `delete.retention.ms`, into the batch's header;
- data of aborted transactions goes;
- a marker goes when it is spent (see `transactions`) and its horizon has passed; the horizon is set
  when a pass first finds it spent;
- a batch without records goes, unless it is the last of an active producer, whose sequence would
  be forgotten: then its header stays alone.

A batch keeps its offsets, sequences, epoch and codec. One that loses nothing is handed back as the
bytes it came in, whatever they are.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas_core.log.cleaner.key_map import KeyMap
from barnabas_core.log.cleaner.transactions import TransactionPass
from barnabas_core.ports import Buffer
from barnabas_core.records.batch import BatchHeader
from barnabas_core.records.builder import builder_like, empty_batch
from barnabas_core.records.control import ControlType, control_type
from barnabas_core.records.record import iter_records
from barnabas_core.records.record_scan import KeyedRecord, iter_keys


class LastBatch(NamedTuple):
    """The last thing that an active producer wrote."""

    offset: int
    """Last offset of its last data batch; -1 if only a marker tells of it."""
    epoch: int


@dataclass(slots=True)
class CleanerStats:
    read_records: int = 0
    read_bytes: int = 0
    kept_records: int = 0
    kept_bytes: int = 0
    keyless_records: int = 0
    aborted_records: int = 0


class _Kept(NamedTuple):
    offsets: list[int]
    has_tombstone: bool


@dataclass(slots=True, kw_only=True)
class BatchCleaner:
    key_map: KeyMap
    transactions: TransactionPass
    producers: Mapping[int, LastBatch]
    now_ms: int
    delete_retention_ms: int
    stats: CleanerStats = field(default_factory=CleanerStats)

    def clean(self, header: BatchHeader, batch: Buffer) -> Buffer | None:
        """The bytes to write for `batch`, None for nothing."""
        self.stats.read_records += header.record_count
        self.stats.read_bytes += len(batch)
        clean = self._clean_control if header.is_control else self._clean_data
        kept = clean(header, batch)
        if kept is None and self._is_last_of_producer(header):
            kept = header_alone(header, batch)
        self.stats.kept_bytes += len(kept or b"")
        return kept

    def _is_last_of_producer(self, header: BatchHeader) -> bool:
        last = self.producers.get(header.producer_id) if header.has_producer_id else None
        if last is None:
            return False
        if last.offset >= 0:
            return header.last_offset == last.offset
        # The marker alone holds the epoch that fences older ones.
        return header.is_control and header.producer_epoch == last.epoch

    def _clean_control(self, header: BatchHeader, batch: Buffer) -> Buffer | None:
        record = next(iter_keys(batch, header=header), None)
        if record is None:
            return None
        kind = control_type(record.key)
        if kind is not ControlType.ABORT and kind is not ControlType.COMMIT:
            return self._unchanged(header, batch)
        if not self.transactions.is_spent(header, kind):
            return self._unchanged(header, batch)
        if header.delete_horizon_ms is None:
            return self._rebuild(header, batch, [record.offset], self._new_horizon_ms)
        if header.delete_horizon_ms <= self.now_ms:
            return None
        return self._unchanged(header, batch)

    def _clean_data(self, header: BatchHeader, batch: Buffer) -> Buffer | None:
        if self.transactions.is_aborted(header):
            self.stats.aborted_records += header.record_count
            return None
        kept = self._kept_of(header, batch)
        if not kept.offsets:
            return None
        needs_horizon = kept.has_tombstone and header.delete_horizon_ms is None
        if len(kept.offsets) == header.record_count and not needs_horizon:
            return self._unchanged(header, batch)
        horizon_ms = self._new_horizon_ms if needs_horizon else header.delete_horizon_ms
        return self._rebuild(header, batch, kept.offsets, horizon_ms)

    def _kept_of(self, header: BatchHeader, batch: Buffer) -> _Kept:
        offsets = []
        has_tombstone = False
        keeps_tombstones = self._keeps_tombstones(header)
        for record in iter_keys(batch, header=header):
            if record.offset > self.key_map.latest_offset:
                offsets.append(record.offset)
            elif self._is_newest(record) and (record.has_value or keeps_tombstones):
                offsets.append(record.offset)
                has_tombstone = has_tombstone or not record.has_value
        return _Kept(offsets, has_tombstone)

    def _is_newest(self, record: KeyedRecord) -> bool:
        if record.key is None:
            self.stats.keyless_records += 1
            return False
        return record.offset >= self.key_map.get(record.key)

    def _keeps_tombstones(self, header: BatchHeader) -> bool:
        return header.delete_horizon_ms is None or self.now_ms < header.delete_horizon_ms

    @property
    def _new_horizon_ms(self) -> int:
        return self.now_ms + self.delete_retention_ms

    def _unchanged(self, header: BatchHeader, batch: Buffer) -> Buffer:
        self.stats.kept_records += header.record_count
        return batch

    def _rebuild(
        self, header: BatchHeader, batch: Buffer, offsets: list[int], horizon_ms: int | None
    ) -> Buffer:
        self.stats.kept_records += len(offsets)
        kept = frozenset(offsets)
        builder = builder_like(header, horizon_ms)
        for offset, timestamp_ms, key, value, headers in iter_records(batch, header=header):
            if offset in kept:
                builder.append(key, value, timestamp_ms, headers, offset)
        return builder.build(header.last_offset)


def header_alone(header: BatchHeader, batch: Buffer) -> Buffer:
    """The batch without its records; itself if it has none."""
    return empty_batch(header) if header.record_count else batch
