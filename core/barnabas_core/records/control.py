"""Control records, which brokers and the quorum write for each other and clients skip.

The key says what it is (version int16, type int16). Here are the types and the transaction marker,
alone in its batch, whose header carries the producer's id and epoch. What only the quorum writes is
in `quorum_control`.
"""

import struct
from enum import IntEnum
from typing import NamedTuple

from barnabas_core.ports.disk import Buffer
from barnabas_core.records.batch import BatchHeader
from barnabas_core.records.builder import build_batch
from barnabas_core.records.error import BatchFault, CorruptBatch
from barnabas_core.records.record import Record, iter_records
from barnabas_core.wire.codec import decoder, encode
from barnabas_core.wire.error import DecodeError
from barnabas_core.wire.messages.end_txn_marker import EndTxnMarker

_KEY = struct.Struct(">hh")
_KEY_VERSION = 0
_VALUE_VERSION = struct.Struct(">h")
_MARKER_VERSION = 0


class ControlType(IntEnum):
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


_BY_NUMBER = {int(kind): kind for kind in ControlType}


class EndTransaction(NamedTuple):
    """A marker: what was decided, and by which epoch of the coordinator."""

    type: ControlType
    coordinator_epoch: int

    @property
    def is_commit(self) -> bool:
        return self.type is ControlType.COMMIT


def control_key(kind: ControlType) -> bytes:
    return _KEY.pack(_KEY_VERSION, kind)


def control_type(key: Buffer | None) -> ControlType | None:
    """The type in a control record's key; None for one that a later Kafka brought."""
    if key is None or len(key) < _KEY.size:
        raise CorruptBatch(BatchFault.BAD_CONTROL_RECORD, "key too short")
    version, number = _KEY.unpack_from(key)
    if version < 0:
        raise CorruptBatch(BatchFault.BAD_CONTROL_RECORD, f"key version {version}")
    return _BY_NUMBER.get(number)


def value_version(value: Buffer | None) -> int:
    """The version that every control record's value begins with."""
    if value is None or len(value) < _VALUE_VERSION.size:
        raise CorruptBatch(BatchFault.BAD_CONTROL_RECORD, "value too short")
    (version,) = _VALUE_VERSION.unpack_from(value)
    if version < 0:
        raise CorruptBatch(BatchFault.BAD_CONTROL_RECORD, f"value version {version}")
    return int(version)


def parse_control(record: Record) -> EndTransaction | None:
    """The transaction marker that the control record is; None if it is something else."""
    kind = control_type(record.key)
    if kind is not ControlType.ABORT and kind is not ControlType.COMMIT:
        return None
    # A later version is read as the one we know, as Kafka does: fields are only ever added.
    value_version(record.value)
    assert record.value is not None
    try:
        read = decoder(EndTxnMarker, _MARKER_VERSION)
        marker, _ = read(record.value, _VALUE_VERSION.size)
    except DecodeError as error:
        raise CorruptBatch(BatchFault.BAD_CONTROL_RECORD, f"marker: {error}") from error
    return EndTransaction(kind, marker.coordinator_epoch)


def end_transaction_in(buffer: Buffer, position: int, header: BatchHeader) -> EndTransaction | None:
    """The marker in a control batch; None if it is another kind of control batch, or empty."""
    record = next(iter_records(buffer, position, header=header), None)
    return None if record is None else parse_control(record)


def end_transaction_batch(
    commit: bool,  # noqa: FBT001  the two markers differ in nothing else
    coordinator_epoch: int,
    producer_id: int,
    producer_epoch: int,
    timestamp_ms: int,
    base_offset: int = 0,
) -> bytearray:
    kind = ControlType.COMMIT if commit else ControlType.ABORT
    marker = encode(EndTxnMarker(coordinator_epoch), _MARKER_VERSION)
    return build_batch(
        [(control_key(kind), _VALUE_VERSION.pack(_MARKER_VERSION) + marker)],
        base_offset=base_offset,
        timestamp_ms=timestamp_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        is_transactional=True,
        is_control=True,
    )
