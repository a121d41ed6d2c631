"""A classic group as it is written: whole, in one record."""

from typing import Final

from barnabas_coordinator.group.classic.group import ClassicGroup
from barnabas_coordinator.group.classic.member import ClassicMember
from barnabas_coordinator.shard.decision import Record
from barnabas_core.wire.messages.group_metadata_key import GroupMetadataKey
from barnabas_core.wire.messages.group_metadata_value import GroupMetadataValue, MemberMetadata

_GROUP_BYTES_MAX: Final = 256
"""Of a batch and a group besides its texts and its members."""
_MEMBER_BYTES_MAX: Final = 64
"""Of a member besides its texts and bytes."""


def group_record(group: ClassicGroup) -> Record:
    value = GroupMetadataValue(
        protocol_type=group.protocol_type,
        generation=group.generation,
        protocol=group.protocol_name,
        leader=group.leader_id,
        current_state_timestamp=-1 if group.state_since_ms is None else group.state_since_ms,
        members=[_member(group, member) for member in group.members.values()],
    )
    return Record(GroupMetadataKey(group=group.group_id), value)


def fits(group: ClassicGroup, batch_bytes_max: int) -> bool:
    """Whether the log would take it as it is. Members say of themselves what they like."""
    texts = [group.group_id, group.protocol_type, group.protocol_name, group.leader_id]
    size = _GROUP_BYTES_MAX
    for one in group.members.values():
        size += _MEMBER_BYTES_MAX + len(one.metadata(group.protocol_name)) + len(one.assignment)
        texts += one.member_id, one.group_instance_id, one.client_id, one.client_host
    return size + sum(len((text or "").encode()) for text in texts) <= batch_bytes_max


def new_group_record(group: ClassicGroup) -> Record:
    """That there is such a group; who is joining it does not count yet."""
    value = GroupMetadataValue(
        protocol_type="",
        generation=0,
        protocol=None,
        leader=None,
        current_state_timestamp=-1 if group.state_since_ms is None else group.state_since_ms,
    )
    return Record(GroupMetadataKey(group=group.group_id), value)


def _member(group: ClassicGroup, member: ClassicMember) -> MemberMetadata:
    return MemberMetadata(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout=member.rebalance_timeout_ms,
        session_timeout=member.session_timeout_ms,
        subscription=member.metadata(group.protocol_name),
        assignment=member.assignment,
    )
