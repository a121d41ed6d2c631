"""The functions of this part, by what they are for."""

from typing import Final

from barnabas_coordinator.group.group_state import GroupState, Part
from barnabas_coordinator.group.offsets.expiry import (
    EXPIRY,
    arm_expiry,
    delete_of_gone_topics,
    on_expiry,
)
from barnabas_coordinator.group.offsets.offset_commit import decide_offset_commit
from barnabas_coordinator.group.offsets.offset_delete import decide_offset_delete
from barnabas_coordinator.group.offsets.offset_fetch import decide_offset_fetch
from barnabas_coordinator.group.offsets.txn_offset_commit import decide_txn_offset_commit
from barnabas_coordinator.group.offsets.write_txn_markers import decide_write_txn_markers
from barnabas_coordinator.shard.decision import Env
from barnabas_core.wire.api_key import ApiKey
from barnabas_core.wire.messages.offset_commit_key import OffsetCommitKey
from barnabas_core.wire.messages.offset_commit_value import OffsetCommitValue


def replay_offset(
    state: GroupState, key: OffsetCommitKey, value: OffsetCommitValue | None, env: Env
) -> None:
    """Of a batch without a transaction; `transaction.replay_pending` is for the others."""
    if value is None:
        state.offsets.remove(key.group, key.topic, key.partition)
    else:
        state.offsets.put(key.group, key.topic, key.partition, value)


OFFSETS: Final = Part(
    handlers={
        ApiKey.OFFSET_COMMIT: decide_offset_commit,
        ApiKey.OFFSET_FETCH: decide_offset_fetch,
        ApiKey.WRITE_TXN_MARKERS: decide_write_txn_markers,
        ApiKey.TXN_OFFSET_COMMIT: decide_txn_offset_commit,
        ApiKey.OFFSET_DELETE: decide_offset_delete,
    },
    replayers={OffsetCommitKey: replay_offset},
    on_deadline={EXPIRY: on_expiry},
    on_loaded=arm_expiry,
    on_image=delete_of_gone_topics,
)
