"""The results as Markdown: goals first, then every figure."""

from collections.abc import Iterator, Sequence
from typing import Final

from bench.compare.cluster import BARNABAS, KAFKA
from bench.compare.scenario import Goal, Results, Scenario
from bench.compare.scenarios import COLUMNS

MET: Final = "met"
NOT_MET: Final = "**not met**"
NOT_MEASURED: Final = "not measured"


def goals_table(scenarios: Sequence[Scenario], results: Results) -> Iterator[str]:
    yield "| what | figure | Barnabas | Kafka | ratio | goal | |"
    yield "|---|---|--:|--:|--:|--:|---|"
    for scenario in scenarios:
        for goal in scenario.goals:
            yield _goal_row(scenario, goal, results)


def _goal_row(scenario: Scenario, goal: Goal, results: Results) -> str:
    judged = results.judged(scenario.name, goal)
    verdict = NOT_MEASURED if judged is None else MET if goal.is_met(judged) else NOT_MET
    ratio = results.ratio(scenario.name, goal.figure)
    cells = (
        scenario.title,
        goal.figure,
        _value(results.figures(scenario.name, BARNABAS).get(goal.figure)),
        _value(results.figures(scenario.name, KAFKA).get(goal.figure)),
        "" if ratio is None else f"{ratio:.2f}",
        goal.text,
        verdict,
    )
    return f"| {' | '.join(cells)} |"


def figures_table(scenarios: Sequence[Scenario], results: Results) -> Iterator[str]:
    """Medians, and the least and the most of the rounds behind them."""
    yield "| what | figure | Barnabas | its rounds | Kafka | its rounds |"
    yield "|---|---|--:|--:|--:|--:|"
    for scenario in scenarios:
        ours = results.figures(scenario.name, BARNABAS)
        theirs = results.figures(scenario.name, KAFKA)
        for figure in dict.fromkeys((*COLUMNS, *ours, *theirs)):
            if figure in ours or figure in theirs:
                cells = [scenario.title, figure]
                for side, found in ((BARNABAS, ours), (KAFKA, theirs)):
                    cells.append(_value(found.get(figure)))
                    cells.append(_spread(results, scenario.name, side, figure, found))
                yield f"| {' | '.join(cells)} |"


def failures(scenarios: Sequence[Scenario], results: Results) -> Iterator[str]:
    titles = {scenario.name: scenario.title for scenario in scenarios}
    for (name, side), reason in results.failures.items():
        yield f"- {titles[name]}, {side}: {reason.splitlines()[0] if reason else 'failed'}"


def _spread(
    results: Results, scenario: str, side: str, figure: str, found: dict[str, float]
) -> str:
    if figure not in found:
        return ""
    least, most = results.spread(scenario, side, figure)
    return f"{_value(least)} – {_value(most)}"


def _value(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
