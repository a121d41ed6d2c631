"""Whether Kubernetes answers, and knows the resources: asked again and again, leader or not.

An operator that waits for the lease is as ready as the one that has it. Neither is while the API
cannot be reached, or the definitions are not there: nobody would act on what users apply.
"""

import asyncio
from collections.abc import Collection
from typing import Final

from barnabas_core.ports import Clock
from barnabas_operator.kube.client import Kube, KubeError
from barnabas_operator.kube.paths import collection

KINDS: Final = ("KafkaCluster", "KafkaTopic")
_NOT_FOUND: Final = 404
_ASK_MS: Final = 5_000
_ANSWER_S: Final = 5.0
_STALE_MS: Final = 30_000


class Reach:
    """Run `run` as a task."""

    def __init__(
        self, kube: Kube, clock: Clock, namespaces: Collection[str] = (), ask_ms: int = _ASK_MS
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._namespaces = tuple(namespaces) or (None,)
        self._ask_ms = ask_ms
        self._reason: str | None = "Kubernetes has not been asked yet"
        self._asked_at_ms = clock.monotonic_ms()

    def reason_not_ready(self) -> str | None:
        silent_ms = self._clock.monotonic_ms() - self._asked_at_ms
        if self._reason is None and silent_ms > _STALE_MS:
            return f"Kubernetes has not answered for {silent_ms // 1000} s"
        return self._reason

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            await self.ask()
            await asyncio.sleep(self._ask_ms / 1000)

    async def ask(self) -> None:
        try:
            for kind in KINDS:
                await self._ask_for(kind)
        except KubeError as error:
            self._reason = str(error)
        else:
            self._reason = None
            self._asked_at_ms = self._clock.monotonic_ms()

    async def _ask_for(self, kind: str) -> None:
        """Whether they could be listed; not what there is."""
        for namespace in self._namespaces:
            try:
                await self._kube.peek(collection(kind, namespace), timeout_s=_ANSWER_S)
            except KubeError as error:
                if error.status == _NOT_FOUND:
                    raise KubeError(
                        error.status, f"there is no definition of {kind}: apply it"
                    ) from error
                raise
