"""Where the parts of a process say what they can tell, and whether they are ready.

A source is asked at every scrape and yields figures: (metric, values of its labels, value). It
reads what is there; nothing is computed between scrapes. Sources of several nodes in one process
are told apart by the label `node_id`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from barnabas_core.runtime.metrics.definition import Metric
from barnabas_core.runtime.metrics.histogram import Histogram

NODE_LABEL = "node_id"


class Figure(NamedTuple):
    metric: Metric
    labels: tuple[str, ...]
    value: float | Histogram


Source: TypeAlias = Callable[[], Iterable[Figure | None]]
"""Whoever iterates lets the event loop turn in between, at the latest where there is a None; so
what is iterated over must not change."""

Readiness: TypeAlias = Callable[[], str | None]
"""Why it is not ready; None: it is."""


@dataclass(frozen=True, slots=True)
class Role:
    """A broker, a controller, or (without a node id) the process itself."""

    node_id: int | None
    sources: Sequence[Source]
    readiness: Readiness | None = None


class Registry:
    def __init__(self) -> None:
        self._roles: dict[str, Role] = {}

    @property
    def sources(self) -> list[tuple[str, Source]]:
        """(node id or nothing, source), in the order of adding."""
        return [
            ("" if role.node_id is None else str(role.node_id), source)
            for role in self._roles.values()
            for source in role.sources
        ]

    def add(self, name: str, role: Role) -> None:
        """A node that is started again takes the place of its former self."""
        self._roles[name] = role

    def reasons_not_ready(self) -> list[str]:
        """Empty: everything is ready, and there is something."""
        asked = [(name, role.readiness) for name, role in self._roles.items() if role.readiness]
        if not asked:
            return ["nothing has started yet"]
        reasons = ((name, readiness()) for name, readiness in asked)
        return [f"{name}: {reason}" for name, reason in reasons if reason is not None]
