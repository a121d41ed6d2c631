"""A classic group of consumers becomes a consumer group while they go on (KIP-848, migration).

Somebody who speaks the new protocol joins it. Its members are in the new group as they were in the
old one, with what they were assigned, and speak the classic protocol to it (`classic_requests`).
"""

from typing import Final

from barnabas_coordinator.group.classic.answers import dismiss
from barnabas_coordinator.group.classic.group import SESSION, ClassicGroup
from barnabas_coordinator.group.classic.member import ClassicMember
from barnabas_coordinator.group.consumer.classic_bytes import assignment_of, subscription_of
from barnabas_coordinator.group.consumer.consumer_group import FIRST_EPOCH, ConsumerGroup
from barnabas_coordinator.group.consumer.group_records import (
    current_record,
    epoch_record,
    member_record,
    target_epoch_record,
    target_record,
)
from barnabas_coordinator.group.consumer.heartbeat_answer import keep_session
from barnabas_coordinator.group.consumer.heartbeat_check import Refused
from barnabas_coordinator.group.consumer.member import ClassicProtocols, Member, Partitions
from barnabas_coordinator.group.consumer.topic_hash import hash_of
from barnabas_coordinator.group.group_settings import GroupSettings
from barnabas_coordinator.group.group_state import GroupState
from barnabas_coordinator.shard.decision import Answer, Env, Record
from barnabas_core.wire.error import DecodeError
from barnabas_core.wire.error_code import ErrorCode

UPGRADES: Final = frozenset({"upgrade", "bidirectional"})


def may_upgrade(classic: ClassicGroup, settings: GroupSettings) -> bool:
    is_allowed = settings.consumer_migration_policy.lower() in UPGRADES
    has_room = len(classic.members) < settings.consumer_max_size
    return is_allowed and classic.is_of_consumers and has_room


def upgraded(
    state: GroupState, classic: ClassicGroup, env: Env
) -> tuple[ConsumerGroup, list[Record], list[Answer]]:
    """Whoever waits in the classic group is told to come again."""
    group = _converted(classic, env)
    answers: list[Answer] = []
    for member in list(classic.members.values()):
        answers += dismiss(classic, member, ErrorCode.REBALANCE_IN_PROGRESS)
        state.deadlines.cancel((SESSION, classic.group_id, member.member_id))
    for one in group.members.values():
        keep_session(state, group.group_id, one, env)
    return group, classic.tombstones() + _records(group), answers


def _converted(classic: ClassicGroup, env: Env) -> ConsumerGroup:
    epoch = max(classic.generation, FIRST_EPOCH)
    group = ConsumerGroup(classic.group_id, epoch=epoch, assignment_epoch=epoch)
    try:
        for member in classic.members.values():
            partitions = assignment_of(member.assignment, env.image.topics)
            mine = _not_taken(group, partitions)
            group.put_member(_member(member, epoch, mine, classic, env))
            group.targets[member.member_id] = mine
    except DecodeError as error:
        raise Refused(
            ErrorCode.GROUP_ID_NOT_FOUND,
            f"Cannot upgrade the classic group {classic.group_id} to consumer group because the "
            "embedded consumer protocol is malformed.",
        ) from error
    group.metadata_hash = hash_of(group.subscribed_topics(), env.image)
    return group


def _member(
    member: ClassicMember, epoch: int, mine: Partitions, classic: ClassicGroup, env: Env
) -> Member:
    # While the first rebalance is prepared no protocol is chosen yet: what it likes best.
    metadata = member.metadata(classic.protocol_name) or member.protocols[0][1]
    subscription = subscription_of(metadata, env.image.topics)
    return Member(
        member_id=member.member_id,
        instance_id=member.group_instance_id,
        rack_id=subscription.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topic_names=subscription.topics,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        classic=ClassicProtocols(member.session_timeout_ms, member.protocols),
        epoch=epoch,
        previous_epoch=epoch,
        assigned={each: dict.fromkeys(sorted(some), epoch) for each, some in mine.items()},
    )


def _not_taken(group: ConsumerGroup, partitions: Partitions) -> Partitions:
    """Assignors of clients may be wrong; here a partition has one owner."""
    found = {
        topic_id: frozenset(n for n in numbers if group.owner_of(topic_id, n) is None)
        for topic_id, numbers in partitions.items()
    }
    return {topic_id: numbers for topic_id, numbers in found.items() if numbers}


def _records(group: ConsumerGroup) -> list[Record]:
    group_id, members = group.group_id, group.members.values()
    return [
        *(member_record(group_id, one) for one in members),
        epoch_record(group_id, group.epoch, group.metadata_hash),
        *(target_record(group_id, each, group.targets[each]) for each in group.members),
        target_epoch_record(group_id, group.assignment_epoch, group.assigned_at_ms),
        *(current_record(group_id, one) for one in members),
    ]
