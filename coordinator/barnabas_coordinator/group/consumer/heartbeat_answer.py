"""The second half of a heartbeat: the member takes its next step, and is told what it has now."""

from collections.abc import Mapping, Sequence
from typing import Final

from barnabas_coordinator.group.consumer.consumer_group import (
    ConsumerGroup,
    Parked,
    is_revoking,
    topics_of_member,
)
from barnabas_coordinator.group.consumer.group_records import current_record
from barnabas_coordinator.group.consumer.group_timing import member_session_timeout_ms
from barnabas_coordinator.group.consumer.heartbeat_pace import told_interval_ms
from barnabas_coordinator.group.consumer.member import NO_PARTITIONS, Member, Partitions
from barnabas_coordinator.group.consumer.reconciliation import Goal, reconcile
from barnabas_coordinator.group.group_state import DeadlineKey, GroupState
from barnabas_coordinator.shard.decision import Answer, Decision, Env
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.consumer_group_heartbeat_response import (
    Assignment,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from barnabas_core.wire.messages.join_group_response import JoinGroupResponse
from barnabas_core.wire.schema import Message

SESSION_DEADLINE: Final = "consumer-session"
REBALANCE_DEADLINE: Final = "consumer-rebalance"
PARK_DEADLINE: Final = "consumer-park"
JOIN_DEADLINE: Final = "consumer-join"
"""By which a member of the classic protocol must have joined again."""
SYNC_DEADLINE: Final = "consumer-sync"
"""By which it must have fetched what it was assigned."""
MEMBER_DEADLINES: Final = (SESSION_DEADLINE, REBALANCE_DEADLINE, JOIN_DEADLINE, SYNC_DEADLINE)


def refusal(code: ErrorCode, message: str) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(error_code=code, error_message=message)


def unknown_member(group_id: str, beat: Parked) -> Answer:
    """It was put out while it waited."""
    if beat.classic_protocol is not None:
        return Answer(beat.call, JoinGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
    message = f"Member {beat.member_id} is not a member of group {group_id}."
    return Answer(beat.call, refusal(ErrorCode.UNKNOWN_MEMBER_ID, message))


def answer(
    state: GroupState, group: ConsumerGroup, beat: Parked, step: tuple[Member, Goal], env: Env
) -> tuple[Decision, Member]:
    """`step`: the member as it will be, and where it shall go from there."""
    member, goal = step
    decision = Decision([group.group_id])
    after = reconciled(state, group, member, goal, beat.owned, env)
    if after is not member:
        decision.records.append(current_record(group.group_id, after))
    is_final = group.epoch <= goal.epoch and after.is_reconciled_to(goal.epoch)
    interval_ms = told_interval_ms(state, group, env, is_final=is_final)
    decision.answers.append(Answer(beat.call, _response(beat, after, interval_ms)))
    return decision, after


def _response(beat: Parked, after: Member, interval_ms: int) -> Message:
    if beat.classic_protocol is not None:
        return JoinGroupResponse(
            generation_id=after.epoch,
            protocol_type="consumer",
            protocol_name=beat.classic_protocol,
            member_id=after.member_id,
        )
    response = ConsumerGroupHeartbeatResponse(
        member_id=after.member_id,
        member_epoch=after.epoch,
        heartbeat_interval_ms=interval_ms,
    )
    if beat.is_full or _has_changed(beat, after):
        response.assignment = _assignment(after)
    return response


def reconciled(
    state: GroupState,
    group: ConsumerGroup,
    member: Member,
    goal: Goal,
    owned: Partitions | None,
    env: Env,
) -> Member:
    """The same member if there is nothing to do; its revocations have a time limit."""
    goal = _still_wanted(group, member, goal, env)
    if member.is_reconciled_to(goal.epoch) and not _lost_any(member, goal):
        return member
    after = reconcile(member, goal, owned, group.owner_of)
    if after == member:
        return member
    key = (REBALANCE_DEADLINE, group.group_id, member.member_id)
    if is_revoking(after) and after.classic is None:
        state.deadlines.set(key, env.monotonic_ms + after.rebalance_timeout_ms)
    else:
        state.deadlines.cancel(key)
    return after


def _still_wanted(group: ConsumerGroup, member: Member, goal: Goal, env: Env) -> Goal:
    """Without topics it gave up since: the target assignment may come later than that."""
    wanted = topics_of_member(member, group.regexes)
    by_id = env.image.topics.by_id
    unwanted = [
        each for each in goal.partitions if each in by_id and by_id[each].name not in wanted
    ]
    if not unwanted:
        return goal
    kept = {each: some for each, some in goal.partitions.items() if each not in unwanted}
    return Goal(goal.epoch, kept)


def _lost_any(member: Member, goal: Goal) -> bool:
    return any(each not in goal.partitions for each in member.assigned)


def _has_changed(beat: Parked, after: Member) -> bool:
    """The epochs of partitions are nothing to the client."""
    before, now = beat.assigned_before, after.assigned
    if before is now:
        return False
    return before.keys() != now.keys() or any(
        now[each].keys() != before[each].keys() for each in now
    )


def _assignment(member: Member) -> Assignment:
    return Assignment(
        [TopicPartitions(topic_id, sorted(held)) for topic_id, held in member.assigned.items()]
    )


# --- heartbeats that wait


def answer_parked(
    state: GroupState,
    group: ConsumerGroup,
    epoch: int,
    targets: Mapping[str, Partitions],
    into: Decision,
    env: Env,
) -> None:
    """With a target assignment that may not have been replayed yet."""
    parked, group.parked = group.parked, []
    state.deadlines.cancel((PARK_DEADLINE, group.group_id, ""))
    changed: dict[str, Member] = {}
    for beat in parked:
        member = changed.get(beat.member_id) or group.members.get(beat.member_id)
        if member is None:
            into.answers.append(unknown_member(group.group_id, beat))
            continue
        goal = Goal(epoch, targets.get(beat.member_id, NO_PARTITIONS))
        decision, changed[beat.member_id] = answer(state, group, beat, (member, goal), env)
        into.records += decision.records
        into.answers += decision.answers
        keep_session(state, group.group_id, member, env)


def on_park_deadline(state: GroupState, key: DeadlineKey, env: Env) -> Sequence[Decision]:
    """The assignment takes too long: they are told what there is, and come again."""
    group = state.groups.get(key[1])
    if not isinstance(group, ConsumerGroup) or not group.parked:
        return ()
    decision = Decision([group.group_id])
    answer_parked(state, group, group.assignment_epoch, group.targets, decision, env)
    return [decision]


def keep_session(state: GroupState, group_id: str, member: Member, env: Env) -> None:
    key = (SESSION_DEADLINE, group_id, member.member_id)
    length_ms = member_session_timeout_ms(state, group_id, member, env)
    state.deadlines.set(key, env.monotonic_ms + length_ms)
