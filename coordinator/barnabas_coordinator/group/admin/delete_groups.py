"""DeleteGroups (key 42), decided v0-v3.

v1 throttle time; v3 error message. A group without members goes with all of its offsets, pending
ones too; others are NON_EMPTY_GROUP, and those that are not there GROUP_ID_NOT_FOUND. Its offsets
go first: whatever of it is written when the coordinator dies, the group can be deleted again.
"""

from collections.abc import Sequence
from typing import Final

from barnabas_coordinator.group.group_state import Group, GroupState
from barnabas_coordinator.group.offsets.offset_record import deletion, offset_tombstones
from barnabas_coordinator.group.offsets.simple_group import find_group
from barnabas_coordinator.shard.decision import Answer, Decision, Env, Record, Request
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.delete_groups_request import DeleteGroupsRequest
from barnabas_core.wire.messages.delete_groups_response import (
    DeletableGroupResult,
    DeleteGroupsResponse,
)

_MESSAGES: Final = {
    ErrorCode.GROUP_ID_NOT_FOUND: "Group {} not found.",
    ErrorCode.NON_EMPTY_GROUP: "The group is not empty.",
}


def decide_delete_groups(state: GroupState, request: Request, env: Env) -> Sequence[Decision]:
    wanted = request.message
    assert isinstance(wanted, DeleteGroupsRequest)
    group_ids = tuple(dict.fromkeys(wanted.groups_names))
    records: list[Record] = []
    answer = DeleteGroupsResponse()
    for group_id in group_ids:
        group = find_group(state, group_id)
        error = ErrorCode.GROUP_ID_NOT_FOUND if group is None else group.check_delete()
        if group is not None and error is ErrorCode.NONE:
            records += _tombstones(state, group)
        answer.results.append(_result(group_id, error))
    limit = state.settings.batch_bytes_max
    return deletion(group_ids, records, [Answer(request.call, answer)], limit)


def _tombstones(state: GroupState, group: Group) -> list[Record]:
    return offset_tombstones(state.offsets, group.group_id) + group.tombstones()


def _result(group_id: str, error: ErrorCode) -> DeletableGroupResult:
    message = _MESSAGES.get(error)
    return DeletableGroupResult(
        group_id, error, None if message is None else message.format(group_id)
    )
