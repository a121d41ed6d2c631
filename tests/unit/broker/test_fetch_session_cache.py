"""The cache of fetch sessions: who gets one, who loses it, and which epoch comes next."""

import pytest

from barnabas_broker.fetching.session import (
    EVICTION_MS,
    FetchSession,
    SessionCache,
    next_epoch,
)
from barnabas_broker.fetching.target import FetchTarget
from barnabas_core.runtime.rng import SeededRng
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.fetch_request import FetchPartition

START_MS = 1_000_000


class Lab:
    def __init__(self, slots: int) -> None:
        self.removed: list[FetchSession] = []
        self.cache = SessionCache(slots, SeededRng(7), self.removed.append)

    def create(self, target_count: int, now_ms: int) -> FetchSession | None:
        targets = [
            FetchTarget(("topic", index), "topic", bytes(16), FetchPartition(index))
            for index in range(target_count)
        ]
        return self.cache.create(targets, now_ms, uses_topic_ids=False)

    def created(self, target_count: int, now_ms: int) -> FetchSession:
        session = self.create(target_count, now_ms)
        assert session is not None
        return session

    def poll(self, session: FetchSession, now_ms: int) -> None:
        found = self.cache.find(session.id, session.epoch, now_ms, uses_topic_ids=False)
        assert found is session


def test_a_full_cache_gives_no_session() -> None:
    lab = Lab(slots=2)
    lab.created(1, START_MS)
    lab.created(1, START_MS)

    assert lab.create(100, START_MS + EVICTION_MS) is None
    assert len(lab.cache) == 2
    assert lab.removed == []


def test_a_cache_without_slots_gives_none_at_all() -> None:
    assert Lab(slots=0).create(1, START_MS) is None


def test_the_one_that_was_idle_longest_makes_room_after_two_minutes() -> None:
    lab = Lab(slots=2)
    polled, idle = lab.created(1, START_MS), lab.created(50, START_MS)
    lab.poll(polled, START_MS + 1)

    lab.created(1, START_MS + EVICTION_MS + 1)

    assert lab.removed == [idle]
    assert lab.cache.eviction_count == 1


def test_an_old_session_makes_room_for_a_larger_one() -> None:
    lab = Lab(slots=2)
    small, large = lab.created(3, START_MS), lab.created(5, START_MS)
    old = START_MS + EVICTION_MS + 1
    for session in (large, small):
        lab.poll(session, START_MS + EVICTION_MS)
        lab.poll(session, old)

    assert lab.create(3, old) is None
    lab.created(4, old)

    assert lab.removed == [small]


def test_a_young_session_makes_no_room_however_small_it_is() -> None:
    lab = Lab(slots=1)
    young = lab.created(1, START_MS)
    lab.poll(young, START_MS + EVICTION_MS)

    assert lab.create(1_000, START_MS + EVICTION_MS + 1) is None


def test_each_request_must_have_the_next_epoch() -> None:
    lab = Lab(slots=1)
    session = lab.created(1, START_MS)

    def find(epoch: int, *, uses_topic_ids: bool = False) -> FetchSession | ErrorCode:
        return lab.cache.find(session.id, epoch, START_MS, uses_topic_ids=uses_topic_ids)

    assert find(2) is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert find(1, uses_topic_ids=True) is ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    assert find(1) is session
    assert find(1) is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert find(2) is session


def test_a_session_that_is_gone_is_not_found() -> None:
    lab = Lab(slots=1)
    session = lab.created(1, START_MS)
    lab.cache.remove(session.id)

    found = lab.cache.find(session.id, 1, START_MS, uses_topic_ids=False)

    assert found is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert lab.removed == [session]


@pytest.mark.parametrize(("epoch", "following"), [(1, 2), (2**31 - 2, 2**31 - 1), (2**31 - 1, 1)])
def test_epochs_go_round_without_the_one_that_asks_for_a_session(
    epoch: int, following: int
) -> None:
    assert next_epoch(epoch) == following


def test_the_cache_knows_how_much_it_holds() -> None:
    lab = Lab(slots=3)
    first = lab.created(4, START_MS)
    lab.created(5, START_MS)

    assert lab.cache.target_count == 9
    lab.cache.remove(first.id)
    assert (len(lab.cache), lab.cache.target_count) == (1, 5)
