"""How a process ends."""

import asyncio
import io

from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.runtime.process import run_process


def test_what_ends_by_itself_is_not_cut_off() -> None:
    """As gRPC's calls do, after its server has stopped."""
    ends: list[str] = []
    tasks = []

    async def last_words() -> None:
        try:
            await asyncio.sleep(0.05)
        except asyncio.CancelledError:
            ends.append("cut off")
            raise
        ends.append("done")

    async def serve(_: asyncio.Event) -> int:
        tasks.append(asyncio.ensure_future(last_words()))
        return 7

    status = run_process("test", EventLog(stream=io.StringIO()), serve)

    assert (status, ends) == (7, ["done"])


def test_what_does_not_end_is_not_waited_for() -> None:
    tasks = []

    async def serve(_: asyncio.Event) -> int:
        tasks.append(asyncio.ensure_future(asyncio.Event().wait()))
        return 0

    assert run_process("test", EventLog(stream=io.StringIO()), serve) == 0
    assert tasks[0].cancelled()
