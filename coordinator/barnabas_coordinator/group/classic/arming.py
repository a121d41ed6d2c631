"""Every deadline of the members of classic groups, with its full length: after loading, and when
records can be written again, as who was refused meanwhile could not show that it is there.

An initial delay goes on: all that it waits for is here. So do those who were given an id and have
not joined with it: they are no members, and are given another one.
"""

from barnabas_coordinator.group.classic.group import ClassicGroup
from barnabas_coordinator.group.classic.join import NEW_MEMBER_JOIN_TIMEOUT_MS
from barnabas_coordinator.group.classic.rebalance import JOIN, SYNC
from barnabas_coordinator.group.group_state import GroupState
from barnabas_coordinator.shard.decision import Env


def arm_members(state: GroupState, env: Env) -> None:
    for group in state.groups.values():
        if isinstance(group, ClassicGroup):
            _arm(group, env)


def _arm(group: ClassicGroup, env: Env) -> None:
    for member_id, member in group.members.items():
        group.touch(member_id, env, NEW_MEMBER_JOIN_TIMEOUT_MS if member.is_new else None)
    for kind in (JOIN, SYNC):
        key = (kind, group.group_id, "")
        if key in group.deadlines and group.initial_delay is None:
            group.deadlines.set(key, env.monotonic_ms + group.rebalance_timeout_ms())
