"""Control batches: records that brokers and the quorum write for each other, mostly one to a batch.

The key says what it is (version int16, type int16); clients skip them all. A transaction marker
belongs to its producer: it carries the producer's id and epoch, and the epoch of the coordinator
that decided.
"""

import struct
from enum import IntEnum
from typing import NamedTuple

from barnabas_core.ports.disk import Buffer
from barnabas_core.records.batch import BatchHeader
from barnabas_core.records.builder import build_batch
from barnabas_core.records.error import BatchFault, CorruptBatch
from barnabas_core.records.record import Record, iter_records

_KEY = struct.Struct(">hh")
_KEY_VERSION = 0
_END_TRANSACTION = struct.Struct(">hi")
_END_TRANSACTION_VERSION = 0


class ControlType(IntEnum):
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


class EndTransaction(NamedTuple):
    """A marker: what was decided, and by which epoch of the coordinator."""

    type: ControlType
    coordinator_epoch: int

    @property
    def is_commit(self) -> bool:
        return self.type is ControlType.COMMIT


def control_type(key: Buffer | None) -> ControlType | None:
    """The type in a control record's key; None for one that a later version brought."""
    if key is None or len(key) < _KEY.size:
        raise CorruptBatch(BatchFault.BAD_CONTROL_RECORD, "key too short")
    version, number = _KEY.unpack_from(key)
    if version < 0:
        raise CorruptBatch(BatchFault.BAD_CONTROL_RECORD, f"key version {version}")
    return ControlType(number) if number in ControlType._value2member_map_ else None


def parse_end_transaction(record: Record) -> EndTransaction:
    kind = control_type(record.key)
    if kind not in (ControlType.ABORT, ControlType.COMMIT):
        raise CorruptBatch(BatchFault.BAD_CONTROL_RECORD, "not a transaction marker")
    if record.value is None or len(record.value) < _END_TRANSACTION.size:
        raise CorruptBatch(BatchFault.BAD_CONTROL_RECORD, "marker too short")
    version, coordinator_epoch = _END_TRANSACTION.unpack_from(record.value)
    if version < 0:
        raise CorruptBatch(BatchFault.BAD_CONTROL_RECORD, f"marker version {version}")
    return EndTransaction(kind, coordinator_epoch)


def end_transaction_in(buffer: Buffer, position: int, header: BatchHeader) -> EndTransaction | None:
    """The marker in a control batch; None if it is another kind of control batch or empty."""
    record = next(iter_records(buffer, position, header=header), None)
    if record is None or control_type(record.key) not in (ControlType.ABORT, ControlType.COMMIT):
        return None
    return parse_end_transaction(record)


def end_transaction_batch(
    commit: bool,  # noqa: FBT001  the two markers differ in nothing else
    coordinator_epoch: int,
    producer_id: int,
    producer_epoch: int,
    timestamp_ms: int,
    base_offset: int = 0,
) -> bytearray:
    kind = ControlType.COMMIT if commit else ControlType.ABORT
    value = _END_TRANSACTION.pack(_END_TRANSACTION_VERSION, coordinator_epoch)
    return build_batch(
        [(_KEY.pack(_KEY_VERSION, kind), value)],
        base_offset=base_offset,
        timestamp_ms=timestamp_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        is_transactional=True,
        is_control=True,
    )
