"""The operator as it is seen from outside: /metrics, /healthz and /readyz.

/healthz fails where nothing gets on any more, though the event loop turns: a watch that hangs, a
round that never ends. An operator that waits for the lease is well, and ready.

/readyz fails besides while Kubernetes cannot be reached or lacks the definitions (`kube/reach`).
"""

from collections.abc import Callable

from barnabas_core.ports import Clock
from barnabas_core.runtime.http_endpoint import HttpAnswer, HttpEndpoint
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.runtime.metrics.exposition import CONTENT_TYPE, render
from barnabas_core.runtime.metrics.loop_watch import LoopWatch
from barnabas_core.runtime.metrics.process_figures import ProcessFigures
from barnabas_core.runtime.metrics.registry import Registry, Role
from barnabas_core.runtime.supervisor import Supervisor
from barnabas_operator.figures import Figures

Reason = Callable[[], str | None]


class OperatorObservation:
    def __init__(
        self, figures: Figures, alive: Reason, ready: Reason, clock: Clock, log: EventLog
    ) -> None:
        """`alive`, `ready`: why it is not."""
        self._reason_not_alive = alive
        self._reason_not_ready = ready
        self._watch = LoopWatch(clock)
        self._process = ProcessFigures()
        self._supervisor = Supervisor(log)
        self._registry = Registry()
        self._registry.add("process", Role(None, (self._process, self._watch, figures)))
        pages = {"/metrics": self._metrics, "/healthz": self._healthz, "/readyz": self._readyz}
        self._endpoint = HttpEndpoint(pages, log)

    async def start(self, host: str, port: int) -> tuple[str, int]:
        """The address that was really bound; `OSError` when it cannot be."""
        bound = await self._endpoint.open(host, port)
        self._supervisor.start("event loop watch", self._watch.run)
        return bound

    async def stop(self) -> None:
        await self._endpoint.close()
        await self._supervisor.stop()

    async def _metrics(self) -> HttpAnswer:
        self._process.refresh()
        return HttpAnswer(200, render(self._registry), CONTENT_TYPE)

    async def _healthz(self) -> HttpAnswer:
        return _told(self._watch.reason_not_alive() or self._reason_not_alive())

    async def _readyz(self) -> HttpAnswer:
        reason = self._watch.reason_not_alive() or self._reason_not_alive()
        return _told(reason or self._reason_not_ready())


def _told(reason: str | None) -> HttpAnswer:
    return HttpAnswer(200, "ok\n") if reason is None else HttpAnswer(503, f"{reason}\n")
