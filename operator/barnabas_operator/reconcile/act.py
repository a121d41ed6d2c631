"""Actions are carried out one by one; what fails is told and tried again in the next round.

A pod is deleted only with the lease in hand, and within its permit: what comes late comes not.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from barnabas_core.ports import Clock
from barnabas_operator.health.cluster_port import ClusterPort, Refused, Unavailable
from barnabas_operator.kube.client import Kube, KubeError
from barnabas_operator.kube.paths import path_of
from barnabas_operator.kube.quantity import quantity_of
from barnabas_operator.plan.actions import Action, ExpandClaim, MarkSpread, Restart

_MARGIN_MS: Final = 10_000
"""Of a permit that is left unused: a clock may be slow, a request under way."""
_DELETE_S: Final = 5.0


@dataclass(slots=True)
class Outcome:
    refusals: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    blocked_by: list[str] = field(default_factory=list)
    """Why a pod was not let go."""
    restarted: list[str] = field(default_factory=list)
    done: list[Action] = field(default_factory=list)
    spread_to: frozenset[int] | None = None


@dataclass(frozen=True, slots=True)
class Actor:
    kube: Kube
    port: ClusterPort | None
    clock: Clock
    namespace: str
    is_leader: Callable[[], bool]

    async def carry_out(self, actions: Sequence[Action]) -> Outcome:
        outcome = Outcome()
        for action in actions:
            if not self.is_leader():
                outcome.failures.append("another operator has taken over")
                break
            try:
                await self._one(action, outcome)
            except Refused as error:
                outcome.refusals.append(f"{_told(action)}: {error}")
            except Unavailable as error:
                outcome.failures.append(f"{_told(action)}: {error}")
            except KubeError as error:
                told = outcome.refusals if error.is_refusal else outcome.failures
                told.append(f"{_told(action)}: {error}")
        return outcome

    async def _one(self, action: Action, outcome: Outcome) -> None:
        if isinstance(action, Restart):
            await self._restart(action, outcome)
            return
        if isinstance(action, MarkSpread):
            outcome.spread_to = action.node_ids
        elif isinstance(action, ExpandClaim):
            path = path_of("PersistentVolumeClaim", self.namespace, action.name)
            change = {
                "spec": {"resources": {"requests": {"storage": quantity_of(action.to_bytes)}}}
            }
            await self.kube.merge(path, change)
        elif self.port is not None:
            await self.port.carry_out(action)
        outcome.done.append(action)

    async def _restart(self, action: Restart, outcome: Outcome) -> None:
        if action.needs_permit and not await self._has_permit(action, outcome):
            return
        if not self.is_leader():
            outcome.failures.append("another operator has taken over")
            return
        path = path_of("Pod", self.namespace, action.pod_name)
        if await self.kube.delete(path, action.pod_uid, timeout_s=_DELETE_S):
            outcome.restarted.append(action.pod_name)
            outcome.done.append(action)

    async def _has_permit(self, action: Restart, outcome: Outcome) -> bool:
        if self.port is None:
            outcome.blocked_by.append(f"{action.pod_name}: there is nobody to permit it")
            return False
        asked_at_ms = self.clock.monotonic_ms()
        answer = await self.port.permit(action)
        if not answer.lasts_ms:
            reasons = answer.reasons or ("not permitted",)
            outcome.blocked_by += [f"{action.pod_name}: {reason}" for reason in reasons]
            return False
        # Counted from the question: the answer may have taken its time.
        ends_at_ms = asked_at_ms + answer.lasts_ms - _MARGIN_MS
        return self.clock.monotonic_ms() + _DELETE_S * 1000 < ends_at_ms


def _told(action: Action) -> str:
    words = "".join(f" {one}" if one.isupper() else one for one in type(action).__name__)
    return words.strip().lower()
