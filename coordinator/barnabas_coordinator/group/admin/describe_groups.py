"""DescribeGroups (key 15), decided v0-v6.

v3 authorized operations (left to the broker, which knows what the client may do); v4 group instance
id; v6 error message, GROUP_ID_NOT_FOUND. Before v6 a group that is not there is Dead, and no error.

Classic groups only: others are described by APIs of their own, and are not found here. What members
support and were assigned is shown of a stable group.
"""

from collections.abc import Sequence
from typing import Final

from barnabas_coordinator.group.classic.group import ClassicGroup
from barnabas_coordinator.group.classic.member import ClassicMember
from barnabas_coordinator.group.group_state import Group, GroupState, GroupType
from barnabas_coordinator.group.offsets.simple_group import find_group
from barnabas_coordinator.shard.decision import Answer, Decision, Env, Request
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.describe_groups_request import DescribeGroupsRequest
from barnabas_core.wire.messages.describe_groups_response import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsResponse,
)

_NOT_FOUND_VERSION: Final = 6


def decide_describe_groups(state: GroupState, request: Request, env: Env) -> Sequence[Decision]:
    wanted = request.message
    assert isinstance(wanted, DescribeGroupsRequest)
    group_ids = tuple(dict.fromkeys(wanted.groups))
    answer = DescribeGroupsResponse(
        groups=[_describe(state, each, request.context.api_version) for each in group_ids]
    )
    return [Decision(group_ids, answers=[Answer(request.call, answer)])]


def _describe(state: GroupState, group_id: str, version: int) -> DescribedGroup:
    group = find_group(state, group_id)
    if group is None:
        return _not_found(group_id, f"Group {group_id} not found.", version)
    if group.type is not GroupType.CLASSIC:
        return _not_found(group_id, f"Group {group_id} is not a classic group.", version)
    return described(group)


def _not_found(group_id: str, message: str, version: int) -> DescribedGroup:
    found = DescribedGroup(group_id=group_id, group_state="Dead")
    if version >= _NOT_FOUND_VERSION:
        found.error_code = ErrorCode.GROUP_ID_NOT_FOUND
        found.error_message = message
    return found


def described(group: Group) -> DescribedGroup:
    found = DescribedGroup(
        group_id=group.group_id, group_state=group.state_name, protocol_type=group.protocol_type
    )
    if isinstance(group, ClassicGroup):
        # While a group rebalances, who supports and has what is about to change.
        protocol = group.protocol_name if group.state_name == "Stable" else None
        found.protocol_data = protocol or ""
        found.members = [_member(each, protocol) for each in group.members.values()]
    return found


def _member(member: ClassicMember, protocol: str | None) -> DescribedGroupMember:
    return DescribedGroupMember(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=b"" if protocol is None else member.metadata(protocol),
        member_assignment=b"" if protocol is None else member.assignment,
    )
