"""What happens between brokers and coordinators that no client can see.

Taps on the product's classes count sessions and moves, and compare the members that a coordinator
lets expire with the heartbeats that its broker took for it.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any
from unittest.mock import patch

from barnabas_broker.shards.shard_owner import ShardOwner, Waiting
from barnabas_coordinator.group.classic.group import SESSION
from barnabas_coordinator.group.consumer.heartbeat_answer import SESSION_DEADLINE
from barnabas_coordinator.session import Session
from barnabas_coordinator.shard.decision import Env
from barnabas_coordinator.shard.shard import Shard, Turn
from barnabas_core.links.shard_message import ShardRequest
from barnabas_core.wire.api import API_BY_KEY, ApiKey
from barnabas_core.wire.codec import decode
from tests.sim.group_ledger import PAUSE_S, SESSION_S, GroupCount
from tests.sim.home_broker_node import AT_HOME
from tests.sim.invariant import check
from tests.sim.virtual_loop import current_process

ROUNDING_S = 0.01
HEARTBEATS = (ApiKey.HEARTBEAT, ApiKey.CONSUMER_GROUP_HEARTBEAT)
SessionKey = tuple[int, str, int]
"""(broker, host of the coordinator, number)"""
MemberKey = tuple[SessionKey, str, str]
"""(session, group, member)"""
NEVER = -1e9


def host_of(number: int) -> str:
    return f"host-{number}"


class GroupTaps:
    def __init__(self, count: GroupCount, now_of: Callable[[str], float]) -> None:
        """`now_of`: what the clock of the machine with that name shows."""
        self._count = count
        self._now_of = now_of
        self._keys: dict[Shard, SessionKey] = {}
        self._taken: dict[MemberKey, float] = {}
        """When a broker last took a heartbeat of a member for a session, by the coordinator's
        clock; also one that was refused then, as nothing could be written."""
        self._places: dict[int, tuple[int, str]] = {}
        """Who had a shard last: (broker, host of the coordinator)."""

    def places(self) -> list[tuple[int, str]]:
        """Of the sessions that there are, or were last: (broker, host of the coordinator)."""
        return [self._places[shard] for shard in sorted(self._places)]

    def installed(self) -> AbstractContextManager[object]:
        stack = ExitStack()
        stack.enter_context(patch.object(ShardOwner, "ask", self._tapped_ask(ShardOwner.ask)))
        for kind, name, tapped in (
            (Session, "__init__", self._tapped_session(Session.__init__)),
            (Session, "on_writable", self._tapped_writable(Session.on_writable)),
            (Session, "on_epoch", self._tapped_epoch(Session.on_epoch)),
            (Shard, "on_timer", self._tapped_timer(Shard.on_timer)),
        ):
            stack.enter_context(patch.object(kind, name, tapped))
        return stack

    # --- at the broker

    def _tapped_ask(self, ask: Any) -> Any:  # noqa: ANN401 - as it is called
        def tapped(owner: ShardOwner, request: ShardRequest, waiting: Waiting) -> int | None:
            stream = owner._stream
            taken: int | None = ask(owner, request, waiting)
            if taken is not None and stream is not None and request.api_key in HEARTBEATS:
                api = API_BY_KEY[request.api_key]
                message: Any = decode(api.request, request.api_version, bytes(request.body))
                number = current_process().number
                host = stream.address.host
                host = host_of(number) if host == AT_HOME.host else host
                key = (number, host, owner._session)
                self._taken[key, message.group_id, message.member_id] = self._now_of(host)
            return taken

        return tapped

    # --- at the coordinator

    def _tapped_session(self, init: Any) -> Any:  # noqa: ANN401
        def tapped(session: Session, opened: Any, caller: Any, on: Any) -> None:  # noqa: ANN401
            init(session, opened, caller, on)
            place = (caller.identity.node_id, host_of(current_process().number))
            self._keys[session._shard] = (*place, session.id)
            self._count.sessions_opened += 1
            before = self._places.get(session.partition, place)
            self._count.moves += before != place
            self._places[session.partition] = place

        return tapped

    def _tapped_writable(self, on_writable: Any) -> Any:  # noqa: ANN401
        def tapped(session: Session, is_writable: bool) -> None:
            self._count.unwritable += not is_writable
            on_writable(session, is_writable)

        return tapped

    def _tapped_epoch(self, on_epoch: Any) -> Any:  # noqa: ANN401
        def tapped(session: Session, leader_epoch: int) -> None:
            before = session.leader_epoch
            check(leader_epoch > before, "epoch", leader_epoch, "came after", before)
            self._count.new_epochs += 1
            on_epoch(session, leader_epoch)

        return tapped

    def _tapped_timer(self, on_timer: Any) -> Any:  # noqa: ANN401
        def tapped(shard: Shard, env: Env) -> Turn:
            machine: Any = shard.machine
            for key, at_ms in machine.state.deadlines._at_ms.items():
                if at_ms <= env.monotonic_ms and key[0] in (SESSION, SESSION_DEADLINE):
                    self._on_expired(self._keys[shard], key[1], key[2])
            turn: Turn = on_timer(shard, env)
            return turn

        return tapped

    def _on_expired(self, session: SessionKey, group_id: str, member_id: str) -> None:
        self._count.expired += 1
        taken_at = self._taken.get((session, group_id, member_id), NEVER)
        ago = self._now_of(session[1]) - taken_at
        check(
            not PAUSE_S < ago < SESSION_S - ROUNDING_S,
            f"{member_id} of {group_id} expires, and sent a heartbeat {ago:.3f} s ago",
        )
