"""Closing all logs while the event loop turns, many of them at a time.

Nearly all of the time goes into syncs, and what waits for the disk together, file systems commit
together. The order is that of `LogDirectory.close`: a directory is said to be clean when its last
log is durable.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

from barnabas_core.log.directories.directory import LogDirectory
from barnabas_core.log.flush import FlushJob
from barnabas_core.ports import Clock, DiskError, Executor

# As many as write their last files in a few milliseconds.
_LOGS_PER_TURN: Final = 50


async def close_directories(
    directories: Iterable[LogDirectory], executor: Executor, clock: Clock, broker_epoch: int
) -> None:
    """One that fails on the way is left to be recovered. Nobody may use the logs meanwhile."""
    for directory in directories:
        if not directory.is_online:
            continue
        try:
            await _close(directory, executor, clock, broker_epoch)
        except DiskError as error:
            directory.fail(str(error))


async def _close(
    directory: LogDirectory, executor: Executor, clock: Clock, broker_epoch: int
) -> None:
    logs = list(directory.logs.values())
    for start in range(0, len(logs), _LOGS_PER_TURN):
        some = logs[start : start + _LOGS_PER_TURN]
        closing = await executor.in_thread(partial(directory.begin_close, some))
        await _run_all(executor, [job for _, job in closing if job is not None])
        for log, job in closing:
            log.finish_close(job, clock.now_ms())
    await executor.in_thread(partial(directory.finish_close, broker_epoch))


async def _run_all(executor: Executor, jobs: Sequence[FlushJob]) -> None:
    """To the end of each, whatever becomes of the others."""
    running = [executor.in_thread(job.run) for job in jobs]
    errors: list[DiskError] = []
    for one in running:
        try:
            await one
        except DiskError as error:
            errors.append(error)
    if errors:
        raise errors[0]
