"""A coordinator at which a session failed is left alone for a while."""

from barnabas_broker.shards.session_failures import SessionFailures
from barnabas_core.ports.link import Address

ONE, TWO = Address("c", 1), Address("c", 2)


def test_the_wait_doubles_with_each_failure_in_a_row_up_to_a_bound() -> None:
    failures = SessionFailures()
    waits = []
    now_ms = 0
    for _ in range(9):
        failures.note(0, ONE, 50, now_ms)
        before_ms = now_ms
        while failures.avoided(now_ms):
            now_ms += 100
        waits.append(now_ms - before_ms)

    assert waits == [100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000]


def test_a_session_that_lasted_breaks_the_row() -> None:
    failures = SessionFailures()
    for _ in range(5):
        failures.note(0, ONE, 29_999, 0)

    failures.note(0, ONE, 30_000, 0)

    assert failures.avoided(99) == {0: [ONE]}
    assert failures.avoided(100) == {}


def test_one_shard_says_nothing_of_another() -> None:
    failures = SessionFailures()
    failures.note(0, ONE, 0, 0)
    failures.note(1, TWO, 0, 0)
    failures.note(0, TWO, 0, 0)

    assert failures.avoided(0) == {0: [ONE, TWO], 1: [TWO]}
    failures.forget(TWO)
    assert failures.avoided(0) == {0: [ONE]}
