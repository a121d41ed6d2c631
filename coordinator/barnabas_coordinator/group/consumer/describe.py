"""ConsumerGroupDescribe (key 69), served v0-v1.

v1: whether a member speaks the classic protocol. Authorized operations are the broker's to add.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from barnabas_coordinator.group.consumer.consumer_group import ConsumerGroup
from barnabas_coordinator.group.consumer.heartbeat_check import SWITCHED_OFF
from barnabas_coordinator.group.consumer.member import Member
from barnabas_coordinator.group.consumer.target_assignment import preferred_assignor
from barnabas_coordinator.group.group_state import GroupState
from barnabas_coordinator.shard.decision import Answer, Decision, Env, Request
from barnabas_core.metadata.image import Image
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages import consumer_group_describe_response as wire
from barnabas_core.wire.messages.consumer_group_describe_request import (
    ConsumerGroupDescribeRequest,
)

CLASSIC_MEMBER: Final = 0
CONSUMER_MEMBER: Final = 1


def describe(state: GroupState, request: Request, env: Env) -> Sequence[Decision]:
    message = request.message
    assert isinstance(message, ConsumerGroupDescribeRequest)
    groups = [_described(state, group_id, env) for group_id in message.group_ids]
    response = wire.ConsumerGroupDescribeResponse(groups=groups)
    return [Decision(list(message.group_ids), answers=[Answer(request.call, response)])]


def _described(state: GroupState, group_id: str, env: Env) -> wire.DescribedGroup:
    if not state.settings.has_consumer_groups:
        return wire.DescribedGroup(
            group_id=group_id,
            error_code=ErrorCode.UNSUPPORTED_VERSION,
            error_message=SWITCHED_OFF,
        )
    group = state.groups.get(group_id)
    if not isinstance(group, ConsumerGroup):
        why = "not found" if group is None else "is not a consumer group"
        return wire.DescribedGroup(
            group_id=group_id,
            error_code=ErrorCode.GROUP_ID_NOT_FOUND,
            error_message=f"Group {group_id} {why}.",
        )
    return wire.DescribedGroup(
        group_id=group_id,
        group_state=group.state_name,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=preferred_assignor(group.members, state.settings.consumer_assignors[0]),
        members=[_member(group, member, env.image) for member in group.members.values()],
    )


def _member(group: ConsumerGroup, member: Member, image: Image) -> wire.Member:
    return wire.Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topic_names),
        subscribed_topic_regex=member.topic_regex,
        assignment=_assignment(member.assigned.items(), image),
        target_assignment=_assignment(group.target_of(member.member_id).items(), image),
        member_type=CONSUMER_MEMBER if member.classic is None else CLASSIC_MEMBER,
    )


def _assignment(topics: Iterable[tuple[bytes, Iterable[int]]], image: Image) -> wire.Assignment:
    """Without topics that are gone."""
    return wire.Assignment(
        [
            wire.TopicPartitions(topic_id, topic.name, sorted(numbers))
            for topic_id, numbers in topics
            if (topic := image.topics.get(topic_id)) is not None
        ]
    )
