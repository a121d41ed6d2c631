"""Takes the measurements, the sides in turn, within a limit of time."""

import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import SubprocessError
from typing import Final

from confluent_kafka import KafkaException

from bench.compare.cluster import BARNABAS, Cluster, Failed, Side
from bench.compare.scenario import START, Figures, Results, Scenario, Setting, Stage
from bench.compare.scenarios import one_per_request, produce

# More than the rounds of a scenario write together.
_WARM_BYTES: Final = 3 << 30
_RESERVED_S: Final = {Stage.THREE: 120, Stage.MANY: 60}
_MANY_TOPICS: Final = 10
_MANY_PARTITIONS: Final = 1000  # of each
_ERRORS: Final = (Failed, KafkaException, AssertionError, OSError, SubprocessError)


@dataclass(slots=True)
class Run:
    sides: Sequence[Side]
    setting: Setting
    directory: Path
    give_up_at: float
    results: Results
    reserved_s: float = 0
    """Of the time, for the stages with clusters of their own."""

    def all(self, scenarios: Sequence[Scenario]) -> None:
        by_stage = {stage: [each for each in scenarios if each.stage is stage] for stage in Stage}
        self.reserved_s = sum(
            _RESERVED_S[each.stage] for each in scenarios if each.stage in _RESERVED_S
        )
        for scenario in by_stage[Stage.START]:
            self._start(scenario)
        if by_stage[Stage.ONE]:
            self._one(by_stage[Stage.ONE])
        for scenario in by_stage[Stage.THREE]:
            self._three(scenario)
        for scenario in by_stage[Stage.MANY]:
            self._many(scenario)

    def _start(self, scenario: Scenario) -> None:
        for side in self.sides:  # once for nothing: files are read, modules compiled
            with suppress(*_ERRORS), side.running(self._new_directory(f"first-{side.name}"), 1):
                pass
        for number in range(scenario.rounds):
            for side in self.sides:
                self._started(scenario, side, self._new_directory(f"start-{side.name}-{number}"))

    def _started(self, scenario: Scenario, side: Side, directory: Path) -> None:
        """Start a node, measure, stop it."""
        if not self._may(scenario, side.name):
            return
        try:
            begun = time.monotonic()
            with side.running(directory, 1) as cluster:
                seconds = time.monotonic() - begun
                found = scenario.measure(cluster, self.setting)
        except _ERRORS as error:
            self._fail(scenario, side.name, error)
        else:
            self._keep(scenario, side.name, {START: seconds, **found})

    def _one(self, scenarios: Sequence[Scenario]) -> None:
        with ExitStack() as stack:
            clusters = []
            for side in self.sides:
                directory = self._new_directory(f"one-{side.name}")
                try:
                    clusters.append(stack.enter_context(side.running(directory, 1)))
                    clusters[-1].wait_ready()
                except _ERRORS as error:
                    for scenario in scenarios:
                        self._fail(scenario, side.name, error)
            for cluster in clusters:
                self._warm(cluster)
            for index, scenario in enumerate(scenarios):
                warm_pages(self.directory)
                repeat_until = self._fair_share(len(scenarios) - index)
                for number in range(scenario.rounds):
                    if number and time.monotonic() > repeat_until:
                        break
                    for cluster in clusters:
                        self._measure(scenario, cluster)

    def _fair_share(self, scenario_count: int) -> float:
        """When the first of so many has had its part of the time that is left for them.

        On a busy machine all get fewer rounds, rather than the last ones none.
        """
        now = time.monotonic()
        return now + (self.give_up_at - self.reserved_s - now) / scenario_count

    def _three(self, scenario: Scenario) -> None:
        for side in self.sides:
            if not self._may(scenario, side.name):
                continue
            try:
                with side.running(self._new_directory(f"three-{side.name}"), 3) as cluster:
                    cluster.wait_ready()
                    warm_pages(self.directory)
                    self._measure(scenario, cluster, keep=False)
                    for _ in range(scenario.rounds):
                        self._measure(scenario, cluster)
            except _ERRORS as error:
                self._fail(scenario, side.name, error)

    def _many(self, scenario: Scenario) -> None:
        """Only ours: its goals are no ratios, and the other takes minutes."""
        for side in self.sides:
            if side.name != BARNABAS or not self._may(scenario, side.name):
                continue
            directory = self._new_directory("many")
            try:
                with side.running(directory, 1) as cluster:
                    cluster.wait_ready()
                    for number in range(_MANY_TOPICS):
                        cluster.create_topic(f"many-{number}", _MANY_PARTITIONS)
                    # The answer is the controller's; the broker makes the logs after it.
                    cluster.wait_partitions(f"many-{_MANY_TOPICS - 1}", _MANY_PARTITIONS)
            except _ERRORS as error:
                self._fail(scenario, side.name, error)
            else:
                self._started(scenario, side, directory)

    def _warm(self, cluster: Cluster) -> None:
        """Have the JVM compile what it runs."""
        say(f"{cluster.side}: warming up")
        try:
            for measure in (produce(1024, "1"), one_per_request(16), produce(100, "all")):
                measure(cluster, self.setting)
        except _ERRORS as error:
            say(f"{cluster.side}: {error}")

    def _measure(self, scenario: Scenario, cluster: Cluster, *, keep: bool = True) -> None:
        if not self._may(scenario, cluster.side):
            return
        try:
            found = scenario.measure(cluster, self.setting)
        except _ERRORS as error:
            self._fail(scenario, cluster.side, error)
        else:
            if keep:
                self._keep(scenario, cluster.side, found)

    def _may(self, scenario: Scenario, side: str) -> bool:
        if time.monotonic() > self.give_up_at:
            self._fail(scenario, side, Failed("there was no time left for it"))
        return (scenario.name, side) not in self.results.failures

    def _keep(self, scenario: Scenario, side: str, found: Figures) -> None:
        self.results.add(scenario.name, side, found)
        say(f"{scenario.name}, {side}: " + ", ".join(f"{v:,.4g} {k}" for k, v in found.items()))

    def _fail(self, scenario: Scenario, side: str, error: Exception) -> None:
        self.results.failures.setdefault((scenario.name, side), str(error) or repr(error))
        say(f"{scenario.name}, {side}: {error}")

    def _new_directory(self, name: str) -> Path:
        path = self.directory / name
        path.mkdir()
        return path


def warm_pages(directory: Path) -> None:
    """Have the machine hand out its pages now: the first use of one costs ten times the next."""
    path = directory / "pages"
    with path.open("wb") as file:
        file.writelines(bytes(1 << 20) for _ in range(_WARM_BYTES >> 20))
    path.unlink()


def say(text: str) -> None:
    print(f">> compare: {text}", file=sys.stderr, flush=True)
