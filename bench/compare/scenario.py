"""What is measured, and what is aimed at."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from statistics import median
from typing import Any, Final, TypeAlias

from bench.compare.cluster import BARNABAS, KAFKA
from tests.support.external import JavaRuntime

Figures: TypeAlias = dict[str, float]

RATE: Final = "MB/s"
RECORD_RATE: Final = "records/s"
REQUEST_RATE: Final = "requests/s"
CPU_PER_GB: Final = "CPU-s/GB"
CPU_PER_REQUEST: Final = "CPU µs/request"
MEMORY: Final = "resident MB"
P50: Final = "p50 ms"
P99: Final = "p99 ms"
P999: Final = "p99.9 ms"
START: Final = "start s"
IDLE_CPU: Final = "idle CPU %"


class Stage(Enum):
    """What has to run for it."""

    START = "nothing: each measurement starts a node of its own"
    ONE = "one node of each side, all the time"
    THREE = "three nodes of one side after the other"
    MANY = "a node with 10,000 partitions"


@dataclass(frozen=True, slots=True)
class Goal:
    """`figure` of Barnabas, as a ratio to Kafka's or by itself, on one side of a bound."""

    figure: str
    at_least: float | None = None
    at_most: float | None = None
    is_ratio: bool = True

    @property
    def text(self) -> str:
        bound = f"≥ {self.at_least:g}" if self.at_least is not None else f"≤ {self.at_most:g}"
        return bound if self.is_ratio else f"{bound} (absolute)"

    def is_met(self, value: float) -> bool:
        if self.at_least is not None:
            return value >= self.at_least
        return self.at_most is None or value <= self.at_most


@dataclass(frozen=True, slots=True)
class Setting:
    """How much work a measurement is."""

    scale: float
    java: JavaRuntime | None

    def count(self, full: int) -> int:
        return max(int(full * self.scale), 1000)

    def seconds(self, full: float) -> float:
        return max(full * self.scale, 1.0)


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    title: str
    stage: Stage
    measure: Callable[[Any, Setting], Figures]
    """Of a cluster of the kind that it is measured on."""
    goals: tuple[Goal, ...]
    rounds: int = 3
    needs_java: bool = False


class Results:
    """Figures by scenario and side, one set per round."""

    def __init__(self) -> None:
        self._rounds: dict[tuple[str, str], list[Figures]] = {}
        self.failures: dict[tuple[str, str], str] = {}

    def add(self, scenario: str, side: str, figures: Figures) -> None:
        self._rounds.setdefault((scenario, side), []).append(figures)

    def figures(self, scenario: str, side: str) -> Figures:
        """The median of each."""
        rounds = self._rounds.get((scenario, side), [])
        return {name: median(each[name] for each in rounds) for name in (rounds or [{}])[0]}

    def spread(self, scenario: str, side: str, figure: str) -> tuple[float, float]:
        values = [each[figure] for each in self._rounds[scenario, side]]
        return min(values), max(values)

    def only(self, ours: str, theirs: str = KAFKA) -> "Results":
        """Of these two sides; what was measured at `ours` stands for Barnabas."""
        names = {ours: BARNABAS, theirs: KAFKA}
        found = Results()
        for (scenario, side), rounds in self._rounds.items():
            if side in names:
                found._rounds[scenario, names[side]] = rounds
        for (scenario, side), reason in self.failures.items():
            if side in names:
                found.failures[scenario, names[side]] = reason
        return found

    def ratio(self, scenario: str, figure: str) -> float | None:
        ours = self.figures(scenario, BARNABAS).get(figure)
        theirs = self.figures(scenario, KAFKA).get(figure)
        return ours / theirs if ours is not None and theirs else None

    def judged(self, scenario: str, goal: Goal) -> float | None:
        """What the goal is about, if it was measured."""
        if goal.is_ratio:
            return self.ratio(scenario, goal.figure)
        return self.figures(scenario, BARNABAS).get(goal.figure)
