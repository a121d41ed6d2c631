"""Leave to restart, given to one node after the other: soft state of the active controller.

A permit ends when its time is over, or when every role of its node has registered anew. Who has one
counts as down. A controller that has just become active does not know what the one before it
permitted, so it gives none before those must be over.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from barnabas_controller.managers.permit import RestartRisk, risk_of_restart
from barnabas_controller.managers.view import View

PERMIT_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class Permit:
    ends_at_ms: int
    broker_epoch: int | None
    controller_incarnation: bytes | None


@dataclass(frozen=True, slots=True)
class VoterHealth:
    """The voters of the quorum, and those of them that have what its leader has."""

    voter_ids: tuple[int, ...]
    caught_up: tuple[int, ...]

    @property
    def majority(self) -> int:
        return len(self.voter_ids) // 2 + 1

    @property
    def is_healthy(self) -> bool:
        return len(self.caught_up) >= self.majority

    def survives(self, down: Collection[int]) -> bool:
        left = [one for one in self.caught_up if one not in down]
        return len(left) >= self.majority

    @property
    def survives_loss(self) -> bool:
        return all(self.survives({one}) for one in self.voter_ids)


@dataclass(frozen=True, slots=True)
class RestartDecision:
    risk: RestartRisk
    reasons: tuple[str, ...]
    """Why it should not go now; empty: it may."""
    permitted: tuple[int, ...]
    """Others."""

    @property
    def is_safe(self) -> bool:
        return not self.reasons


class Permits:
    def __init__(self, active_since_ms: int) -> None:
        self._active_since_ms = active_since_ms
        self._permits: dict[int, Permit] = {}

    def current(self, view: View) -> Mapping[int, Permit]:
        """Those that have not ended."""
        over = [node_id for node_id, one in self._permits.items() if _is_over(view, node_id, one)]
        for node_id in over:
            del self._permits[node_id]
        return self._permits

    def wait_ms(self, monotonic_ms: int) -> int:
        """How long until a permit can be given at all."""
        return max(self._active_since_ms + PERMIT_MS - monotonic_ms, 0)

    def grant(self, view: View, node_id: int) -> int:
        """How long it lasts."""
        broker = view.image.cluster.brokers.get(node_id)
        controller = view.image.cluster.controllers.get(node_id)
        self._permits[node_id] = Permit(
            view.monotonic_ms + PERMIT_MS,
            None if broker is None else broker.epoch,
            None if controller is None else controller.incarnation_id,
        )
        return PERMIT_MS


def _is_over(view: View, node_id: int, permit: Permit) -> bool:
    if view.monotonic_ms >= permit.ends_at_ms:
        return True
    if permit.broker_epoch is None and permit.controller_incarnation is None:
        return False
    broker = view.image.cluster.brokers.get(node_id)
    controller = view.image.cluster.controllers.get(node_id)
    broker_is_back = permit.broker_epoch is None or (
        broker is not None and broker.epoch != permit.broker_epoch and broker.is_active
    )
    controller_is_back = permit.controller_incarnation is None or (
        controller is not None and controller.incarnation_id != permit.controller_incarnation
    )
    return broker_is_back and controller_is_back


def decide_restart(
    view: View, node_id: int, voters: VoterHealth, permits: Permits
) -> RestartDecision:
    """What would become of partitions and of the quorum if this node went now."""
    others = tuple(one for one in permits.current(view) if one != node_id)
    reasons: list[str] = []
    risk = RestartRisk()
    is_broker = node_id in view.image.cluster.brokers
    is_voter = node_id in voters.voter_ids
    if not (is_broker or is_voter or node_id in view.image.cluster.controllers):
        reasons.append(f"there is no node {node_id}")
    if is_broker:
        risk = risk_of_restart(view, node_id, others)
        if risk.offline:
            reasons.append(f"{len(risk.offline)} partitions would be offline")
        if risk.under_min_isr:
            reasons.append(f"{len(risk.under_min_isr)} partitions would be under min ISR")
    # A quorum of one or two voters has no restart that spares it: then there is no better order.
    if is_voter and len(voters.voter_ids) > 2 and not voters.survives({node_id, *others}):
        reasons.append("the quorum would lose its majority")
    return RestartDecision(risk, tuple(reasons), others)
