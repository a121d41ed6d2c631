"""A group that nobody ever joined: somebody commits offsets under its name.

Kafka keeps an empty classic group for it, without records of its own. Here it is there as long as
it has offsets, and is made up when it is asked for.
"""

from dataclasses import dataclass

from barnabas_coordinator.group.group_state import Claim, Group, GroupState, GroupType
from barnabas_coordinator.shard.decision import Env, Record
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.group_metadata_key import GroupMetadataKey


@dataclass(frozen=True, slots=True)
class SimpleGroup:
    """A `Group` without members."""

    group_id: str
    type: GroupType = GroupType.CLASSIC
    state_name: str = "Empty"
    protocol_type: str = ""
    is_empty: bool = True
    member_count: int = 0

    def check_commit(self, claim: Claim, env: Env) -> ErrorCode:
        return ErrorCode.NONE if claim.generation < 0 else ErrorCode.UNKNOWN_MEMBER_ID

    def check_fetch(self, member_id: str, member_epoch: int) -> ErrorCode:
        return ErrorCode.NONE

    def check_delete(self) -> ErrorCode:
        return ErrorCode.NONE

    def is_subscribed_to(self, topic: str) -> bool:
        return False

    def durable(self) -> object:
        return self.group_id

    def tombstones(self) -> list[Record]:
        """As Kafka writes it: it may have been a group with records once."""
        return [Record(GroupMetadataKey(group=self.group_id), None)]

    def offsets_expire_from_ms(self, committed_at_ms: int) -> int | None:
        return committed_at_ms


def find_group(state: GroupState, group_id: str) -> Group | None:
    found = state.groups.get(group_id)
    if found is None and state.offsets.has(group_id):
        return SimpleGroup(group_id)
    return found


def all_group_ids(state: GroupState) -> list[str]:
    groups = state.groups
    return [*groups, *(group for group in state.offsets.group_ids() if group not in groups)]
