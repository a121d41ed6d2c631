"""Fetch sessions between their polls: opened, changed as their clients say, told what changes.

A session watches the partitions of its targets, so that it hears of records; of what it does not
hear (another leader, a topic that is gone, an earlier log start) it learns by a sweep through its
targets, when the topics of the image are others than the last time and every few seconds.
"""

from typing import Final

from barnabas_broker.fetching.pending_fetch import Answers
from barnabas_broker.fetching.session import FetchSession, SessionCache
from barnabas_broker.fetching.target import FetchTarget
from barnabas_broker.fetching.target_finder import TargetFinder, topic_key
from barnabas_broker.partitions.purgatory import Purgatory
from barnabas_core.ports import Clock, Rng
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.fetch_request import FetchRequest

SWEEP_MS: Final = 5_000
_TOPIC_ID_VERSION: Final = 13


class SessionKeeper:
    def __init__(
        self, slots: int, finder: TargetFinder, purgatory: Purgatory, clock: Clock, rng: Rng
    ) -> None:
        self.cache = SessionCache(slots, rng, self._on_removed)
        self._finder = finder
        self._purgatory = purgatory
        self._clock = clock

    def open(self, answers: Answers, request: FetchRequest, version: int) -> int:
        """A session of what was just answered in full; its id, 0 if there is no room."""
        session = self.cache.create(
            (target for target, _ in answers),
            self._clock.monotonic_ms(),
            uses_topic_ids=version >= _TOPIC_ID_VERSION,
        )
        if session is None:
            return 0
        session.isolation_level = request.isolation_level
        session.topics = self._finder.topics
        for target, data in answers:
            target.note(data)
            self._watch(session, target)
            if not data.error_code and target.is_settled(read_committed=session.read_committed):
                session.settle(target)
        return session.id

    def next(self, request: FetchRequest, version: int) -> FetchSession | ErrorCode:
        """The session of an incremental fetch, with what the request changes of it."""
        now_ms = self._clock.monotonic_ms()
        by_id = version >= _TOPIC_ID_VERSION
        session = self.cache.find(
            request.session_id, request.session_epoch, now_ms, uses_topic_ids=by_id
        )
        if isinstance(session, ErrorCode):
            return session
        self._update(session, request, version)
        self._sweep(session, request, now_ms)
        return session

    def close(self, session_id: int) -> None:
        self.cache.remove(session_id)

    def _update(self, session: FetchSession, request: FetchRequest, version: int) -> None:
        for key, target in self._finder.targets(request, version).items():
            known = session.targets.get(key)
            if known is None:
                session.add(target)
                self._watch(session, target)
            else:
                known.wanted = target.wanted
                session.activate(known)
        for topic in request.forgotten_topics_data:
            of = topic_key(topic, version)
            for index in topic.partitions:
                forgotten = session.forget((of, index))
                if forgotten is not None:
                    self._unwatch(session, forgotten)

    def _sweep(self, session: FetchSession, request: FetchRequest, now_ms: int) -> None:
        topics = self._finder.topics
        isolation = request.isolation_level
        if (
            session.topics is not topics
            or session.isolation_level != isolation
            or now_ms - session.swept_at_ms > SWEEP_MS
        ):
            session.topics = topics
            session.isolation_level = isolation
            session.swept_at_ms = now_ms
            for target in session.targets.values():
                if not self._is_settled(session, target):
                    session.activate(target)
                    self._find_again(session, target)
            return
        for target in session.active:
            if target.partition is None:
                self._find_again(session, target)

    def _is_settled(self, session: FetchSession, target: FetchTarget) -> bool:
        partition = target.partition
        if partition is None or not target.is_settled(read_committed=session.read_committed):
            return False
        return (
            self._finder.is_current(target)
            and target.wanted.current_leader_epoch in (-1, partition.leader_epoch)
            and partition.leadership is not None
        )

    def _find_again(self, session: FetchSession, target: FetchTarget) -> None:
        self._unwatch(session, target)
        self._finder.find(target)
        self._watch(session, target)

    # --- hearing of changes

    def _watch(self, session: FetchSession, target: FetchTarget) -> None:
        if target.partition is not None:
            session.watched[target.partition] = target
            self._purgatory.watch(target.partition, session)

    def _unwatch(self, session: FetchSession, target: FetchTarget) -> None:
        if target.partition is not None:
            session.watched.pop(target.partition, None)
            self._purgatory.unwatch(target.partition, session)

    def _on_removed(self, session: FetchSession) -> None:
        for partition in session.watched:
            self._purgatory.unwatch(partition, session)
        session.watched.clear()
