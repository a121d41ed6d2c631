"""Figures are rendered as Prometheus reads them: its own parser is the judge."""

import asyncio
from collections.abc import Iterator

from prometheus_client.parser import text_string_to_metric_families

from barnabas_core.runtime.metrics.definition import counter, gauge, histogram
from barnabas_core.runtime.metrics.exposition import render
from barnabas_core.runtime.metrics.histogram import BOUNDS_S, UNIT_SHIFT, Histogram
from barnabas_core.runtime.metrics.loop_watch import LoopWatch
from barnabas_core.runtime.metrics.process_figures import METRICS, ProcessFigures
from barnabas_core.runtime.metrics.registry import Figure, Registry, Role, Source
from tests.support.manual_clock import ManualClock

BYTES = counter("test_bytes_total", 'What came in, with a \\ and\na "line".', "topic")
SIZE = gauge("test_size", "How large it is.")
TIME = histogram("test_time_seconds", "How long it took.", "api")


def text_of(registry: Registry) -> str:
    async def collect() -> str:
        return "".join([piece async for piece in render(registry)])

    return asyncio.run(collect())


def samples(registry: Registry) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text_of(registry))
        for sample in family.samples
    }


def of(*figures: Figure) -> Source:
    return lambda: iter(figures)


def test_a_figure_is_read_back_as_it_was() -> None:
    registry = Registry()
    registry.add(
        "one", Role(None, (of(Figure(BYTES, ('we"ird\\top\nic',), 2**60), Figure(SIZE, (), 0.1)),))
    )

    found = samples(registry)

    assert found["test_bytes_total", (("topic", 'we"ird\\top\nic'),)] == 2**60
    assert found["test_size", ()] == 0.1


def test_what_is_no_number_is_read_back_too() -> None:
    registry = Registry()
    values = {"a": float("inf"), "b": float("-inf"), "c": float("nan"), "d": True}
    registry.add(
        "one",
        Role(None, (lambda: (Figure(BYTES, (name,), value) for name, value in values.items()),)),
    )

    found = samples(registry)

    assert found["test_bytes_total", (("topic", "a"),)] == float("inf")
    assert found["test_bytes_total", (("topic", "b"),)] == float("-inf")
    nan = found["test_bytes_total", (("topic", "c"),)]
    assert nan != nan
    assert found["test_bytes_total", (("topic", "d"),)] == 1


def test_the_figures_of_several_nodes_stand_together_and_are_told_apart() -> None:
    registry = Registry()
    registry.add("node 1", Role(1, (of(Figure(SIZE, (), 1), Figure(BYTES, ("t",), 10)),)))
    registry.add("node 2", Role(2, (of(Figure(SIZE, (), 2), Figure(BYTES, ("t",), 20)),)))

    found = samples(registry)

    assert found["test_size", (("node_id", "2"),)] == 2
    assert found["test_bytes_total", (("node_id", "1"), ("topic", "t"))] == 10
    assert text_of(registry).count("# TYPE test_size gauge") == 1


def test_a_duration_is_counted_in_every_bucket_above_it() -> None:
    times = Histogram()
    for duration_ns in (0, 1_000_000, 1_000_000, 3_600_000_000_000):
        times.observe(duration_ns)
    registry = Registry()
    registry.add("one", Role(None, (of(Figure(TIME, ("Fetch",), times)),)))

    found = samples(registry)

    buckets = {
        float(dict(labels)["le"]): value
        for (name, labels), value in found.items()
        if name == "test_time_seconds_bucket"
    }
    assert [value for bound, value in sorted(buckets.items()) if bound < 0.0009] == [1.0] * 3
    assert buckets[float("inf")] == 4
    assert max(value for bound, value in buckets.items() if bound < 100) == 3
    assert found["test_time_seconds_count", (("api", "Fetch"),)] == 4
    assert found["test_time_seconds_sum", (("api", "Fetch"),)] == 3600.002


def test_no_duration_is_above_the_bound_of_its_bucket() -> None:
    for bound_s, place in zip(BOUNDS_S, range(7, 26), strict=True):
        times = Histogram()
        times.observe((1 << (place + UNIT_SHIFT)) - 1)
        index = BOUNDS_S.index(bound_s)
        assert times.cumulative()[index] == 1
        assert sum(times.cumulative()[:index]) == 0


def test_thousands_of_figures_let_the_event_loop_turn() -> None:
    turns = 0

    async def scene() -> None:
        nonlocal turns
        registry = Registry()
        registry.add(
            "one", Role(None, (lambda: (Figure(BYTES, (str(n),), n) for n in range(10_000)),))
        )

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        task = asyncio.get_running_loop().create_task(count())
        async for _ in render(registry):
            pass
        task.cancel()

    asyncio.run(scene())

    assert turns >= 19


def test_the_process_is_described_once_it_was_looked_at() -> None:
    figures = ProcessFigures()
    assert list(figures()) == []

    figures.refresh()

    found = {figure.metric.name: figure.value for figure in figures()}
    assert set(found) == {metric.name for metric in METRICS}
    assert all(isinstance(value, int | float) and value > 0 for value in found.values())


def test_a_node_that_comes_back_takes_the_place_of_its_former_self() -> None:
    registry = Registry()
    registry.add("broker 1", Role(1, (of(Figure(SIZE, (), 1)),), lambda: "gone"))
    registry.add("broker 1", Role(1, (of(Figure(SIZE, (), 2)),), lambda: None))

    assert samples(registry) == {("test_size", (("node_id", "1"),)): 2}
    assert registry.reasons_not_ready() == []


def test_a_source_may_ask_for_a_turn_of_the_loop() -> None:
    registry = Registry()
    registry.add("one", Role(None, (lambda: [None, Figure(SIZE, (), 1), None],)))

    assert samples(registry) == {("test_size", ()): 1}


def test_nothing_is_ready_before_a_role_says_so() -> None:
    registry = Registry()
    assert registry.reasons_not_ready()

    reasons: list[str | None] = [None, "fenced"]
    registry.add("controller", Role(1, (), lambda: reasons[0]))
    registry.add("broker 1", Role(1, (), lambda: reasons[1]))
    assert registry.reasons_not_ready() == ["broker 1: fenced"]

    reasons[1] = None
    assert registry.reasons_not_ready() == []


def test_a_loop_that_does_not_beat_is_not_alive() -> None:
    clock = ManualClock()
    watch = LoopWatch(clock)
    assert watch.reason_not_alive() is None

    clock.advance(5_001)

    assert watch.reason_not_alive() == "the event loop was last seen 5001 ms ago"


def test_a_beat_that_is_late_shows_once_as_the_worst() -> None:
    clock = ManualClock()
    watch = LoopWatch(clock)

    async def scene() -> None:
        task = asyncio.get_running_loop().create_task(watch.run())
        await asyncio.sleep(0)
        clock.advance(350)
        await asyncio.sleep(0.2)
        task.cancel()

    asyncio.run(scene())

    assert _worst(watch()) == 0.25
    assert _worst(watch()) == 0


def _worst(figures: Iterator[Figure]) -> float:
    _, worst = figures
    assert isinstance(worst.value, float)
    return worst.value
