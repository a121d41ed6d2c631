"""Which coordinators live: soft state of the active controller, never in the log.

A session lasts from the last time its coordinator was heard of for one session timeout. A broken
link (end of file, reset) cuts it to one heartbeat interval; mere silence does not. While a session
lasts, another process of the same role and node id is refused, and after it the newer one counts.

A new controller has heard of nobody. Until one session timeout has passed its list is partial:
who is in it lives, but who is not may live too.
"""

from dataclasses import dataclass

from barnabas_core.links.coordinator_message import (
    Heartbeat,
    LiveCoordinator,
    LiveList,
    Registration,
    Standing,
    Verdict,
)
from barnabas_core.ports.link import Identity

Key = tuple[str, int]
"""(role, node id)"""


def key_of(identity: Identity) -> Key:
    return identity.role, identity.node_id


@dataclass(slots=True)
class CoordinatorSession:
    incarnation_id: bytes
    registration: Registration
    heartbeat: Heartbeat
    heard_at_ms: int
    """Monotonic."""
    cut_at_ms: int | None = None
    """It ends then at the latest, as its link broke; until the coordinator is heard of again."""


class CoordinatorLiveness:
    """Made when this controller becomes active, and thrown away when it no longer is."""

    def __init__(self, epoch: int, session_timeout_ms: int, began_at_ms: int) -> None:
        self._epoch = epoch
        self._session_timeout_ms = session_timeout_ms
        self._full_at_ms = began_at_ms + session_timeout_ms
        self._version = 0
        self._is_partial = True
        self.sessions: dict[Key, CoordinatorSession] = {}

    @property
    def stamp(self) -> tuple[int, int]:
        return self._epoch, self._version

    @property
    def is_partial(self) -> bool:
        """Who is not among the sessions may live all the same."""
        return self._is_partial

    # --- what coordinators say

    def register(
        self,
        identity: Identity,
        registration: Registration,
        heartbeat: Heartbeat,
        monotonic_ms: int,
    ) -> Verdict:
        self.expire(monotonic_ms)
        key = key_of(identity)
        known = self.sessions.get(key)
        if known is None:
            known = CoordinatorSession(
                identity.incarnation_id, registration, heartbeat, monotonic_ms
            )
            self.sessions[key] = known
            self._version += 1
        elif known.incarnation_id != identity.incarnation_id:
            return self._verdict(key, Standing.DUPLICATE)
        elif known.registration != registration:
            known.registration = registration
            self._version += 1
        return self.heard(identity, heartbeat, monotonic_ms)

    def heard(self, identity: Identity, heartbeat: Heartbeat, monotonic_ms: int) -> Verdict:
        self.expire(monotonic_ms)
        key = key_of(identity)
        known = self.sessions.get(key)
        if known is None:
            return self._verdict(key, Standing.UNKNOWN)
        if known.incarnation_id != identity.incarnation_id:
            return self._verdict(key, Standing.DUPLICATE)
        known.heard_at_ms = monotonic_ms
        known.cut_at_ms = None
        if known.heartbeat.is_draining != heartbeat.is_draining:
            self._version += 1
        known.heartbeat = heartbeat
        return self._verdict(key, Standing.LIVE)

    def _verdict(self, key: Key, standing: Standing) -> Verdict:
        """While the list is partial there may be others."""
        is_alone = not self._is_partial and not any(
            role == key[0] and (role, node_id) != key and not session.heartbeat.is_draining
            for (role, node_id), session in self.sessions.items()
        )
        return Verdict(standing, is_alone)

    # --- what happens to them

    def on_link_closed(
        self, identity: Identity, monotonic_ms: int, heartbeat_interval_ms: int
    ) -> None:
        """Its link ended or was reset. Not for a link that only fell silent."""
        key = key_of(identity)
        known = self.sessions.get(key)
        if known is None or known.incarnation_id != identity.incarnation_id:
            return
        if known.heartbeat.is_draining:
            # It said that it would go.
            del self.sessions[key]
            self._version += 1
        else:
            known.cut_at_ms = monotonic_ms + heartbeat_interval_ms

    def expire(self, monotonic_ms: int) -> None:
        over = [
            key
            for key, session in self.sessions.items()
            if self._deadline_ms(session) <= monotonic_ms
        ]
        for key in over:
            del self.sessions[key]
        is_full_now = self._is_partial and monotonic_ms >= self._full_at_ms
        if is_full_now:
            self._is_partial = False
        if over or is_full_now:
            self._version += 1

    def next_deadline_ms(self) -> int | None:
        """When something ends, if nobody is heard of until then."""
        ends = [self._deadline_ms(session) for session in self.sessions.values()]
        if self._is_partial:
            ends.append(self._full_at_ms)
        return min(ends, default=None)

    def live(self) -> LiveList:
        coordinators = tuple(
            LiveCoordinator(
                role,
                node_id,
                session.incarnation_id,
                session.registration.address,
                session.registration.rack,
                session.heartbeat.is_draining,
                session.registration.apis,
            )
            for (role, node_id), session in sorted(self.sessions.items())
        )
        return LiveList(self._epoch, self._version, self._is_partial, coordinators)

    def _deadline_ms(self, session: CoordinatorSession) -> int:
        full_ms = session.heard_at_ms + self._session_timeout_ms
        return full_ms if session.cut_at_ms is None else min(full_ms, session.cut_at_ms)
