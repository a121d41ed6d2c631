"""Records of consumer groups become state. A log may be compacted: any record may be the first."""

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol, TypeVar

from barnabas_coordinator.group.consumer.consumer_group import FIRST_EPOCH, ConsumerGroup
from barnabas_coordinator.group.consumer.member import (
    LEAVE_EPOCH,
    ClassicProtocols,
    Held,
    Member,
    MemberState,
    partitions_of,
)
from barnabas_coordinator.group.consumer.topic_regex import ResolvedRegex
from barnabas_coordinator.group.group_state import GroupState
from barnabas_coordinator.shard.decision import Env
from barnabas_core.wire.messages.consumer_group_current_member_assignment_key import (
    ConsumerGroupCurrentMemberAssignmentKey,
)
from barnabas_core.wire.messages.consumer_group_current_member_assignment_value import (
    ConsumerGroupCurrentMemberAssignmentValue,
    TopicPartitions,
)
from barnabas_core.wire.messages.consumer_group_member_metadata_key import (
    ConsumerGroupMemberMetadataKey,
)
from barnabas_core.wire.messages.consumer_group_member_metadata_value import (
    ConsumerGroupMemberMetadataValue,
)
from barnabas_core.wire.messages.consumer_group_metadata_key import ConsumerGroupMetadataKey
from barnabas_core.wire.messages.consumer_group_metadata_value import ConsumerGroupMetadataValue
from barnabas_core.wire.messages.consumer_group_partition_metadata_key import (
    ConsumerGroupPartitionMetadataKey,
)
from barnabas_core.wire.messages.consumer_group_partition_metadata_value import (
    ConsumerGroupPartitionMetadataValue,
)
from barnabas_core.wire.messages.consumer_group_regular_expression_key import (
    ConsumerGroupRegularExpressionKey,
)
from barnabas_core.wire.messages.consumer_group_regular_expression_value import (
    ConsumerGroupRegularExpressionValue,
)
from barnabas_core.wire.messages.consumer_group_target_assignment_member_key import (
    ConsumerGroupTargetAssignmentMemberKey,
)
from barnabas_core.wire.messages.consumer_group_target_assignment_member_value import (
    ConsumerGroupTargetAssignmentMemberValue,
)
from barnabas_core.wire.messages.consumer_group_target_assignment_metadata_key import (
    ConsumerGroupTargetAssignmentMetadataKey,
)
from barnabas_core.wire.messages.consumer_group_target_assignment_metadata_value import (
    ConsumerGroupTargetAssignmentMetadataValue,
)

_STATES = {int(one): one for one in MemberState}


class _OfGroup(Protocol):
    group_id: str


K = TypeVar("K", bound=_OfGroup)
V = TypeVar("V")


def _on_group(
    apply: Callable[[ConsumerGroup, K, V | None], None],
) -> Callable[[GroupState, K, V | None, Env], None]:
    """A record makes its group; a deletion means something only to one that is there."""

    def replay(state: GroupState, key: K, value: V | None, _: Env) -> None:
        group = _existing(state, key.group_id) if value is None else _group(state, key.group_id)
        if group is not None:
            apply(group, key, value)

    return replay


def replay_metadata(
    state: GroupState,
    key: ConsumerGroupMetadataKey,
    value: ConsumerGroupMetadataValue | None,
    _: Env,
) -> None:
    if value is None:
        # Its last record: all others of it were deleted before.
        if _existing(state, key.group_id) is not None:
            del state.groups[key.group_id]
        return
    group = _group(state, key.group_id)
    group.epoch, group.metadata_hash = value.epoch, value.metadata_hash


@_on_group
def replay_partition_metadata(
    group: ConsumerGroup,
    key: ConsumerGroupPartitionMetadataKey,
    value: ConsumerGroupPartitionMetadataValue | None,
) -> None:
    group.has_partition_metadata = value is not None


@_on_group
def replay_member(
    group: ConsumerGroup,
    key: ConsumerGroupMemberMetadataKey,
    value: ConsumerGroupMemberMetadataValue | None,
) -> None:
    if value is None:
        group.remove_member(key.member_id)
        return
    old = group.members.get(key.member_id) or Member(member_id=key.member_id)
    group.put_member(
        replace(
            old,
            instance_id=value.instance_id,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            topic_names=frozenset(value.subscribed_topic_names),
            topic_regex=value.subscribed_topic_regex or "",
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            assignor=value.server_assignor,
            classic=_classic(value),
        )
    )


def _classic(value: ConsumerGroupMemberMetadataValue) -> ClassicProtocols | None:
    found = value.classic_member_metadata
    if found is None or not found.supported_protocols:
        return None
    protocols = tuple((one.name, one.metadata) for one in found.supported_protocols)
    return ClassicProtocols(found.session_timeout_ms, protocols)


@_on_group
def replay_target_metadata(
    group: ConsumerGroup,
    key: ConsumerGroupTargetAssignmentMetadataKey,
    value: ConsumerGroupTargetAssignmentMetadataValue | None,
) -> None:
    if value is None:
        group.assignment_epoch, group.assigned_at_ms = FIRST_EPOCH, 0
        return
    group.assignment_epoch = value.assignment_epoch
    group.assigned_at_ms = value.assignment_timestamp


@_on_group
def replay_target(
    group: ConsumerGroup,
    key: ConsumerGroupTargetAssignmentMemberKey,
    value: ConsumerGroupTargetAssignmentMemberValue | None,
) -> None:
    if value is None:
        group.targets.pop(key.member_id, None)
        return
    found = partitions_of((one.topic_id, one.partitions) for one in value.topic_partitions)
    group.targets[key.member_id] = found


@_on_group
def replay_current(
    group: ConsumerGroup,
    key: ConsumerGroupCurrentMemberAssignmentKey,
    value: ConsumerGroupCurrentMemberAssignmentValue | None,
) -> None:
    old = group.members.get(key.member_id)
    if value is None:
        if old is not None:
            group.put_member(
                replace(
                    old,
                    epoch=LEAVE_EPOCH,
                    previous_epoch=LEAVE_EPOCH,
                    state=MemberState.STABLE,
                    assigned={},
                    revoking={},
                )
            )
        return
    group.put_member(
        replace(
            old or Member(member_id=key.member_id),
            epoch=value.member_epoch,
            previous_epoch=value.previous_member_epoch,
            state=_STATES.get(value.state, MemberState.UNKNOWN),
            assigned=_held(value.assigned_partitions, value.member_epoch),
            revoking=_held(value.partitions_pending_revocation, value.member_epoch),
        )
    )


def _held(topics: list[TopicPartitions], epoch: int) -> Held:
    held: dict[bytes, dict[int, int]] = {}
    for one in topics:
        # Releases before KIP-1251 did not write them.
        since = one.assignment_epochs or [epoch] * len(one.partitions)
        if one.partitions:
            held[one.topic_id] = dict(zip(one.partitions, since, strict=True))
    return held


@_on_group
def replay_regex(
    group: ConsumerGroup,
    key: ConsumerGroupRegularExpressionKey,
    value: ConsumerGroupRegularExpressionValue | None,
) -> None:
    found = value and ResolvedRegex(frozenset(value.topics), value.version, value.timestamp)
    group.put_regex(key.regular_expression, found or None)


def _existing(state: GroupState, group_id: str) -> ConsumerGroup | None:
    group = state.groups.get(group_id)
    return group if isinstance(group, ConsumerGroup) else None


def _group(state: GroupState, group_id: str) -> ConsumerGroup:
    group = _existing(state, group_id)
    if group is None:
        # A classic group of this name was none but in name (offsets alone), or was deleted before.
        group = ConsumerGroup(group_id)
        state.groups[group_id] = group
    return group
