"""A static member comes back under a new member id (KIP-345).

Its former self is fenced. In a stable group nobody else notices, unless what it supports changes
the protocol of the group: it gets what it had, from the group as it is. A leader of v9 and later
is told not to assign anew (KIP-814); an older one is told that its former self leads, so that it
does not.
"""

from typing import Final, cast

from barnabas_coordinator.group.classic.answers import dismiss, joined, parked
from barnabas_coordinator.group.classic.group import ClassicState
from barnabas_coordinator.group.classic.join_terms import protocols_of, rebalance_timeout_ms
from barnabas_coordinator.group.classic.rebalance import maybe_complete_join, prepare_rebalance
from barnabas_coordinator.group.classic.record import fits, group_record
from barnabas_coordinator.group.classic.turn import Turn
from barnabas_coordinator.shard.decision import Request
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.join_group_request import JoinGroupRequest

_SKIPS_ASSIGNMENT_FROM: Final = 9


def rejoin_as_instance(turn: Turn, request: Request, new_id: str) -> None:
    group, asked = turn.group, cast("JoinGroupRequest", request.message)
    former_leader = group.leader_id
    _replace(turn, request, asked, new_id)
    if group.state is not ClassicState.STABLE:
        _go_on(turn)
    elif group.select_protocol() != group.protocol_name or not fits(
        group, turn.settings.batch_bytes_max
    ):
        prepare_rebalance(turn)
    else:
        _return_unnoticed(turn, new_id, former_leader)


def _replace(turn: Turn, request: Request, asked: JoinGroupRequest, new_id: str) -> None:
    group = turn.group
    old_id = group.static_members[asked.group_instance_id or ""]
    turn.decision.answers += dismiss(group, group.members[old_id], ErrorCode.FENCED_INSTANCE_ID)
    member = group.replace(old_id, new_id)
    group.touch(new_id, turn.env)  # its session as it was: the new one counts from the next time
    member.is_new = False
    group.set_protocols(member, protocols_of(asked))
    member.rebalance_timeout_ms = rebalance_timeout_ms(request, asked)
    member.session_timeout_ms = asked.session_timeout_ms
    group.park_join(member, parked(request))


def _go_on(turn: Turn) -> None:
    if turn.group.state is ClassicState.COMPLETING_REBALANCE:
        # The leader may be assigning to the old id: nothing of that would reach the new one.
        prepare_rebalance(turn)
    else:
        maybe_complete_join(turn)


def _return_unnoticed(turn: Turn, member_id: str, former_leader: str | None) -> None:
    group = turn.group
    to = group.take_join(group.members[member_id])
    assert to is not None
    turn.write(group_record(group))
    if to.api_version >= _SKIPS_ASSIGNMENT_FROM:
        leads = group.leader_id == member_id
        turn.answer(joined(to, group, member_id, with_members=leads, skip_assignment=leads))
        return
    turn.answer(joined(to, group, member_id, with_members=False, leader_id=former_leader))
