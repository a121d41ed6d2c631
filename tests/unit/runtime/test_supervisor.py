"""Tasks with an owner."""

import asyncio
import io

from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.runtime.supervisor import Supervisor, TaskList


async def forever() -> None:
    await asyncio.Event().wait()


def test_tasks_stop_in_the_reverse_order_of_starting() -> None:
    ended: list[str] = []

    async def run(name: str) -> None:
        try:
            await forever()
        finally:
            await asyncio.sleep(0)
            ended.append(name)

    async def scenario() -> None:
        supervisor = Supervisor(EventLog())
        for name in ("first", "second", "third"):
            supervisor.start(name, lambda name=name: run(name))  # type: ignore[misc]
        await asyncio.sleep(0)
        await supervisor.stop()

    asyncio.run(scenario())

    assert ended == ["third", "second", "first"]


def test_a_task_that_fails_is_logged_and_runs_again() -> None:
    lines = io.StringIO()
    runs: list[int] = []

    async def scenario() -> None:
        done = asyncio.Event()

        async def run() -> None:
            runs.append(len(runs))
            if len(runs) < 3:
                raise ValueError("no such luck")
            done.set()

        supervisor = Supervisor(EventLog(stream=lines), retry_ms=1)
        supervisor.start("unlucky", run)
        await done.wait()
        await supervisor.stop()

    asyncio.run(scenario())

    assert runs == [0, 1, 2]
    assert lines.getvalue().count("a background task failed") == 2
    assert "no such luck" in lines.getvalue()


def test_a_periodic_task_goes_on_after_a_failure() -> None:
    runs: list[int] = []

    async def scenario() -> None:
        done = asyncio.Event()

        async def run() -> None:
            runs.append(len(runs))
            if len(runs) == 2:
                raise ValueError("once")
            if len(runs) == 4:
                done.set()

        supervisor = Supervisor(EventLog(stream=io.StringIO()), retry_ms=1)
        supervisor.every("periodic", 1, run)
        await done.wait()
        await supervisor.stop()

    asyncio.run(scenario())

    assert runs == [0, 1, 2, 3]


def test_cancelling_the_one_who_stops_is_not_swallowed() -> None:
    async def stubborn() -> None:
        try:
            await forever()
        except asyncio.CancelledError:
            await forever()

    async def scenario() -> bool:
        supervisor = Supervisor(EventLog())
        supervisor.start("stubborn", stubborn)
        await asyncio.sleep(0)
        stopping = asyncio.create_task(supervisor.stop())
        await asyncio.sleep(0.01)
        stopping.cancel()
        await asyncio.wait([stopping], timeout=5)
        return stopping.cancelled()

    assert asyncio.run(scenario())


def test_a_list_of_tasks_logs_failures_and_forgets_what_ended() -> None:
    lines = io.StringIO()

    async def fail() -> None:
        raise ValueError("broken")

    async def scenario() -> None:
        tasks = TaskList(EventLog(stream=lines))
        tasks.start(fail())
        tasks.start(forever())
        await asyncio.sleep(0.01)
        assert len(tasks) == 1
        await tasks.stop()
        assert len(tasks) == 0

    asyncio.run(scenario())

    assert lines.getvalue().count("a task failed") == 1


def test_whoever_is_cancelled_in_the_moment_a_task_ends_is_cancelled() -> None:
    """A link that lost its stream and was closed in the same turn reconnected for ever."""

    async def scenario() -> bool:
        tasks = TaskList(EventLog())
        tasks.start(forever())

        async def stop_and_go_on() -> None:
            await tasks.stop()
            await forever()

        stopping = asyncio.create_task(stop_and_go_on())
        while len(tasks):  # noqa: ASYNC110 - to the turn
            await asyncio.sleep(0)
        stopping.cancel()
        for _ in range(10):
            await asyncio.sleep(0)
        return stopping.cancelled()

    assert asyncio.run(scenario())
