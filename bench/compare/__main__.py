"""`make bench`: measures both sides and fills docs/benchmarks.md."""

import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from bench.compare.barnabas_side import barnabas_side
from bench.compare.client import ROOT
from bench.compare.cluster import BARNABAS, KAFKA, Side
from bench.compare.command import chosen, is_for_the_page, option_parser, section
from bench.compare.kafka_side import kafka_side
from bench.compare.plot import Pair, bars
from bench.compare.run import Run
from bench.compare.scenario import (
    CPU_PER_GB,
    MEMORY,
    P99,
    RATE,
    REQUEST_RATE,
    Results,
    Scenario,
    Setting,
)
from bench.compare.scenarios import ALL
from bench.compare.usage import Machine
from bench.report import replace_section
from tests.support.external import JavaRuntime
from tools.fetch import fetch_java, fetch_kafka

PAGE: Final = ROOT / "docs" / "benchmarks.md"
PLOTS: Final = ROOT / "docs" / "plots"
_LIMIT_S: Final = 570
_QUICK_SCALE: Final = 0.3
_PLOTTED: Final = {
    "throughput": ("Throughput", RATE),
    "cpu": ("Processor time of the servers", CPU_PER_GB),
    "requests": ("One record per request", REQUEST_RATE),
    "latency": ("Latency", P99),
    "memory": ("Resident memory of the servers", MEMORY),
}


def main(arguments: Sequence[str]) -> int:
    options = option_parser("bench.compare", __doc__, ALL).parse_args(arguments)
    # So that everything is stopped in order whoever ends this.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    java = None if options.skip_kafka else JavaRuntime(fetch_java(), fetch_kafka())
    wanted = chosen(ALL, options.only)
    scenarios = [each for each in wanted if java is not None or not each.needs_java]
    directory = Path(tempfile.mkdtemp(prefix="barnabas-bench-", dir=options.data))
    results = Results()
    run = Run(
        _sides(java),
        Setting(_QUICK_SCALE if options.quick else 1.0, java),
        directory,
        time.monotonic() + _LIMIT_S,
        results,
    )
    state = Machine()
    try:
        run.all(scenarios)
    except KeyboardInterrupt:
        print("bench: interrupted", file=sys.stderr)
        return 130
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    text = "\n".join(section(scenarios, results, state.others_share()))
    print(text)
    if is_for_the_page(options):
        replace_section(PAGE, "compare", text + "\n" + "\n".join(_write_plots(scenarios, results)))
    return 0


def _sides(java: JavaRuntime | None) -> list[Side]:
    sides = [barnabas_side()]
    if java is not None:
        sides.append(kafka_side(java))
    return sides


def _write_plots(scenarios: Sequence[Scenario], results: Results) -> Iterator[str]:
    PLOTS.mkdir(exist_ok=True)
    for name, (title, figure) in _PLOTTED.items():
        pairs = [pair for each in scenarios if (pair := _pair(each, results, figure)) is not None]
        (PLOTS / f"{name}.svg").write_text(bars(title, figure, pairs), encoding="utf-8")
        yield f"\n![{title}](plots/{name}.svg)"


def _pair(scenario: Scenario, results: Results, figure: str) -> Pair | None:
    ours = results.figures(scenario.name, BARNABAS).get(figure)
    theirs = results.figures(scenario.name, KAFKA).get(figure)
    return None if ours is None or theirs is None else Pair(scenario.title, ours, theirs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
