"""Control records of the quorum: leader change, snapshot header and footer, KRaft version, voters.

Several of them share a batch at the start of an epoch and in the head of a snapshot. Their value is
the message alone, whose first field is its version.
"""

from collections.abc import Sequence
from typing import TypeAlias

from barnabas_core.records.builder import BatchBuilder
from barnabas_core.records.control import ControlType, control_key, control_type, value_version
from barnabas_core.records.error import BatchFault, CorruptBatch
from barnabas_core.records.record import Record
from barnabas_core.wire.codec import decoder, encode
from barnabas_core.wire.error import DecodeError
from barnabas_core.wire.messages.kraft_version_record import KRaftVersionRecord
from barnabas_core.wire.messages.leader_change_message import LeaderChangeMessage
from barnabas_core.wire.messages.snapshot_footer_record import SnapshotFooterRecord
from barnabas_core.wire.messages.snapshot_header_record import SnapshotHeaderRecord
from barnabas_core.wire.messages.voters_record import VotersRecord

QuorumMessage: TypeAlias = (
    LeaderChangeMessage
    | SnapshotHeaderRecord
    | SnapshotFooterRecord
    | KRaftVersionRecord
    | VotersRecord
)

_MESSAGES: dict[ControlType, type[QuorumMessage]] = {
    ControlType.LEADER_CHANGE: LeaderChangeMessage,
    ControlType.SNAPSHOT_HEADER: SnapshotHeaderRecord,
    ControlType.SNAPSHOT_FOOTER: SnapshotFooterRecord,
    ControlType.KRAFT_VERSION: KRaftVersionRecord,
    ControlType.KRAFT_VOTERS: VotersRecord,
}
_TYPES = {message: kind for kind, message in _MESSAGES.items()}


def parse_quorum_control(record: Record) -> QuorumMessage | None:
    """The message; None if the control record is a transaction marker or from a later Kafka."""
    kind = control_type(record.key)
    if kind is None or kind not in _MESSAGES:
        return None
    version = value_version(record.value)
    assert record.value is not None
    message = _MESSAGES[kind]
    try:
        # A later version is read as the latest known, as Kafka does.
        return decoder(message, min(version, message.MAX_VERSION))(record.value, 0)[0]
    except DecodeError as error:
        raise CorruptBatch(BatchFault.BAD_CONTROL_RECORD, f"{kind.name}: {error}") from error


def quorum_batch(
    messages: Sequence[QuorumMessage],
    *,
    leader_epoch: int,
    timestamp_ms: int,
    base_offset: int = 0,
) -> bytearray:
    """One control batch of `messages`. Kafka 4.x writes and reads each of them at version 0."""
    builder = BatchBuilder(base_offset=base_offset, leader_epoch=leader_epoch, is_control=True)
    for message in messages:
        value = encode(message, message.version)
        builder.append(control_key(_TYPES[type(message)]), value, timestamp_ms)
    return builder.build()
