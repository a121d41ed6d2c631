"""TxnOffsetCommit (key 28), decided v0-v6.

v2 leader epoch; v3 member, generation and instance; v4 ABORTABLE error (not ours to give); v5
transactions of version 2; v6 topic ids, UNKNOWN_TOPIC_ID.

The offsets are written as records of the producer's transaction (`Decision.producer`), and are
pending until its marker (`transaction`). A producer with an epoch older than one that this shard
has seen is INVALID_PRODUCER_EPOCH. Knowingly missing: asking the transaction coordinator whether
the transaction is under way (KIP-890), which is for whoever calls this.
"""

from collections.abc import Sequence
from typing import Final

from barnabas_coordinator.group.group_state import GroupState
from barnabas_coordinator.group.offsets.commit_check import CommitApi, CommitCheck
from barnabas_coordinator.group.offsets.transaction import check_producer
from barnabas_coordinator.shard.decision import Answer, Decision, Env, Producer, Request
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.txn_offset_commit_request import TxnOffsetCommitRequest
from barnabas_core.wire.messages.txn_offset_commit_response import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

_API: Final = CommitApi(
    TxnOffsetCommitResponseTopic,
    TxnOffsetCommitResponsePartition,
    topic_ids_version=6,
    is_transactional=True,
)


def decide_txn_offset_commit(state: GroupState, request: Request, env: Env) -> Sequence[Decision]:
    wanted = request.message
    assert isinstance(wanted, TxnOffsetCommitRequest)
    producer = Producer(wanted.producer_id, wanted.producer_epoch)
    check = CommitCheck(state, request, _API, env)
    check.take_all()
    error = _refusal(state, wanted, producer, check)
    if error is not ErrorCode.NONE:
        check.refuse(error)
    answers = [Answer(request.call, TxnOffsetCommitResponse(topics=check.answered))]
    return [Decision((wanted.group_id,), check.records, answers, producer=producer)]


def _refusal(
    state: GroupState, wanted: TxnOffsetCommitRequest, producer: Producer, check: CommitCheck
) -> ErrorCode:
    """Of all of it, where the group would have taken it."""
    if not wanted.group_id:
        return ErrorCode.INVALID_GROUP_ID
    error = check_producer(state.offsets.producers.get(producer.id), producer)
    if error is ErrorCode.NONE and check.is_too_large:
        return ErrorCode.INVALID_COMMIT_OFFSET_SIZE
    return error
