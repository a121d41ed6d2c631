"""Which brokers were heard of, and when: soft state of the active controller, never in the log.

A session lasts from the last time its broker was heard of for one session timeout. A broken link
(end of file, reset) cuts it to one heartbeat interval, as the broker is likely dead and fencing
early is safe; mere silence does not. A session belongs to one broker epoch: what an earlier
incarnation still sends prolongs nothing.

After a failover nobody has been heard of yet, so every broker that the image shows unfenced gets a
full session before it is fenced. A fenced broker without a session is not waited for.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from barnabas_core.metadata.image import Image


@dataclass(slots=True)
class BrokerSession:
    broker_epoch: int
    heard_at_ms: int
    """Monotonic."""
    metadata_offset: int = -1
    """How far its feed has come, by its last heartbeat."""
    cut_at_ms: int | None = None
    """It ends then at the latest, as its link broke; until the broker is heard of again."""
    registration_offset: int = -1
    """Of the last record that its registration wrote."""
    shutdown_offset: int | None = None
    """Of the change that began its controlled shutdown: whoever has it no longer needs it."""


class BrokerLiveness:
    def __init__(self, session_timeout_ms: int) -> None:
        self.session_timeout_ms = session_timeout_ms
        self.sessions: dict[int, BrokerSession] = {}

    def restart(self, image: Image, monotonic_ms: int) -> None:
        """This controller became active with this image."""
        self.sessions = {
            broker.id: BrokerSession(
                broker.epoch,
                monotonic_ms,
                # When it began is forgotten; it was not after this.
                shutdown_offset=image.provenance.offset if broker.in_controlled_shutdown else None,
            )
            for broker in image.cluster.brokers.values()
            if not broker.is_fenced
        }

    def registered(
        self, broker_id: int, broker_epoch: int, monotonic_ms: int, registration_offset: int
    ) -> None:
        """Its registration was decided on; another epoch is another session."""
        session = self.sessions.get(broker_id)
        if session is None or session.broker_epoch != broker_epoch:
            session = self.sessions[broker_id] = BrokerSession(broker_epoch, monotonic_ms)
        session.heard_at_ms = monotonic_ms
        session.cut_at_ms = None
        session.registration_offset = registration_offset

    def heard(
        self, broker_id: int, broker_epoch: int, monotonic_ms: int, metadata_offset: int
    ) -> None:
        session = self.sessions.get(broker_id)
        if session is None or session.broker_epoch < broker_epoch:
            session = self.sessions[broker_id] = BrokerSession(broker_epoch, monotonic_ms)
        elif session.broker_epoch > broker_epoch:
            return
        session.heard_at_ms = monotonic_ms
        session.cut_at_ms = None
        session.metadata_offset = metadata_offset

    def on_link_closed(
        self, broker_id: int, broker_epoch: int, monotonic_ms: int, heartbeat_interval_ms: int
    ) -> None:
        """Its link ended or was reset. Not for a link that only fell silent."""
        session = self.sessions.get(broker_id)
        if session is not None and session.broker_epoch == broker_epoch:
            session.cut_at_ms = monotonic_ms + heartbeat_interval_ms

    def forget(self, broker_id: int) -> None:
        """It was fenced, unregistered, or told to go."""
        self.sessions.pop(broker_id, None)

    def has_session(self, broker_id: int, broker_epoch: int, monotonic_ms: int) -> bool:
        session = self.sessions.get(broker_id)
        return (
            session is not None
            and session.broker_epoch == broker_epoch
            and monotonic_ms < self._deadline_ms(session)
        )

    def stale(self, monotonic_ms: int) -> list[int]:
        """Brokers whose session is over, the longest over first."""
        over = [
            (deadline_ms, broker_id)
            for broker_id, session in self.sessions.items()
            if (deadline_ms := self._deadline_ms(session)) <= monotonic_ms
        ]
        return [broker_id for _, broker_id in sorted(over)]

    def next_deadline_ms(self) -> int | None:
        """When the next session ends, if nobody is heard of until then."""
        return min(map(self._deadline_ms, self.sessions.values()), default=None)

    def registration_offset(self, broker_id: int, broker_epoch: int) -> int:
        """A feed that has come this far shows the broker its own registration.

        A new controller knows only the epoch, which is where the registration began.
        """
        session = self.sessions.get(broker_id)
        if session is None or session.broker_epoch != broker_epoch:
            return broker_epoch
        return max(broker_epoch, session.registration_offset)

    def began_shutdown(self, broker_id: int, offset: int) -> None:
        """Its controlled shutdown is what the record at `offset`, and those before it, say."""
        session = self.sessions[broker_id]
        if session.shutdown_offset is None:
            session.shutdown_offset = offset

    def may_shut_down(self, broker_id: int, active: Iterable[int]) -> bool:
        """Have the feeds of all active brokers passed its controlled shutdown?"""
        session = self.sessions.get(broker_id)
        if session is None or session.shutdown_offset is None:
            return False
        shutdown_offset = session.shutdown_offset
        return all(self._metadata_offset(other) >= shutdown_offset for other in active)

    def _metadata_offset(self, broker_id: int) -> int:
        session = self.sessions.get(broker_id)
        return -1 if session is None else session.metadata_offset

    def _deadline_ms(self, session: BrokerSession) -> int:
        full_ms = session.heard_at_ms + self.session_timeout_ms
        return full_ms if session.cut_at_ms is None else min(full_ms, session.cut_at_ms)
