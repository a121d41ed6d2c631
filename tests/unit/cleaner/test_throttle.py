"""The cleaner's rate of input and output."""

from barnabas_core.log.cleaner.throttle import Throttle
from tests.support.manual_clock import ManualClock


class Pauses:
    """Sleeps by moving the clock."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.total_ms = 0

    def pause_ms(self, pause_ms: int) -> None:
        self.clock.advance(pause_ms)
        self.total_ms += pause_ms


def test_it_takes_as_long_as_the_rate_says() -> None:
    pauses = Pauses()
    throttle = Throttle(1000.0, pauses.clock, pauses.pause_ms)

    for _ in range(100):
        throttle.spend(100)

    assert abs(pauses.total_ms - 10_000) <= 100


def test_work_that_is_slow_by_itself_is_not_slowed_down() -> None:
    pauses = Pauses()
    throttle = Throttle(1000.0, pauses.clock, pauses.pause_ms)

    for _ in range(100):
        pauses.clock.advance(101)
        throttle.spend(100)

    assert pauses.total_ms == 0


def test_a_slow_hour_is_not_made_up_for_by_a_burst() -> None:
    pauses = Pauses()
    throttle = Throttle(1000.0, pauses.clock, pauses.pause_ms)
    pauses.clock.advance(3_600_000)
    throttle.spend(1)

    throttle.spend(10_000)

    assert pauses.total_ms >= 9_900


def test_without_a_limit_it_never_waits() -> None:
    pauses = Pauses()
    throttle = Throttle(1.7976931348623157e308, pauses.clock, pauses.pause_ms)

    throttle.spend(1 << 40)

    assert pauses.total_ms == 0
