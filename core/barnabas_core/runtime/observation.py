"""One process as it is seen from outside: /metrics, /healthz and /readyz on a port of its own.

/healthz says that the event loop turns, /readyz that every role in the process can do its work.
Both say why not in their body.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from barnabas_core.ports import Clock, Executor
from barnabas_core.runtime.http_endpoint import HttpAnswer, HttpEndpoint
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.runtime.metrics.exposition import CONTENT_TYPE, render
from barnabas_core.runtime.metrics.loop_watch import LoopWatch
from barnabas_core.runtime.metrics.process_figures import ProcessFigures
from barnabas_core.runtime.metrics.registry import Registry, Role
from barnabas_core.runtime.process import CannotStart
from barnabas_core.runtime.supervisor import Supervisor

_WATCH: Final = "event loop watch"


@asynccontextmanager
async def observed(
    address: tuple[str, int] | None, clock: Clock, executor: Executor, log: EventLog
) -> AsyncIterator[Registry | None]:
    """Around the life of a process; without an address, nothing is counted and nothing said."""
    if address is None:
        yield None
        return
    observation = Observation(clock, executor, log)
    try:
        await observation.start(*address)
    except OSError as error:
        raise CannotStart(f"cannot listen on {address[0]}:{address[1]}: {error}") from error
    try:
        yield observation.registry
    finally:
        await observation.stop()


class Observation:
    """Make it inside a running loop, hand its registry to the roles, then `start`."""

    def __init__(self, clock: Clock, executor: Executor, log: EventLog) -> None:
        self.registry = Registry()
        self._executor = executor
        self._log = log
        self._watch = LoopWatch(clock)
        self._process = ProcessFigures()
        self._supervisor = Supervisor(log)
        pages = {"/metrics": self._metrics, "/healthz": self._healthz, "/readyz": self._readyz}
        self._endpoint = HttpEndpoint(pages, log)
        self.registry.add("process", Role(None, (self._process, self._watch)))

    async def start(self, host: str, port: int) -> tuple[str, int]:
        """The address that was really bound; `OSError` when it cannot be."""
        bound = await self._endpoint.open(host, port)
        self._supervisor.start(_WATCH, self._watch.run)
        self._log.info("figures are served", address=f"{bound[0]}:{bound[1]}")
        return bound

    async def stop(self) -> None:
        await self._endpoint.close()
        await self._supervisor.stop()

    async def _metrics(self) -> HttpAnswer:
        await self._executor.in_thread(self._process.refresh)
        return HttpAnswer(200, render(self.registry), CONTENT_TYPE)

    async def _healthz(self) -> HttpAnswer:
        reason = self._watch.reason_not_alive()
        return HttpAnswer(200, "ok\n") if reason is None else HttpAnswer(503, f"{reason}\n")

    async def _readyz(self) -> HttpAnswer:
        reasons = self.registry.reasons_not_ready()
        if reasons:
            return HttpAnswer(503, "".join(f"{reason}\n" for reason in reasons))
        return HttpAnswer(200, "ok\n")
