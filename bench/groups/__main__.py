"""`make bench-groups`: measures groups on both sides and fills docs/benchmarks.md."""

import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from subprocess import SubprocessError
from typing import Final

from confluent_kafka import KafkaException

from bench.compare.client import ROOT
from bench.compare.cluster import BARNABAS, Failed
from bench.compare.command import chosen, is_for_the_page, option_parser, section
from bench.compare.scenario import Results, Scenario, Setting
from bench.compare.usage import Machine
from bench.groups.scenarios import ALL, MANY_SHARDS, ONE_SHARD, SETTINGS, SINGLE_SHARD
from bench.groups.side import (
    APART,
    GroupCluster,
    GroupSide,
    barnabas_apart,
    barnabas_groups,
    kafka_groups,
)
from bench.report import replace_section
from tests.support.external import JavaRuntime
from tools.fetch import fetch_java, fetch_kafka

PAGE: Final = ROOT / "docs" / "benchmarks.md"
_LIMIT_S: Final = 840
_QUICK_SCALE: Final = 0.1
_ERRORS: Final = (Failed, KafkaException, AssertionError, OSError, SubprocessError)


class Run:
    """The sides take turns, scenario by scenario, within a limit of time."""

    def __init__(self, sides: Sequence[GroupSide], setting: Setting, directory: Path) -> None:
        self._sides = sides
        self._setting = setting
        self._directory = directory
        self._give_up_at = time.monotonic() + _LIMIT_S
        self.results = Results()

    def measure(self, name: str, extra: str, scenarios: Sequence[Scenario]) -> None:
        with ExitStack() as stack:
            clusters = []
            for number, side in enumerate(self._sides if scenarios else ()):
                # Not by the side's name: a comma would make two log directories of it.
                directory = self._directory / f"{name}-{number}"
                directory.mkdir()
                try:
                    clusters.append(stack.enter_context(side.running(directory, extra)))
                    clusters[-1].wait_ready()
                except _ERRORS as error:
                    for scenario in scenarios:
                        self._fail(scenario, side.name, error)
            for scenario in scenarios:
                for _ in range(scenario.rounds):
                    for cluster in clusters:
                        self._take(scenario, cluster)

    def _take(self, scenario: Scenario, cluster: GroupCluster) -> None:
        if (scenario.name, cluster.side) in self.results.failures:
            return
        try:
            if time.monotonic() > self._give_up_at:
                raise Failed("there was no time left for it")
            found = scenario.measure(cluster, self._setting)
        except _ERRORS as error:
            self._fail(scenario, cluster.side, error)
        else:
            self.results.add(scenario.name, cluster.side, found)
            told = ", ".join(f"{value:,.4g} {figure}" for figure, value in found.items())
            say(f"{scenario.name}, {cluster.side}: {told}")

    def _fail(self, scenario: Scenario, side: str, error: Exception) -> None:
        self.results.failures.setdefault((scenario.name, side), str(error) or repr(error))
        say(f"{scenario.name}, {side}: {error}")


def main(arguments: Sequence[str]) -> int:
    options = option_parser("bench.groups", __doc__, ALL).parse_args(arguments)
    # So that everything is stopped in order whoever ends this.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    java = None if options.skip_kafka else JavaRuntime(fetch_java(), fetch_kafka())
    directory = Path(tempfile.mkdtemp(prefix="barnabas-groups-", dir=options.data))
    sides = [barnabas_groups(), barnabas_apart()]
    if java is not None:
        sides.append(kafka_groups(java))
    run = Run(sides, Setting(_QUICK_SCALE if options.quick else 1.0, java), directory)
    state = Machine()
    try:
        run.measure("many", SETTINGS, chosen(MANY_SHARDS, options.only))
        run.measure("single", SETTINGS + ONE_SHARD, chosen(SINGLE_SHARD, options.only))
    except KeyboardInterrupt:
        print("bench: interrupted", file=sys.stderr)
        return 130
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    text = "\n".join(_page(chosen(ALL, options.only), run.results, state.others_share()))
    print(text)
    if is_for_the_page(options):
        replace_section(PAGE, "groups", text)
    return 0


def _page(scenarios: Sequence[Scenario], results: Results, others: float) -> Iterator[str]:
    yield "One process on either side: broker, controller and coordinators together."
    yield ""
    yield from section(scenarios, results.only(BARNABAS), others)
    yield ""
    yield "The same figures of Kafka beside broker, controller and coordinator as processes of"
    yield "their own, as containers run them; all three are counted."
    yield ""
    yield from section(scenarios, results.only(APART), others)


def say(text: str) -> None:
    print(f">> groups: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
