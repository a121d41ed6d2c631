"""What pods, hosts and volumes say, as plans want it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from barnabas_operator.kube.client import Json
from barnabas_operator.plan.observed import PodState

DRAIN_TAINTS: Final = frozenset(
    {
        "node.kubernetes.io/unschedulable",
        "ToBeDeletedByClusterAutoscaler",
        "karpenter.sh/disrupted",
        "karpenter.sh/disruption",
    }
)
"""By which those who take hosts away say so beforehand."""

_UNSCHEDULABLE: Final = "Unschedulable"
_PLACED_MS: Final = 60_000


def read_pod(pod: Json, revision_annotation: str, now_ms: int) -> PodState:
    metadata, status = pod["metadata"], pod.get("status") or {}
    ready = _condition(status, "Ready")
    unready_ms = _since(ready, metadata, now_ms)
    reason = _waiting_reason(status)
    # Volumes are made after the first try to place their pod.
    is_early = reason == _UNSCHEDULABLE and unready_ms < _PLACED_MS
    return PodState(
        name=metadata["name"],
        uid=metadata["uid"],
        revision=(metadata.get("annotations") or {}).get(revision_annotation, ""),
        is_ready=ready.get("status") == "True",
        is_terminating="deletionTimestamp" in metadata,
        waiting_reason="" if is_early else reason,
        unready_ms=unready_ms,
        host=(pod.get("spec") or {}).get("nodeName", ""),
    )


def is_pod_ready(pod: Json) -> bool:
    return _condition(pod.get("status") or {}, "Ready").get("status") == "True"


def is_draining(host: Json) -> bool:
    spec = host.get("spec") or {}
    taints = {one.get("key") for one in spec.get("taints") or ()}
    return bool(spec.get("unschedulable")) or bool(taints & DRAIN_TAINTS)


def _condition(status: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    for one in status.get("conditions") or ():
        if one.get("type") == kind:
            return one  # type: ignore[no-any-return]
    return {}


def _waiting_reason(status: Mapping[str, Any]) -> str:
    for member in ("initContainerStatuses", "containerStatuses"):
        for one in status.get(member) or ():
            waiting = (one.get("state") or {}).get("waiting") or {}
            if waiting.get("reason") not in (None, "PodInitializing", "ContainerCreating"):
                return str(waiting["reason"])
    scheduled = _condition(status, "PodScheduled")
    return str(scheduled.get("reason") or "") if scheduled.get("status") == "False" else ""


def _since(ready: Mapping[str, Any], metadata: Mapping[str, Any], now_ms: int) -> int:
    if ready.get("status") == "True":
        return 0
    return elapsed_ms(ready.get("lastTransitionTime") or metadata.get("creationTimestamp"), now_ms)


def elapsed_ms(written: str | None, now_ms: int) -> int:
    """Since a moment as Kubernetes writes it."""
    if not written:
        return 0
    since_ms = int(datetime.fromisoformat(written).timestamp() * 1000)
    return max(now_ms - since_ms, 0)
