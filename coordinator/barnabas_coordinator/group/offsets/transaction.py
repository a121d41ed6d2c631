"""Offsets committed in transactions: records of a producer, then its marker.

Whoever replays a shard's log calls `replay_pending` for the records of transactional batches, and
`complete_transaction` for the control record that ends the transaction. What the log would refuse
must not be decided, as that would end the session: so of every producer it is known what the log
knows, the newest epoch and that of the coordinator which ended its last transaction.
"""

from typing import Final

from barnabas_coordinator.group.group_state import GroupState
from barnabas_coordinator.group.offsets.offset_store import KnownProducer
from barnabas_coordinator.shard.decision import Env, Producer
from barnabas_core.records.control import EndTransaction
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.offset_commit_key import OffsetCommitKey
from barnabas_core.wire.messages.offset_commit_value import OffsetCommitValue

_NOT_SEEN: Final = KnownProducer(-1, -1, 0)


def check_producer(known: KnownProducer | None, producer: Producer) -> ErrorCode:
    """May it write? An older epoch is of a producer that was replaced."""
    if producer.id < 0:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    newest_epoch = -1 if known is None else known.epoch
    if producer.epoch < 0 or producer.epoch < newest_epoch:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return ErrorCode.NONE


def replay_pending(
    state: GroupState,
    key: OffsetCommitKey,
    value: OffsetCommitValue | None,
    producer: Producer,
    env: Env,
) -> None:
    if value is None:
        state.offsets.remove(key.group, key.topic, key.partition)
        return
    state.offsets.put_pending(producer.id, key.group, key.topic, key.partition, value)
    see_producer(state, producer, env)


def complete_transaction(
    state: GroupState, producer: Producer, marker: EndTransaction, env: Env
) -> None:
    state.offsets.complete(producer.id, commit=marker.is_commit)
    see_producer(state, producer, env, marker.coordinator_epoch)


def see_producer(
    state: GroupState, producer: Producer, env: Env, coordinator_epoch: int = -1
) -> None:
    producers = state.offsets.producers
    before = producers.get(producer.id, _NOT_SEEN)
    producers[producer.id] = KnownProducer(
        max(before.epoch, producer.epoch),
        max(before.coordinator_epoch, coordinator_epoch),
        env.now_ms,
    )
