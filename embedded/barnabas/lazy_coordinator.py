"""A coordinator that is loaded and started when there is something for it to do.

Whoever starts a cluster for a test of producers alone should not wait for it. One that cannot be
started says so in the log at once, and is tried again: until then there are no groups.
"""

from typing import TYPE_CHECKING

from barnabas_core.runtime.supervisor import Supervisor

if TYPE_CHECKING:
    from collections.abc import Callable

    from barnabas_coordinator.service import CoordinatorService
    from barnabas_core.runtime.log_setup import EventLog


class LazyCoordinator:
    def __init__(
        self, make: "Callable[[], CoordinatorService]", log: "EventLog", *, retry_ms: int = 1_000
    ) -> None:
        self._make = make
        self._supervisor = Supervisor(log, retry_ms=retry_ms)
        self._is_needed = False
        self._service: CoordinatorService | None = None

    @property
    def is_started(self) -> bool:
        return self._service is not None

    def need(self) -> None:
        """Once is enough."""
        if not self._is_needed:
            self._is_needed = True
            self._supervisor.start("group coordinator", self._start)

    async def stop(self) -> None:
        await self._supervisor.stop()
        if self._service is not None:
            await self._service.stop()

    async def _start(self) -> None:
        service = self._make()
        try:
            await service.start()
        except BaseException:
            await service.stop()
            raise
        self._service = service
