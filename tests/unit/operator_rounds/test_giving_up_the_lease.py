"""An operator that is told to end: nothing of it acts any more when another may begin."""

import asyncio
from io import StringIO
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas_core.runtime.log_setup import EventLog
from barnabas_operator import process
from barnabas_operator.settings import Settings


class Busy:
    """Stands for rounds and for renewals: what is under way takes a moment to end."""

    def __init__(self) -> None:
        self.is_running = False

    async def run(self) -> None:
        self.is_running = True
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)
            self.is_running = False


def test_the_lease_is_given_up_when_rounds_and_renewals_have_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rounds, renewals, watching = Busy(), Busy(), Busy()
    running_at_release: list[bool] = []
    end = asyncio.Event()

    async def acquire() -> None:
        """Nobody else has it."""

    async def release() -> None:
        running_at_release.extend(one.is_running for one in (rounds, renewals, watching))

    async def watch(*_: Any) -> None:
        asyncio.get_running_loop().call_soon(end.set)
        await watching.run()

    monkeypatch.setattr(process, "watch", watch)
    lease: Any = SimpleNamespace(acquire=acquire, keep=renewals.run, release=release)
    service: Any = SimpleNamespace(
        run=rounds.run,
        begin=lambda: None,
        on_cluster=None,
        on_topic=None,
        figures=SimpleNamespace(leads=False),
    )
    log = EventLog(level="error", stream=StringIO())

    status = asyncio.run(process._lead(Settings(), lease, service, log, end))

    assert status == 0
    assert running_at_release == [False, False, False]
    assert not service.figures.leads
