"""From one generation to the next: who must come again, how long they are waited for, who is left.

A deadline that was popped together with another one may be about something that the other one has
settled: each looks whether it still means anything.
"""

from collections.abc import Sequence
from typing import Final

from barnabas_coordinator.group.classic.answers import dismiss, joined, sync_error
from barnabas_coordinator.group.classic.group import (
    ClassicGroup,
    ClassicState,
    InitialDelay,
    classic_group,
)
from barnabas_coordinator.group.classic.member import ClassicMember
from barnabas_coordinator.group.classic.record import group_record
from barnabas_coordinator.group.classic.turn import Turn, begin_turn
from barnabas_coordinator.group.group_state import DeadlineKey, GroupState
from barnabas_coordinator.shard.decision import Decision, Env
from barnabas_core.wire.error_code import ErrorCode

JOIN: Final = "classic-join"
"""The kind of deadline by which members must have come again."""
SYNC: Final = "classic-sync"
"""That by which those who are in the new generation must have asked for what is theirs."""


def rebalance_or_complete(turn: Turn) -> None:
    """Something changed: prepare anew, or see whether that was what was waited for."""
    if turn.group.state is ClassicState.PREPARING_REBALANCE:
        maybe_complete_join(turn)
    else:
        prepare_rebalance(turn)


def prepare_rebalance(turn: Turn) -> None:
    group = turn.group
    if group.state is ClassicState.COMPLETING_REBALANCE:
        _call_off_syncs(turn)
    group.pending_syncs.clear()
    turn.cancel(SYNC)
    was_empty = group.is_empty
    group.enter(ClassicState.PREPARING_REBALANCE, turn.env)
    if was_empty:
        _begin_initial_delay(turn)
    elif group.has_all_joined():
        complete_join(turn)
    else:
        turn.arm(JOIN, group.rebalance_timeout_ms())


def _call_off_syncs(turn: Turn) -> None:
    for member in turn.group.members.values():
        member.assignment = b""
        if member.sync is not None:
            turn.answer(sync_error(member.sync, ErrorCode.REBALANCE_IN_PROGRESS))
            member.sync = None
            turn.group.touch(member.member_id, turn.env)


def _begin_initial_delay(turn: Turn) -> None:
    """KIP-134: where there is one there soon are more; better one rebalance for all of them."""
    delay_ms = turn.settings.initial_rebalance_delay_ms
    remaining_ms = max(turn.group.rebalance_timeout_ms() - delay_ms, 0)
    turn.group.initial_delay = InitialDelay(delay_ms, remaining_ms)
    turn.arm(JOIN, delay_ms)


def on_join_deadline(state: GroupState, key: DeadlineKey, env: Env) -> Sequence[Decision]:
    group = classic_group(state, key[1])
    if group is None or key in state.deadlines:
        return ()
    if group.state is not ClassicState.PREPARING_REBALANCE:
        return ()
    turn = begin_turn(state, group, env)
    delay = group.initial_delay
    if delay is not None and delay.has_new_member and delay.remaining_ms:
        _extend_initial_delay(turn, delay)
    else:
        complete_join(turn)
    return [turn.decision]


def _extend_initial_delay(turn: Turn, last: InitialDelay) -> None:
    delay_ms = min(turn.settings.initial_rebalance_delay_ms, last.remaining_ms)
    remaining_ms = max(last.remaining_ms - last.delay_ms, 0)
    turn.group.initial_delay = InitialDelay(delay_ms, remaining_ms)
    turn.arm(JOIN, delay_ms)


def maybe_complete_join(turn: Turn) -> None:
    """If nobody is missing; an initial delay is waited for in any case."""
    if turn.group.initial_delay is None and turn.group.has_all_joined():
        complete_join(turn)


def complete_join(turn: Turn) -> None:
    """Those who came are the next generation; static members are in it even if they are away."""
    group = turn.group
    turn.cancel(JOIN)
    for member in [one for one in group.members.values() if one.join is None]:
        if member.group_instance_id is None:
            group.remove(member.member_id)
    if group.members and not _elect_leader(group):
        # Static members alone, all of them away: until one comes, or their sessions end.
        turn.arm(JOIN, group.rebalance_timeout_ms())
        return
    group.initial_delay = None
    group.begin_generation(turn.env)
    if group.is_empty:
        turn.write(group_record(group))
    else:
        _tell_all(turn)


def _elect_leader(group: ClassicGroup) -> bool:
    """Somebody who is here to do it."""
    leader = group.members.get(group.leader_id or "")
    if leader is None or leader.join is None:
        here = next((one for one in group.members.values() if one.join is not None), None)
        if here is None:
            return False
        group.leader_id = here.member_id
    return True


def _tell_all(turn: Turn) -> None:
    group = turn.group
    for member in group.members.values():
        parked = group.take_join(member)
        if parked is not None:
            is_leader = member.member_id == group.leader_id
            turn.answer(joined(parked, group, member.member_id, with_members=is_leader))
        group.touch(member.member_id, turn.env)
        member.is_new = False
        group.pending_syncs[member.member_id] = None
    turn.arm(SYNC, group.rebalance_timeout_ms())


def on_sync_deadline(state: GroupState, key: DeadlineKey, env: Env) -> Sequence[Decision]:
    """Who is in the generation and never asked for its share is not there."""
    group = classic_group(state, key[1])
    if group is None or key in state.deadlines or not group.pending_syncs:
        return ()
    turn = begin_turn(state, group, env)
    for member_id in list(group.pending_syncs):
        group.remove(member_id)
    prepare_rebalance(turn)
    return [turn.decision]


def on_session_deadline(state: GroupState, key: DeadlineKey, env: Env) -> Sequence[Decision]:
    _, group_id, member_id = key
    group = classic_group(state, group_id)
    if group is None or key in state.deadlines:
        return ()
    turn = begin_turn(state, group, env)
    member = group.members.get(member_id)
    if member is not None and not member.needs_no_heartbeat():
        drop_member(turn, member)
        after_removal(turn)
    elif member_id in group.pending_members:
        group.remove(member_id)
        if group.state is ClassicState.PREPARING_REBALANCE and group.has_all_joined():
            complete_join(turn)
    return [turn.decision]


def drop_member(turn: Turn, member: ClassicMember) -> None:
    """Its requests that wait say so: if it is alive after all, it comes as somebody new."""
    turn.decision.answers += dismiss(turn.group, member, ErrorCode.UNKNOWN_MEMBER_ID)
    turn.group.remove(member.member_id)


def after_removal(turn: Turn) -> None:
    """Of one who was not heard of: even an initial delay is not waited for if all are here."""
    group = turn.group
    if group.state is not ClassicState.PREPARING_REBALANCE:
        prepare_rebalance(turn)
    elif group.has_all_joined():
        complete_join(turn)
