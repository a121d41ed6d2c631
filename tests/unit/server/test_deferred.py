"""Answers that come later."""

import pytest

from barnabas_core.server.deferred import Deferred


def test_the_one_who_waits_is_called_from_within_resolve() -> None:
    seen: list[int] = []
    deferred: Deferred[int] = Deferred()
    deferred.then(seen.append)

    deferred.resolve(7)

    assert seen == [7]


def test_a_value_that_is_there_already_is_given_at_once() -> None:
    seen: list[int | None] = []
    deferred: Deferred[int | None] = Deferred()
    deferred.resolve(None)

    deferred.then(seen.append)

    assert seen == [None]


def test_a_cancelled_answer_is_dropped_and_its_maker_told_once() -> None:
    seen: list[int] = []
    told: list[bool] = []
    deferred: Deferred[int] = Deferred(on_cancel=lambda: told.append(True))
    deferred.then(seen.append)

    deferred.cancel()
    deferred.cancel()
    deferred.resolve(7)

    assert seen == []
    assert told == [True]


def test_cancelling_what_is_resolved_tells_nobody() -> None:
    told: list[bool] = []
    deferred: Deferred[int] = Deferred()
    deferred.on_cancel(lambda: told.append(True))
    deferred.resolve(7)

    deferred.cancel()

    assert told == []


def test_resolving_twice_is_a_defect() -> None:
    deferred: Deferred[int] = Deferred()
    deferred.resolve(1)

    with pytest.raises(AssertionError):
        deferred.resolve(2)
