"""Lag from log ends that are seen now and then, for a bounded number of commits."""

import asyncio

from barnabas_coordinator.group.group_settings import GroupSettings
from barnabas_coordinator.lag_history import LagHistory
from barnabas_coordinator.lag_watch import LagParts, LagWatch
from barnabas_core.links.local_links import LocalLinks, LocalNetwork
from barnabas_core.ports.link import Identity
from barnabas_core.runtime.clock import SystemClock
from barnabas_core.runtime.log_setup import EventLog
from tests.support.offsets_lab import image_of, offsets_lab


def test_a_record_is_as_old_as_the_first_end_beyond_it() -> None:
    history = LagHistory()
    for log_end, at_ms in ((10, 1_000), (10, 2_000), (30, 3_000), (50, 4_000)):
        history.see(log_end, at_ms)

    assert history.age_ms(0, 5_000) == 4_000  # or more: it was there when the first look was taken
    assert history.age_ms(9, 5_000) == 4_000
    assert history.age_ms(10, 5_000) == 2_000
    assert history.age_ms(29, 5_000) == 2_000
    assert history.age_ms(49, 5_000) == 1_000


def test_what_is_not_there_yet_has_no_age() -> None:
    history = LagHistory()
    history.see(10, 1_000)

    assert history.age_ms(10, 5_000) == 0
    assert LagHistory().age_ms(0, 5_000) == 0


def test_few_ends_are_kept_and_the_oldest_and_the_newest_are_among_them() -> None:
    history = LagHistory()
    for second in range(10_000):
        history.see(second + 1, second * 1000)

    assert len(history._ends) <= 16
    assert history.age_ms(0, 10_000_000) == 10_000_000
    assert history.age_ms(9_999, 10_000_000) == 1_000
    ages = [history.age_ms(offset, 10_000_000) for offset in range(10_000)]
    assert ages == sorted(ages, reverse=True)


def test_a_log_that_became_shorter_is_looked_at_anew() -> None:
    history = LagHistory()
    history.see(50, 1_000)
    history.see(20, 2_000)

    assert history.age_ms(10, 5_000) == 3_000


def test_what_is_beyond_the_bound_is_counted_and_not_told() -> None:
    lab = offsets_lab(image_of(["cats"]), GroupSettings())
    for number in range(5):
        lab.commit((f"group-{number}", "cats", 0), number)
        lab.commit((f"group-{number}", "cats", 1), number)

    async def look() -> LagWatch:
        clock, log = SystemClock(), EventLog()
        links = LocalLinks(LocalNetwork(log), Identity("", 1, "group"), clock, log)
        watch = LagWatch(LagParts(lambda: [lab.machine], lambda: lab.image, links, clock, 3))
        await watch.look()
        return watch

    watch = asyncio.run(look())

    assert [(one.commit.group, one.commit.partition) for one in watch.lags] == [
        ("group-0", 0),
        ("group-0", 1),
        ("group-1", 0),
    ]
    # Nobody leads them: where they end is not known.
    assert [(one.records, one.seconds) for one in watch.lags] == [(None, None)] * 3
    assert watch.left_out_count == 7
