"""When memory is given back to the system."""

from barnabas_core.runtime.heap import GROWTH_BYTES, IDLE_CPU_SHARE, LOOKS_BETWEEN, HeapWatch

START = 50 * 1024 * 1024
GROWN = START + GROWTH_BYTES + 1
IDLE_S = 5 * IDLE_CPU_SHARE / 2
BUSY_S = 5 * IDLE_CPU_SHARE * 2


def test_an_idle_process_that_has_grown_gives_back() -> None:
    watch = HeapWatch(START, cpu_s=1)

    assert watch.is_due(GROWN, 1 + IDLE_S, 5)


def test_one_that_has_not_grown_keeps_what_it_has() -> None:
    watch = HeapWatch(START, cpu_s=1)

    assert not watch.is_due(START + GROWTH_BYTES, 1 + IDLE_S, 5)


def test_a_busy_one_waits_until_it_is_idle() -> None:
    watch = HeapWatch(START, cpu_s=1)

    assert not watch.is_due(GROWN, 1 + BUSY_S, 5)
    assert watch.is_due(GROWN, 1 + BUSY_S + IDLE_S, 5)


def test_what_was_in_use_is_asked_for_again_later() -> None:
    """As it may be free then: when buffers are let go, a process does not shrink by itself."""
    watch = HeapWatch(START, cpu_s=1)
    assert watch.is_due(GROWN, 1, 5)

    looks = [watch.is_due(GROWN, 1, 5) for _ in range(LOOKS_BETWEEN + 1)]

    assert looks == [False] * LOOKS_BETWEEN + [True]


def test_a_process_that_shrinks_by_itself_is_measured_from_there() -> None:
    watch = HeapWatch(GROWN, cpu_s=1)

    assert not watch.is_due(START, 1, 5)
    assert watch.is_due(GROWN, 1, 5)
