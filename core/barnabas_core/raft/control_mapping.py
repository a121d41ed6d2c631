"""The quorum's control records: as the core knows them, and as Kafka's messages in a log.

Kafka 4.x writes each of them at version 0: the directory ids of a leader change, which version 1
has, stay in memory. Nobody reads a leader change for its voters.
"""

from collections.abc import Sequence
from typing import assert_never

from barnabas_core.ports.disk import Buffer
from barnabas_core.raft.identity import Endpoint, NodeId, ReplicaKey, VersionRange
from barnabas_core.raft.record import Batch, Control, KRaftVersionChange, LeaderChange, VotersChange
from barnabas_core.raft.voter import Voter, VoterSet
from barnabas_core.records.batch import BatchHeader, check_batch, split_batches
from barnabas_core.records.quorum_control import QuorumMessage, parse_quorum_control, quorum_batch
from barnabas_core.records.record import iter_records
from barnabas_core.wire.messages import leader_change_message as leader_wire
from barnabas_core.wire.messages import voters_record as voters_wire
from barnabas_core.wire.messages.kraft_version_record import KRaftVersionRecord
from barnabas_core.wire.messages.leader_change_message import LeaderChangeMessage
from barnabas_core.wire.messages.voters_record import VotersRecord


def control_to_message(control: Control) -> QuorumMessage:
    if isinstance(control, LeaderChange):
        return LeaderChangeMessage(
            0,
            control.leader_id,
            [leader_wire.Voter(key.node_id) for key in control.voters],
            [leader_wire.Voter(key.node_id) for key in control.granting_voters],
        )
    if isinstance(control, KRaftVersionChange):
        return KRaftVersionRecord(0, control.level)
    if isinstance(control, VotersChange):
        return voters_to_message(control.voters)
    assert_never(control)


def control_of_message(message: QuorumMessage | None) -> Control | None:
    """None for what the core has no business with: a snapshot's head and foot, a later Kafka's."""
    if isinstance(message, LeaderChangeMessage):
        return LeaderChange(
            NodeId(message.leader_id),
            _replica_keys(message.voters),
            _replica_keys(message.granting_voters),
        )
    if isinstance(message, KRaftVersionRecord):
        return KRaftVersionChange(message.kraft_version)
    if isinstance(message, VotersRecord):
        return VotersChange(voters_of_message(message))
    return None


def _replica_keys(voters: Sequence[leader_wire.Voter]) -> tuple[ReplicaKey, ...]:
    return tuple(ReplicaKey(NodeId(one.voter_id), one.voter_directory_id) for one in voters)


def voters_to_message(voters: VoterSet) -> VotersRecord:
    return VotersRecord(0, [_voter_to_message(voter) for voter in voters])


def _voter_to_message(voter: Voter) -> voters_wire.Voter:
    return voters_wire.Voter(
        voter.key.node_id,
        voter.key.directory_id,
        [voters_wire.Endpoint(*endpoint) for endpoint in voter.endpoints],
        voters_wire.KRaftVersionFeature(*voter.kraft_versions),
    )


def voters_of_message(message: VotersRecord) -> VoterSet:
    return VoterSet.of(_voter_of_message(voter) for voter in message.voters)


def _voter_of_message(voter: voters_wire.Voter) -> Voter:
    feature = voter.kraft_version_feature
    return Voter(
        ReplicaKey(NodeId(voter.voter_id), voter.voter_directory_id),
        tuple(Endpoint(one.name, one.host, one.port) for one in voter.endpoints),
        VersionRange(feature.min_supported_version, feature.max_supported_version),
    )


def control_batch(
    controls: Sequence[Control], *, base_offset: int, epoch: int, timestamp_ms: int
) -> bytearray:
    """The batch that holds these controls, as it goes into the log."""
    messages = [control_to_message(control) for control in controls]
    return quorum_batch(
        messages, leader_epoch=epoch, timestamp_ms=timestamp_ms, base_offset=base_offset
    )


def controls_in(buffer: Buffer, position: int, header: BatchHeader) -> tuple[Control | None, ...]:
    """What the records of a control batch say, one per record."""
    assert header.is_control, "controls are in control batches"
    records = iter_records(buffer, position, header=header)
    return tuple(control_of_message(parse_quorum_control(record)) for record in records)


UNKNOWN_CONTROL = LeaderChange(NodeId(-1), (), ())
"""A control record of a later Kafka: it keeps its offset and does nothing, as a leader change."""


def batches_in(buffer: Buffer, *, verify: bool = True) -> tuple[Batch, ...]:
    """The batches that `buffer` holds, its controls understood; `CorruptBatch` if one is damaged.

    A piece of a batch at the end is left out.
    """
    view = memoryview(buffer)
    batches = []
    for position, header in split_batches(view, allow_partial_tail=True):
        if verify:
            check_batch(view, position, header)
        controls: tuple[Control, ...] = ()
        if header.is_control:
            found = controls_in(view, position, header)
            controls = tuple(control or UNKNOWN_CONTROL for control in found)
        batches.append(
            Batch(
                header.base_offset,
                header.partition_leader_epoch,
                header.last_offset_delta + 1,
                view[position : position + header.size_bytes],
                controls,
            )
        )
    return tuple(batches)
