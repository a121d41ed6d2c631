"""The hierarchical timing wheel, against the obvious implementation."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.runtime.timing_wheel import TimingWheel

delays = st.one_of(st.integers(-5, 200), st.integers(0, 2**20), st.integers(0, 2**34))
steps = st.one_of(st.integers(0, 100), st.integers(0, 2**18), st.integers(0, 2**34))


def nothing() -> None:
    """Nobody calls back here: the wheel only sorts."""


@given(
    start=st.integers(0, 2**41),
    plan=st.lists(st.tuples(st.lists(delays, max_size=6), steps), max_size=12),
)
def test_a_timeout_comes_out_when_it_is_due_and_not_before(
    start: int, plan: list[tuple[list[int], int]]
) -> None:
    wheel = TimingWheel(start)
    now = start
    waiting: list[int] = []

    for wanted_delays, step in plan:
        for delay in wanted_delays:
            wheel.add(now + delay, nothing)
            waiting.append(max(now + delay, now + 1))
        now += step
        came = [timeout.deadline_ms for timeout in wheel.advance(now)]

        assert came == sorted(deadline for deadline in waiting if deadline <= now)
        waiting = [deadline for deadline in waiting if deadline > now]


@given(st.integers(0, 2**41), st.lists(delays, min_size=1, max_size=20))
def test_waking_at_the_named_moments_is_never_late(start: int, wanted: list[int]) -> None:
    wheel = TimingWheel(start)
    for delay in wanted:
        wheel.add(start + delay, nothing)

    came = []
    while (moment := wheel.next_deadline_ms()) is not None:
        for timeout in wheel.advance(moment):
            assert timeout.deadline_ms == moment
            came.append(timeout.deadline_ms)

    assert came == sorted(max(start + delay, start + 1) for delay in wanted)


@given(st.lists(st.tuples(delays, st.booleans()), max_size=30))
def test_a_cancelled_timeout_never_comes_out(wanted: list[tuple[int, bool]]) -> None:
    wheel = TimingWheel(1000)
    timeouts = [(wheel.add(1000 + delay, nothing), cancel) for delay, cancel in wanted]

    for timeout, cancel in timeouts:
        if cancel:
            wheel.cancel(timeout)
            wheel.cancel(timeout)

    came = wheel.advance(2**41)
    assert len(came) == sum(not cancel for _, cancel in wanted)
    assert wheel.next_deadline_ms() is None


def test_cancelling_what_came_out_changes_nothing() -> None:
    wheel = TimingWheel(0)
    first = wheel.add(5, nothing)
    wheel.add(500, nothing)
    assert wheel.advance(10) == [first]

    wheel.cancel(first)

    assert len(wheel.advance(1000)) == 1


def test_those_due_together_come_out_in_the_order_of_adding() -> None:
    wheel = TimingWheel(0)
    timeouts = [wheel.add(30, nothing) for _ in range(5)]

    assert wheel.advance(30) == timeouts


def test_an_endless_delay_is_taken_for_years() -> None:
    wheel = TimingWheel(0)
    wheel.add(2**63 - 1, nothing)

    assert wheel.advance(365 * 24 * 3600 * 1000) == []
    assert wheel.next_deadline_ms() is not None
