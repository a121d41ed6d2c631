"""What members are told, at every version of what they asked."""

from barnabas_coordinator.group.classic.group import ClassicGroup
from barnabas_coordinator.group.classic.member import ClassicMember, Parked
from barnabas_coordinator.shard.decision import Answer, Request
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.join_group_response import (
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from barnabas_core.wire.messages.sync_group_response import SyncGroupResponse

_NULLABLE_PROTOCOL_NAME_FROM = 7


def parked(request: Request) -> Parked:
    return Parked(request.call, request.context.api_version)


def join_error(to: Parked, error: ErrorCode, member_id: str = "") -> Answer:
    """Without a protocol, where that can be said."""
    answer = JoinGroupResponse(error_code=error, member_id=member_id)
    if to.api_version >= _NULLABLE_PROTOCOL_NAME_FROM:
        answer.protocol_name = None
    return Answer(to.call, answer)


def joined(
    to: Parked,
    group: ClassicGroup,
    member_id: str,
    *,
    with_members: bool,
    skip_assignment: bool = False,
    leader_id: str | None = None,
) -> Answer:
    """The generation as it is; only who leads it is told who else is in it."""
    answer = JoinGroupResponse(
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=leader_id or group.leader_id or "",
        skip_assignment=skip_assignment,
        member_id=member_id,
        members=[_listed(group, one) for one in group.members.values()] if with_members else [],
    )
    return Answer(to.call, answer)


def _listed(group: ClassicGroup, member: ClassicMember) -> JoinGroupResponseMember:
    return JoinGroupResponseMember(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        metadata=member.metadata(group.protocol_name),
    )


def sync_error(to: Parked, error: ErrorCode) -> Answer:
    return Answer(to.call, SyncGroupResponse(error_code=error))


def synced(to: Parked, group: ClassicGroup, member: ClassicMember) -> Answer:
    answer = SyncGroupResponse(
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        assignment=member.assignment,
    )
    return Answer(to.call, answer)


def dismiss(group: ClassicGroup, member: ClassicMember, error: ErrorCode) -> list[Answer]:
    """Whatever of its waits is answered with that error."""
    answers = []
    join, sync = group.take_join(member), member.sync
    member.sync = None
    if join is not None:
        # Who is a member no longer begins from nothing; others are told which of theirs it is.
        is_gone = error is ErrorCode.UNKNOWN_MEMBER_ID
        answers.append(join_error(join, error, "" if is_gone else member.member_id))
    if sync is not None:
        answers.append(sync_error(sync, error))
    return answers
