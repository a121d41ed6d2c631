"""Conditions as a map by type. The time of the last transition moves only with the status.

Besides those of the resource there are the two by which kstatus (Flux, `kubectl apply --wait` of
other tools) tells progress and failure: Reconciling and Stalled.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from barnabas_operator.api.status import Condition, ConditionStatus

RECONCILING: Final = "Reconciling"
STALLED: Final = "Stalled"
MESSAGE_MAX: Final = 1_000


@dataclass(frozen=True, slots=True)
class Finding:
    """What holds of one condition now."""

    status: ConditionStatus
    reason: str
    message: str = ""

    @property
    def holds(self) -> bool:
        return self.status is ConditionStatus.TRUE


def yes(reason: str, message: str = "") -> Finding:
    return Finding(ConditionStatus.TRUE, reason, message)


def no(reason: str, message: str = "") -> Finding:
    return Finding(ConditionStatus.FALSE, reason, message)


def unknown(reason: str, message: str = "") -> Finding:
    return Finding(ConditionStatus.UNKNOWN, reason, message)


def merge_conditions(
    before: Iterable[Condition], found: Mapping[str, Finding], generation: int, now: str
) -> tuple[Condition, ...]:
    """In the order of `found`; conditions of others stay behind them."""
    known = {one.type: one for one in before}
    made = tuple(
        Condition(
            type=name,
            status=one.status,
            reason=one.reason,
            message=one.message[:MESSAGE_MAX],
            last_transition_time=_since(known.get(name), one, now),
            observed_generation=generation,
        )
        for name, one in found.items()
    )
    return made + tuple(one for name, one in known.items() if name not in found)


def _since(before: Condition | None, found: Finding, now: str) -> str:
    if before is not None and before.status is found.status:
        return before.last_transition_time
    return now
