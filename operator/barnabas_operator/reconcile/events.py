"""Events that mean something: what began, what ended, what needs somebody. Few of them.

History is in the conditions; Kubernetes forgets events within an hour. One that cannot be written
is not missed.
"""

from collections.abc import Iterable
from typing import Final

from barnabas_core.ports import Clock, Rng
from barnabas_core.runtime.log_setup import EventLog
from barnabas_operator.api.status import ClusterStatus, Condition
from barnabas_operator.kube.client import FIELD_MANAGER, Json, Kube, KubeError
from barnabas_operator.kube.paths import collection
from barnabas_operator.reconcile.moment import moment

_MESSAGE_MAX: Final = 1_000
_TOLD: Final = {
    ("Ready", "True"): ("Normal", "Ready"),
    ("Ready", "False"): ("Warning", "NotReady"),
    ("Degraded", "True"): ("Warning", "Degraded"),
    ("Degraded", "False"): ("Normal", "Recovered"),
    ("Paused", "True"): ("Normal", "Paused"),
    ("Stable", "True"): ("Normal", "Stable"),
    ("QuorumHealthy", "False"): ("Warning", "QuorumLost"),
}


class Events:
    def __init__(self, kube: Kube, clock: Clock, rng: Rng, log: EventLog) -> None:
        self._kube = kube
        self._clock = clock
        self._rng = rng
        self._log = log

    async def after_round(
        self, raw: Json, before: ClusterStatus, after: ClusterStatus, restarted: Iterable[str]
    ) -> None:
        for pod in restarted:
            await self.post(raw, "Normal", "Restarting", f"{pod} restarts with its permit")
        for kind, reason, message in transitions(before.conditions, after.conditions):
            await self.post(raw, kind, reason, message)

    async def post(self, raw: Json, kind: str, reason: str, message: str) -> None:
        metadata = raw["metadata"]
        now = moment(self._clock)
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": f"{metadata['name']}.{self._rng.randbytes(8).hex()}",
                "namespace": metadata["namespace"],
            },
            "involvedObject": {
                "apiVersion": raw["apiVersion"],
                "kind": raw["kind"],
                "name": metadata["name"],
                "namespace": metadata["namespace"],
                "uid": metadata["uid"],
            },
            "type": kind,
            "reason": reason,
            "message": message[:_MESSAGE_MAX],
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "source": {"component": FIELD_MANAGER},
            "reportingComponent": FIELD_MANAGER,
        }
        try:
            await self._kube.create(collection("Event", metadata["namespace"]), event)
        except KubeError as error:
            self._log.debug("an event was not written", reason=str(error))


def transitions(
    before: Iterable[Condition], after: Iterable[Condition]
) -> list[tuple[str, str, str]]:
    """(type, reason, message) of what is worth an event. Of Unknown nothing is told."""
    was = {one.type: one.status for one in before}
    found = []
    for one in after:
        told = _TOLD.get((one.type, str(one.status)))
        first = was.get(one.type) in (None, "Unknown")
        # That something does not hold at the very beginning is no news.
        is_news = was.get(one.type) != one.status and not (first and one.status != "True")
        if told is not None and is_news:
            found.append((told[0], told[1], one.message or one.reason))
    return found
