"""How much each logger of a process says, which may change while it runs (KIP-412). Pure.

Loggers have dotted names. One without a level of its own has that of the nearest above it that has
one, at last that of `root`. Levels have Kafka's names; there is no line that is fatal, so that
FATAL silences a logger, and none below debug, so that TRACE is DEBUG.
"""

from collections.abc import Mapping
from typing import Final

ROOT: Final = "root"
LEVELS: Final[Mapping[str, int]] = {
    "TRACE": 0,
    "DEBUG": 10,
    "INFO": 20,
    "WARN": 30,
    "ERROR": 40,
    "FATAL": 50,
}


class LogLevels:
    def __init__(self, root_level: str) -> None:
        self._own = {ROOT: root_level}
        self.thresholds: dict[str, int] = {ROOT: LEVELS[root_level]}
        """What each logger leaves out is below this."""

    def add(self, name: str) -> None:
        """A logger of that name is there."""
        self.thresholds[name] = LEVELS[self.level_of(name)]

    def knows(self, name: str) -> bool:
        return name in self.thresholds

    def all(self) -> dict[str, str]:
        """The level of every logger, its own or not, by name."""
        return {name: self.level_of(name) for name in sorted(self.thresholds)}

    def level_of(self, name: str) -> str:
        while name and name not in self._own:
            name = name.rpartition(".")[0]
        return self._own[name or ROOT]

    def set(self, name: str, level: str) -> None:
        self._own[name] = level
        self._apply()

    def unset(self, name: str) -> None:
        """It has the level of the one above it again."""
        assert name != ROOT, "somebody must have a level"
        self._own.pop(name, None)
        self._apply()

    def _apply(self) -> None:
        for name in self.thresholds:
            self.thresholds[name] = LEVELS[self.level_of(name)]
