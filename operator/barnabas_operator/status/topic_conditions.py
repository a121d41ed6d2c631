"""The conditions of a topic."""

from barnabas_operator.plan.topic_state import Reason, Verdict
from barnabas_operator.status.conditions import (
    RECONCILING,
    STALLED,
    Finding,
    no,
    unknown,
    yes,
)

_NOT_ASKED = (Reason.UNREACHABLE, Reason.CLUSTER_GONE)


def topic_findings(verdict: Verdict) -> dict[str, Finding]:
    reason, message = verdict.reason.value, verdict.message
    is_moving = verdict.reason is Reason.REASSIGNING
    ready = yes if verdict.is_ready else no
    synced = yes if verdict.is_ready or is_moving else no
    if verdict.reason in _NOT_ASKED:
        ready = synced = unknown
    return {
        "Ready": ready(reason, message),
        "Synced": synced(reason, message),
        "Reassigning": (yes if is_moving else no)(reason, message if is_moving else ""),
        RECONCILING: (no if verdict.is_ready or verdict.is_final else yes)(reason, message),
        STALLED: (yes if verdict.is_final else no)(reason, message if verdict.is_final else ""),
    }
