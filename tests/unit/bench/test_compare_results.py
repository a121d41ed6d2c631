"""Verdicts of the benchmark beside Kafka: medians, ratios, and what was not measured."""

import pytest

from bench.compare.cluster import BARNABAS, KAFKA, Cluster
from bench.compare.page import MET, NOT_MEASURED, NOT_MET, failures, figures_table, goals_table
from bench.compare.plot import Pair, bars
from bench.compare.scenario import (
    CPU_PER_GB,
    RATE,
    START,
    Figures,
    Goal,
    Results,
    Scenario,
    Setting,
    Stage,
)


def nothing(cluster: Cluster, setting: Setting) -> Figures:
    return {}


def scenario(*goals: Goal) -> Scenario:
    return Scenario("produce", "Produce", Stage.ONE, nothing, goals)


def results(ours: list[float], theirs: list[float]) -> Results:
    found = Results()
    for side, values in ((BARNABAS, ours), (KAFKA, theirs)):
        for value in values:
            found.add("produce", side, {RATE: value})
    return found


@pytest.mark.parametrize(
    ("ours", "verdict"), [([300, 10, 100], MET), ([99, 300, 1], NOT_MET), ([], NOT_MEASURED)]
)
def test_a_goal_is_judged_by_the_ratio_of_medians(ours: list[float], verdict: str) -> None:
    goal = Goal(RATE, at_least=1.0)

    *_, row = goals_table([scenario(goal)], results(ours, [100, 5, 700]))

    assert row.endswith(f"| ≥ 1 | {verdict} |")


def test_a_ratio_to_nothing_is_not_measured() -> None:
    *_, row = goals_table([scenario(Goal(RATE, at_least=1.0))], results([100], []))

    assert row.endswith(f"| {NOT_MEASURED} |")


def test_an_absolute_goal_needs_no_kafka() -> None:
    found = Results()
    found.add("produce", BARNABAS, {START: 9.0})
    bound = Goal(START, at_most=10, is_ratio=False)
    tighter = Goal(START, at_most=8, is_ratio=False)

    *_, met, not_met = goals_table([scenario(bound, tighter)], found)

    assert met.endswith(f"| ≤ 10 (absolute) | {MET} |")
    assert not_met.endswith(f"| ≤ 8 (absolute) | {NOT_MET} |")


def test_less_is_better_where_there_is_a_most() -> None:
    assert Goal(CPU_PER_GB, at_most=0.5).is_met(0.5)
    assert not Goal(CPU_PER_GB, at_most=0.5).is_met(0.51)


def test_every_figure_is_shown_with_the_range_of_its_rounds() -> None:
    *_, row = figures_table([scenario()], results([1, 3, 2], [40]))

    assert row == "| Produce | MB/s | 2.00 | 1.00 – 3.00 | 40.0 | 40.0 – 40.0 |"


def test_what_failed_is_told_with_the_first_line_of_its_reason() -> None:
    found = Results()
    found.failures["produce", KAFKA] = "no answer\nand much more"

    assert list(failures([scenario()], found)) == ["- Produce, Kafka: no answer"]


def test_the_longest_bar_of_a_plot_fills_the_width() -> None:
    drawn = bars("Rate", "MB/s", [Pair("a <b>", 50, 100), Pair("c", 0, 25)])

    assert "a &lt;b&gt;" in drawn
    assert 'width="380.0"' in drawn
    assert 'width="190.0"' in drawn
    assert drawn.count("<rect") == 1 + 2 + 4


def test_another_side_can_stand_for_ours() -> None:
    found = results([100.0], [200.0])
    found.add("produce", "apart", {RATE: 50.0})
    found.failures["produce", BARNABAS] = "ours"

    apart = found.only("apart")

    assert apart.ratio("produce", RATE) == 0.25
    assert apart.failures == {}
    assert found.only(BARNABAS).ratio("produce", RATE) == 0.5
