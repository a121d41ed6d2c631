"""Heartbeats of members that have nothing to say and nothing to be told but "go on".

While nothing can be written these are all that is answered: they keep a session alive.
"""

from barnabas_coordinator.group.consumer.consumer_group import ConsumerGroup
from barnabas_coordinator.group.consumer.heartbeat import says_nothing_new
from barnabas_coordinator.group.consumer.member import JOIN_EPOCH
from barnabas_coordinator.group.group_state import GroupState
from barnabas_coordinator.shard.decision import Request
from barnabas_core.wire.messages.consumer_group_heartbeat_request import (
    ConsumerGroupHeartbeatRequest,
)


def is_plain_heartbeat(state: GroupState, request: Request) -> bool:
    """Of a member that is where its group is, in a group that is where it wants to be."""
    message = request.message
    assert isinstance(message, ConsumerGroupHeartbeatRequest)
    group = state.groups.get(message.group_id)
    member = group.members.get(message.member_id) if isinstance(group, ConsumerGroup) else None
    if member is None or not isinstance(group, ConsumerGroup):
        return False
    return (
        JOIN_EPOCH < message.member_epoch == member.epoch
        and group.epoch == group.assignment_epoch
        and member.is_reconciled_to(group.assignment_epoch)
        and member.assigned.keys() <= group.target_of(member.member_id).keys()
        and says_nothing_new(member, message, request)
    )
