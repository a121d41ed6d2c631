"""What a profile of the simulator is: how to run a seed, and how much trouble it must meet."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one seed."""

    trace: int
    coverage: Mapping[str, int]
    recovery_us: int
    """How long after the faults everyone was back."""


@dataclass(frozen=True, slots=True)
class Profile:
    run: Callable[[int], Outcome]
    recovery_us_max: int
    floors: Mapping[str, int]
    """Per 1,000 seeds; a run that meets less than this has not tested what it claims to."""
    floor_seeds: int = 200
    """Fewer seeds than this are too few to compare."""
    run_loudly: Callable[[int], Outcome] | None = None
    """Says what happens while it does."""


@dataclass(slots=True)
class Total:
    """Of all seeds so far."""

    coverage: dict[str, int] = field(default_factory=dict)
    recovery_us: int = 0

    def add(self, outcome: Outcome) -> None:
        for name, seen in outcome.coverage.items():
            self.coverage[name] = self.coverage.get(name, 0) + seen
        self.recovery_us = max(self.recovery_us, outcome.recovery_us)
