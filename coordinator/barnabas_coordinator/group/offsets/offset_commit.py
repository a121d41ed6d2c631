"""OffsetCommit (key 8), decided v2-v10.

v2-v4 retention time, said by the client; v5 none any more; v6 leader epoch; v7 group instance id;
v9 member epoch of the consumer protocol, GROUP_ID_NOT_FOUND where it was ILLEGAL_GENERATION; v10
topic ids, UNKNOWN_TOPIC_ID. Refused: v0 and v1, as in Kafka 4.

All the partitions of a request that may be committed are, in one batch. A commit that would not fit
into a batch is INVALID_COMMIT_OFFSET_SIZE and commits nothing (Kafka 4 has UNKNOWN_SERVER_ERROR
for it).
"""

from collections.abc import Sequence
from typing import Final

from barnabas_coordinator.group.group_state import GroupState
from barnabas_coordinator.group.offsets.commit_check import CommitApi, CommitCheck
from barnabas_coordinator.shard.decision import Answer, Decision, Env, Request
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.offset_commit_request import OffsetCommitRequest
from barnabas_core.wire.messages.offset_commit_response import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

_API: Final = CommitApi(
    OffsetCommitResponseTopic,
    OffsetCommitResponsePartition,
    topic_ids_version=10,
    is_transactional=False,
)


def decide_offset_commit(state: GroupState, request: Request, env: Env) -> Sequence[Decision]:
    wanted = request.message
    assert isinstance(wanted, OffsetCommitRequest)
    check = CommitCheck(state, request, _API, env)
    check.expire_after(wanted.retention_time_ms)
    check.take_all()
    if check.is_too_large:
        check.refuse(ErrorCode.INVALID_COMMIT_OFFSET_SIZE)
    answer = OffsetCommitResponse(topics=check.answered)
    return [Decision((wanted.group_id,), check.records, [Answer(request.call, answer)])]
