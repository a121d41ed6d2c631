"""Why a pod is not there: quotas, admission, a claim that is on its way out.

Only the events of its StatefulSet tell. The newest one about a pod counts: what failed before the
pod was made is history, and Kubernetes tries again by itself, at ever longer intervals.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from barnabas_operator.kube.client import Json, Kube, KubeError
from barnabas_operator.kube.paths import collection
from barnabas_operator.kube.reading import elapsed_ms
from barnabas_operator.plan.observed import NodeState
from barnabas_operator.specs.names import pod_name

_OF_STATEFUL_SETS: Final = "involvedObject.kind=StatefulSet"
_FORBIDDEN: Final = 403
_LASTING_MS: Final = 10_000
"""A claim that was just deleted holds its pod up for a moment."""
_ABOUT_POD: Final = re.compile(
    r"create (?:Claim \S+ )?Pod (\S+) in StatefulSet \S+ (.*)", re.DOTALL
)
_FAILED: Final = "failed error: "


async def with_absences(
    kube: Kube, nodes: Sequence[NodeState], namespace: str, cluster: str, now_ms: int
) -> tuple[NodeState, ...]:
    """Nobody is asked while all pods are there."""
    if all(node.pod is not None for node in nodes):
        return tuple(nodes)
    reasons = reasons_of_absence(await _read_events(kube, namespace), now_ms)

    def told(node: NodeState) -> NodeState:
        name = pod_name(cluster, node.pool, node.node_id)
        if node.pod is not None or name not in reasons:
            return node
        return replace(node, absence=f"{name} cannot be made: {reasons[name]}")

    return tuple(told(node) for node in nodes)


async def _read_events(kube: Kube, namespace: str) -> list[Json]:
    try:
        return await kube.list(collection("Event", namespace), fields=_OF_STATEFUL_SETS)
    except KubeError as error:
        # Rights of an older installation: the reason is missed, nothing else.
        if error.status == _FORBIDDEN:
            return []
        raise


def reasons_of_absence(events: Iterable[Json], now_ms: int) -> Mapping[str, str]:
    """By pod, of those that Kubernetes has failed to make for a while."""
    newest: dict[str, tuple[str, bool, str]] = {}
    for event in events:
        found = _ABOUT_POD.search(event.get("message") or "")
        if found is None:
            continue
        pod, outcome = found.groups()
        reason = outcome.removeprefix(_FAILED) if outcome.startswith(_FAILED) else ""
        if reason and elapsed_ms(event.get("firstTimestamp"), now_ms) < _LASTING_MS:
            continue
        # Times are whole seconds: of two in one second the pod that was made counts.
        one = (str(event.get("lastTimestamp") or ""), not reason, reason)
        newest[pod] = max(newest.get(pod, one), one)
    return {pod: reason for pod, (_, _, reason) in newest.items() if reason}
