"""Fetch sessions (KIP-227): what a client fetches is remembered, so that it sends changes only.

A session has all targets of a client and, among them, the *active* ones: those about which there is
or may be something to say. A target leaves them when its client has been told all there is, and
comes back when its partition changes (`on_changed`), when the client changes it, or when a sweep
finds it so. A poll looks at the active ones alone: it costs what has changed, not what there is.

The cache has a bound. A full one makes room for a new session where Kafka's does: in place of the
one that was idle longest, if for more than two minutes; else in place of the smallest of those
older than that, if the new one is larger. Whoever gets no session is answered in full each time.

Pure: time and randomness are passed in.
"""

from collections.abc import Callable, Iterable
from typing import Final, Protocol

from barnabas_broker.fetching.target import FetchTarget, TargetKey
from barnabas_broker.partitions.partition import Partition
from barnabas_core.ports import Rng
from barnabas_core.wire.error_code import ErrorCode

NO_SESSION: Final = 0
INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
EVICTION_MS: Final = 120_000
READ_COMMITTED: Final = 1

_ID_COUNT: Final = 2**31 - 1
_EPOCH_MAX: Final = 2**31 - 1


class SessionPoll(Protocol):
    """A fetch of the session that waits."""

    def on_changed(self, target: FetchTarget) -> None: ...


class FetchSession:
    __slots__ = (
        "active",
        "created_at_ms",
        "epoch",
        "id",
        "isolation_level",
        "swept_at_ms",
        "targets",
        "topics",
        "used_at_ms",
        "uses_topic_ids",
        "waiting",
        "watched",
    )

    def __init__(self, session_id: int, now_ms: int, *, uses_topic_ids: bool) -> None:
        self.id = session_id
        self.uses_topic_ids = uses_topic_ids
        self.created_at_ms = self.used_at_ms = self.swept_at_ms = now_ms
        self.epoch = INITIAL_EPOCH + 1
        """Of the next request."""
        self.targets: dict[TargetKey, FetchTarget] = {}
        self.active: dict[FetchTarget, None] = {}
        """In the order in which they are read."""
        self.watched: dict[Partition, FetchTarget] = {}
        self.waiting: SessionPoll | None = None
        self.isolation_level = 0
        """Of its last request."""
        self.topics: object = None
        """Those of the image that the targets were last compared with."""

    @property
    def read_committed(self) -> bool:
        return self.isolation_level == READ_COMMITTED

    def add(self, target: FetchTarget) -> None:
        self.targets[target.key] = target
        self.active[target] = None

    def forget(self, key: TargetKey) -> FetchTarget | None:
        target = self.targets.pop(key, None)
        if target is not None:
            self.active.pop(target, None)
        return target

    def activate(self, target: FetchTarget) -> None:
        self.active[target] = None

    def settle(self, target: FetchTarget) -> None:
        """There is nothing more to say about it."""
        self.active.pop(target, None)

    def put_last(self, target: FetchTarget) -> None:
        """It has had its share: others come first the next time."""
        self.active.pop(target, None)
        self.active[target] = None

    def on_changed(self, partition: Partition) -> None:
        target = self.watched.get(partition)
        if target is None:
            return
        self.active[target] = None
        if self.waiting is not None:
            self.waiting.on_changed(target)


class SessionCache:
    def __init__(self, slots: int, rng: Rng, on_removed: Callable[[FetchSession], None]) -> None:
        self._slots = slots
        self._rng = rng
        self._on_removed = on_removed
        # The one that was used last is the last.
        self._sessions: dict[int, FetchSession] = {}
        self.eviction_count = 0

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def target_count(self) -> int:
        return sum(len(session.targets) for session in self._sessions.values())

    def create(
        self, targets: Iterable[FetchTarget], now_ms: int, *, uses_topic_ids: bool
    ) -> FetchSession | None:
        """None where there is no room for it."""
        wanted = list(targets)
        if len(self._sessions) >= self._slots and not self._evict(len(wanted), now_ms):
            return None
        session = FetchSession(self._new_id(), now_ms, uses_topic_ids=uses_topic_ids)
        for target in wanted:
            session.add(target)
        self._sessions[session.id] = session
        return session

    def find(
        self, session_id: int, epoch: int, now_ms: int, *, uses_topic_ids: bool
    ) -> FetchSession | ErrorCode:
        """The session for the request of this epoch, which is then expected no more."""
        session = self._sessions.get(session_id)
        if session is None:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if session.epoch != epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        if session.uses_topic_ids != uses_topic_ids:
            return ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
        session.epoch = next_epoch(epoch)
        session.used_at_ms = now_ms
        del self._sessions[session_id]
        self._sessions[session_id] = session
        return session

    def remove(self, session_id: int) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self._on_removed(session)

    def _evict(self, target_count: int, now_ms: int) -> bool:
        oldest = next(iter(self._sessions.values()), None)
        if oldest is None:
            return False
        chosen: FetchSession | None = oldest
        if now_ms - oldest.used_at_ms <= EVICTION_MS:
            settled = [
                session
                for session in self._sessions.values()
                if session.used_at_ms - session.created_at_ms > EVICTION_MS
            ]
            chosen = min(settled, key=lambda one: (len(one.targets), one.id), default=None)
            if chosen is None or target_count <= len(chosen.targets):
                return False
        assert chosen is not None
        self.remove(chosen.id)
        self.eviction_count += 1
        return True

    def _new_id(self) -> int:
        while True:
            session_id = 1 + self._rng.randrange(_ID_COUNT - 1)
            if session_id not in self._sessions:
                return session_id


def next_epoch(epoch: int) -> int:
    """Epochs go on at 1 after the largest: 0 would ask for a new session."""
    return 1 if epoch == _EPOCH_MAX else epoch + 1
