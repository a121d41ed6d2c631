"""What the commands that measure both sides have in common: their options, and what they print."""

import argparse
from collections.abc import Iterator, Sequence

from bench.compare.page import failures, figures_table, goals_table
from bench.compare.scenario import Results, Scenario
from bench.core import machine
from tools.fetch import KAFKA_VERSION


def option_parser(
    module: str, description: str | None, scenarios: Sequence[Scenario]
) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=description)
    parser.add_argument("--only", metavar="NAMES", help=", ".join(each.name for each in scenarios))
    parser.add_argument("--quick", action="store_true", help="less of everything")
    parser.add_argument("--skip-kafka", action="store_true", help="measure Barnabas alone")
    parser.add_argument("--no-write", action="store_true", help="leave the page as it is")
    parser.add_argument("--data", metavar="DIR", help="where both keep their logs (/tmp)")
    return parser


def is_for_the_page(options: argparse.Namespace) -> bool:
    """All of it was measured, on both sides."""
    return not (options.no_write or options.only or options.quick or options.skip_kafka)


def chosen(scenarios: Sequence[Scenario], only: str | None) -> list[Scenario]:
    """Those whose name begins with one of the names."""
    starts = tuple(only.split(",")) if only else ("",)
    return [scenario for scenario in scenarios if scenario.name.startswith(starts)]


def section(scenarios: Sequence[Scenario], results: Results, others: float) -> Iterator[str]:
    yield (
        f"Apache Kafka {KAFKA_VERSION} beside it on {machine()}. Others, and the kernel's own "
        f"writing to disk, used {others:.0%} of the cores meanwhile."
    )
    yield ""
    yield from goals_table(scenarios, results)
    yield ""
    left_out = list(failures(scenarios, results))
    if left_out:
        yield "Not measured:"
        yield from left_out
        yield ""
    yield "Medians, and the least and the most of the rounds behind them:"
    yield ""
    yield from figures_table(scenarios, results)
