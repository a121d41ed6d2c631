"""Threads and worker processes."""

import asyncio
import json
import os
import threading
from pathlib import Path

import pytest

from barnabas_core.runtime.disk import RealDisk
from barnabas_core.runtime.executor import WORKER_NICENESS, SystemExecutor, WorkerFailed
from tests.support.logs import new_manager, open_manager
from tests.support.small_log import SMALL, append, batch_of, read_all


@pytest.fixture
def worker_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A program that does as its arguments say."""
    program = (
        "import json, os, sys, time\n"
        "if sys.argv[1] == 'fail':\n"
        "    sys.exit('no luck')\n"
        "if sys.argv[1] == 'sleep':\n"
        "    open(sys.argv[2], 'w').write(str(os.getpid()))\n"
        "    time.sleep(600)\n"
        "while not os.nice(0): time.sleep(0.001)\n"
        "print(json.dumps([sys.argv[1:], os.nice(0)]))\n"
    )
    (tmp_path / "some_work.py").write_text(program)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return "some_work"


def test_a_call_runs_in_another_thread() -> None:
    async def run() -> tuple[int, int]:
        executor = SystemExecutor()
        try:
            return threading.get_ident(), await executor.in_thread(threading.get_ident)
        finally:
            executor.close()

    here, there = asyncio.run(run())
    assert here != there


def test_what_a_call_raises_comes_back() -> None:
    async def run() -> None:
        executor = SystemExecutor()
        try:
            await executor.in_thread(lambda: int("nothing"))
        finally:
            executor.close()

    with pytest.raises(ValueError, match="nothing"):
        asyncio.run(run())


def test_a_worker_is_a_nice_process_of_its_own(worker_module: str) -> None:
    output = asyncio.run(run_worker(worker_module, "a b", "c"))

    arguments, niceness = json.loads(output)
    assert arguments == ["a b", "c"]
    assert niceness >= WORKER_NICENESS


async def run_worker(module: str, *arguments: str) -> bytes:
    return await SystemExecutor().in_worker(module, arguments)


def test_a_worker_that_fails_says_why(worker_module: str) -> None:
    with pytest.raises(WorkerFailed, match="no luck"):
        asyncio.run(run_worker(worker_module, "fail"))


def test_a_cancelled_worker_is_killed(worker_module: str, tmp_path: Path) -> None:
    path = tmp_path / "process_id"

    async def run() -> None:
        task = asyncio.ensure_future(run_worker(worker_module, "sleep", str(path)))
        while not path.exists() or not path.read_text():  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())

    with pytest.raises(ProcessLookupError):
        os.kill(int(path.read_text()), 0)


def test_a_directory_is_recovered_by_a_worker(tmp_path: Path) -> None:
    disk, paths = RealDisk(), [str(tmp_path / "logs")]
    manager = open_manager(disk, paths, SMALL)
    log = manager.create("orders", 0)
    for number in range(20):
        append(log, batch_of(value=bytes(100 + number)))
    expected = read_all(log)
    with Path(log.segments[-1].path(".log")).open("ab") as file:
        file.write(b"torn")
    manager.directories[0].release()

    again = new_manager(disk, paths, SMALL)
    asyncio.run(again.open_in_background(SystemExecutor()))

    recovered = again.get("orders", 0)
    assert recovered is not None
    assert read_all(recovered) == expected
    again.close()
