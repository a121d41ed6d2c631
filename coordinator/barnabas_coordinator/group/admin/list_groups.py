"""ListGroups (key 16), decided v0-v5.

v4 filter by state, and the state in the answer; v5 filter by type, and the type in the answer.
Filters are read whatever their case; a type that nobody knows matches no group. Versions before v5
are shown groups of all types, as Kafka shows them.
"""

from collections.abc import Sequence

from barnabas_coordinator.group.group_state import GroupState
from barnabas_coordinator.group.offsets.simple_group import all_group_ids, find_group
from barnabas_coordinator.shard.decision import Answer, Decision, Env, Request
from barnabas_core.wire.messages.list_groups_request import ListGroupsRequest
from barnabas_core.wire.messages.list_groups_response import ListedGroup, ListGroupsResponse


def decide_list_groups(state: GroupState, request: Request, env: Env) -> Sequence[Decision]:
    wanted = request.message
    assert isinstance(wanted, ListGroupsRequest)
    states = {each.strip().lower() for each in wanted.states_filter}
    types = {each.strip().lower() for each in wanted.types_filter}
    listed = [
        one
        for one in _all(state)
        if (not states or one.group_state.lower() in states)
        and (not types or one.group_type.lower() in types)
    ]
    return [Decision((), answers=[Answer(request.call, ListGroupsResponse(groups=listed))])]


def _all(state: GroupState) -> list[ListedGroup]:
    groups = [find_group(state, each) for each in all_group_ids(state)]
    return [
        ListedGroup(one.group_id, one.protocol_type, one.state_name, one.type.value)
        for one in groups
        if one is not None
    ]
