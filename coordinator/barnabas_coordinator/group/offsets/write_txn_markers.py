"""WriteTxnMarkers (key 27), decided v1-v2: transactions end, and with them what is pending.

v2 the transaction's version (KIP-890). It is asked by brokers, for the one partition that the shard
is: whoever routes it leaves the others out. From version 2 on every transaction has an epoch of its
own, so a marker of an epoch that has been seen is late, and could end the next transaction; it is
INVALID_PRODUCER_EPOCH. One of a coordinator that has been replaced is
TRANSACTION_COORDINATOR_FENCED.
"""

from collections.abc import Sequence
from typing import Final

from barnabas_coordinator.group.group_state import GroupState
from barnabas_coordinator.group.offsets.offset_store import KnownProducer
from barnabas_coordinator.group.offsets.transaction import check_producer
from barnabas_coordinator.shard.decision import Answer, Decision, Env, Producer, Request
from barnabas_core.records.control import ControlType, EndTransaction
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages import write_txn_markers_response as wire
from barnabas_core.wire.messages.write_txn_markers_request import (
    WritableTxnMarker,
    WriteTxnMarkersRequest,
)

_EPOCH_PER_TRANSACTION: Final = 2


def decide_write_txn_markers(state: GroupState, request: Request, env: Env) -> Sequence[Decision]:
    wanted = request.message
    assert isinstance(wanted, WriteTxnMarkersRequest)
    decisions: list[Decision] = []
    answer = wire.WriteTxnMarkersResponse()
    ended: dict[int, KnownProducer] = {}
    """By this request: it is decided as a whole, before any of it is replayed."""
    for marker in wanted.markers:
        error = _check(state, marker, ended)
        answer.markers.append(_result(marker, error))
        if error is ErrorCode.NONE:
            ended[marker.producer_id] = KnownProducer(
                marker.producer_epoch, marker.coordinator_epoch, env.now_ms
            )
            decisions.append(_ending(state, marker))
    touched = list(dict.fromkeys(group for one in decisions for group in one.touched))
    return [*decisions, Decision(touched, answers=[Answer(request.call, answer)])]


def _check(
    state: GroupState, marker: WritableTxnMarker, ended: dict[int, KnownProducer]
) -> ErrorCode:
    producer = Producer(marker.producer_id, marker.producer_epoch)
    known = ended.get(producer.id) or state.offsets.producers.get(producer.id)
    error = check_producer(known, producer)
    if error is not ErrorCode.NONE or known is None:
        return error
    is_open = producer.id not in ended and state.offsets.is_open(producer.id)
    is_bumped = marker.transaction_version >= _EPOCH_PER_TRANSACTION
    if is_open and is_bumped and producer.epoch <= known.epoch:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if marker.coordinator_epoch < known.coordinator_epoch:
        return ErrorCode.TRANSACTION_COORDINATOR_FENCED
    return ErrorCode.NONE


def _ending(state: GroupState, marker: WritableTxnMarker) -> Decision:
    kind = ControlType.COMMIT if marker.transaction_result else ControlType.ABORT
    return Decision(
        state.offsets.open_groups(marker.producer_id),
        producer=Producer(marker.producer_id, marker.producer_epoch),
        marker=EndTransaction(kind, marker.coordinator_epoch),
    )


def _result(marker: WritableTxnMarker, error: ErrorCode) -> wire.WritableTxnMarkerResult:
    topics = [
        wire.WritableTxnMarkerTopicResult(
            topic.name,
            [wire.WritableTxnMarkerPartitionResult(it, error) for it in topic.partition_indexes],
        )
        for topic in marker.topics
    ]
    return wire.WritableTxnMarkerResult(marker.producer_id, topics)
