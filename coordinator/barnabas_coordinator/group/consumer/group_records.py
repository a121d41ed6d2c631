"""The records of consumer groups, as Kafka writes them."""

from collections.abc import Iterable, Mapping

from barnabas_coordinator.group.consumer.member import Held, Member, Partitions
from barnabas_coordinator.group.consumer.topic_regex import ResolvedRegex
from barnabas_coordinator.shard.decision import Record
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
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupMemberMetadataValue,
)
from barnabas_core.wire.messages.consumer_group_metadata_key import ConsumerGroupMetadataKey
from barnabas_core.wire.messages.consumer_group_metadata_value import ConsumerGroupMetadataValue
from barnabas_core.wire.messages.consumer_group_partition_metadata_key import (
    ConsumerGroupPartitionMetadataKey,
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
    TopicPartition,
)
from barnabas_core.wire.messages.consumer_group_target_assignment_metadata_key import (
    ConsumerGroupTargetAssignmentMetadataKey,
)
from barnabas_core.wire.messages.consumer_group_target_assignment_metadata_value import (
    ConsumerGroupTargetAssignmentMetadataValue,
)


def epoch_record(group_id: str, epoch: int, metadata_hash: int) -> Record:
    value = ConsumerGroupMetadataValue(epoch, metadata_hash)
    return Record(ConsumerGroupMetadataKey(group_id), value)


def epoch_tombstone(group_id: str) -> Record:
    return Record(ConsumerGroupMetadataKey(group_id), None)


def member_record(group_id: str, member: Member) -> Record:
    value = ConsumerGroupMemberMetadataValue(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topic_names),
        subscribed_topic_regex=member.topic_regex,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        server_assignor=member.assignor,
        classic_member_metadata=_classic(member),
    )
    return Record(ConsumerGroupMemberMetadataKey(group_id, member.member_id), value)


def _classic(member: Member) -> ClassicMemberMetadata | None:
    if member.classic is None:
        return None
    protocols = [ClassicProtocol(name, metadata) for name, metadata in member.classic.supported]
    return ClassicMemberMetadata(member.classic.session_timeout_ms, protocols)


def target_epoch_record(group_id: str, epoch: int, assigned_at_ms: int) -> Record:
    value = ConsumerGroupTargetAssignmentMetadataValue(epoch, assigned_at_ms)
    return Record(ConsumerGroupTargetAssignmentMetadataKey(group_id), value)


def target_epoch_tombstone(group_id: str) -> Record:
    return Record(ConsumerGroupTargetAssignmentMetadataKey(group_id), None)


def target_record(group_id: str, member_id: str, partitions: Partitions) -> Record:
    value = ConsumerGroupTargetAssignmentMemberValue(
        [TopicPartition(topic_id, sorted(some)) for topic_id, some in sorted(partitions.items())]
    )
    return Record(ConsumerGroupTargetAssignmentMemberKey(group_id, member_id), value)


def current_record(group_id: str, member: Member) -> Record:
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=member.epoch,
        previous_member_epoch=member.previous_epoch,
        state=int(member.state),
        assigned_partitions=_with_epochs(member.assigned),
        partitions_pending_revocation=_with_epochs(member.revoking),
    )
    return Record(ConsumerGroupCurrentMemberAssignmentKey(group_id, member.member_id), value)


def _with_epochs(held: Held) -> list[TopicPartitions]:
    return [
        TopicPartitions(topic_id, sorted(since), [since[number] for number in sorted(since)])
        for topic_id, since in sorted(held.items())
    ]


def current_tombstone(group_id: str, member_id: str) -> Record:
    return Record(ConsumerGroupCurrentMemberAssignmentKey(group_id, member_id), None)


def target_tombstone(group_id: str, member_id: str) -> Record:
    return Record(ConsumerGroupTargetAssignmentMemberKey(group_id, member_id), None)


def member_tombstone(group_id: str, member_id: str) -> Record:
    return Record(ConsumerGroupMemberMetadataKey(group_id, member_id), None)


def member_tombstones(group_id: str, member_id: str) -> list[Record]:
    """All of one member's records."""
    return [
        current_tombstone(group_id, member_id),
        target_tombstone(group_id, member_id),
        member_tombstone(group_id, member_id),
    ]


def regex_record(group_id: str, regex: str, found: ResolvedRegex) -> Record:
    value = ConsumerGroupRegularExpressionValue(
        sorted(found.topics), found.version, found.timestamp_ms
    )
    return Record(ConsumerGroupRegularExpressionKey(group_id, regex), value)


def regex_tombstone(group_id: str, regex: str) -> Record:
    return Record(ConsumerGroupRegularExpressionKey(group_id, regex), None)


def group_tombstones(
    group_id: str, targets: Mapping[str, Partitions], members: Iterable[str], regexes: Iterable[str]
) -> list[Record]:
    """All records of a group, in Kafka's order: what depends on another goes before it."""
    ids = list(members)
    return [
        *(current_tombstone(group_id, each) for each in ids),
        *(target_tombstone(group_id, each) for each in dict.fromkeys((*ids, *targets))),
        target_epoch_tombstone(group_id),
        *(member_tombstone(group_id, each) for each in ids),
        *(regex_tombstone(group_id, each) for each in regexes),
        epoch_tombstone(group_id),
    ]


def partition_metadata_tombstone(group_id: str) -> Record:
    """Of what releases before the metadata hash wrote in its place."""
    return Record(ConsumerGroupPartitionMetadataKey(group_id), None)
