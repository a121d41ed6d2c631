"""Leave to restart for coordinators: of each role somebody stays. Soft state, as who lives is.

A permit ends when its time is over, or when its coordinator has registered anew. Whoever has one,
or drains, counts as away. Of a role that has one coordinator only, that one goes: there is no
better order.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from barnabas_controller.managers.coordinators import CoordinatorLiveness, Key
from barnabas_controller.managers.permits import PERMIT_MS
from barnabas_core.links.coordinator_message import ROLES


class Candidate(NamedTuple):
    """Who asks, by its operator."""

    key: Key
    peer_count: int
    """Others that its role should have, whether they live or not."""


class CoordinatorPermit(NamedTuple):
    ends_at_ms: int
    incarnation_id: bytes | None
    """Of the process that goes; None: it was not registered."""


@dataclass(frozen=True, slots=True)
class CoordinatorDecision:
    reasons: tuple[str, ...]
    """Why it should not go now; empty: it may."""
    permitted: tuple[int, ...]
    """Others of its role."""

    @property
    def is_safe(self) -> bool:
        return not self.reasons


class CoordinatorPermits:
    def __init__(self) -> None:
        self._permits: dict[Key, CoordinatorPermit] = {}

    def current(self, liveness: CoordinatorLiveness, now_ms: int) -> Mapping[Key, object]:
        """Those that have not ended."""
        for key, permit in list(self._permits.items()):
            if now_ms >= permit.ends_at_ms or _is_back(liveness, key, permit):
                del self._permits[key]
        return self._permits

    def grant(self, liveness: CoordinatorLiveness, key: Key, now_ms: int) -> int:
        """How long it lasts."""
        session = liveness.sessions.get(key)
        incarnation_id = None if session is None else session.incarnation_id
        self._permits[key] = CoordinatorPermit(now_ms + PERMIT_MS, incarnation_id)
        return PERMIT_MS


def _is_back(liveness: CoordinatorLiveness, key: Key, permit: CoordinatorPermit) -> bool:
    session = liveness.sessions.get(key)
    if session is None or permit.incarnation_id is None:
        return False
    return session.incarnation_id != permit.incarnation_id and not session.heartbeat.is_draining


def decide_coordinator_restart(
    liveness: CoordinatorLiveness, who: Candidate, permits: CoordinatorPermits, now_ms: int
) -> CoordinatorDecision:
    """Whether its role would be left without anybody if this one went now."""
    liveness.expire(now_ms)
    role, _ = who.key
    current = permits.current(liveness, now_ms)
    away = [key for key in current if key[0] == role and key != who.key]
    others = [key for key in liveness.sessions if key[0] == role and key != who.key]
    stay = [
        key
        for key in others
        if key not in away and not liveness.sessions[key].heartbeat.is_draining
    ]
    reasons = []
    if role not in ROLES:
        reasons.append(f"there is no coordinator of role {role}")
    if liveness.is_partial:
        reasons.append("a new controller has not heard of all coordinators yet")
    # With one that is not registered nobody loses anything, and it may be what is to be mended.
    is_alone = not (who.peer_count or others or away)
    if who.key in liveness.sessions and not stay and not is_alone:
        reasons.append(f"no {role} coordinator would be left")
    return CoordinatorDecision(tuple(reasons), tuple(sorted(node_id for _, node_id in away)))
