"""The task that keeps compacted logs compact: choose, have a worker rewrite, swap in, remember.

One log at a time. Between two awaits nothing takes longer than a few file operations. Whoever
truncates, moves or deletes a compacted log brackets that with `pause` and `resume`::

    await cleaner.pause(topic, partition)
    try: ...
    finally: cleaner.resume(topic, partition)

`pause` returns when nothing of a cleaning is under way any more: a rewriting is thrown away, the
swapping of one segment is waited for.

Retention of compacted logs is done here too (`cleanup.policy` both, and segments below the log
start offset): it must not take segments away from under a cleaning. For all other logs the broker
calls `delete_old_segments` itself.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from barnabas_core.log.cleaner.clean import CleanedGroup, CleanResult, CleanTask, remove_leftovers
from barnabas_core.log.cleaner.error import CleaningAborted, UncleanableLog
from barnabas_core.log.cleaner.job import decode_result, encode_task, write_inputs
from barnabas_core.log.cleaner.manager import (
    CleanerManager,
    Key,
    checkpoint_path,
    choose,
    task_for,
    view_of,
)
from barnabas_core.log.cleaner.replacement import Replacement
from barnabas_core.log.cleaner.selection import Candidate, LogView
from barnabas_core.log.cleaner.settings import CleanerSettings
from barnabas_core.log.directories.directory import LogDirectory
from barnabas_core.log.error import LogOffline
from barnabas_core.log.manager import LogManager
from barnabas_core.log.partition_log import PartitionLog
from barnabas_core.log.producers.producer_snapshot import encode_snapshot
from barnabas_core.ports import Clock, DiskError, Executor, TooManyOpenFiles
from barnabas_core.runtime.executor import WorkerFailed
from barnabas_core.runtime.log_setup import EventLog

WORKER_MODULE = "barnabas_core.runtime.worker"
_DESCRIPTOR_WAIT_S = 0.1


@dataclass(frozen=True, slots=True)
class CleanerHooks:
    """What the broker does in its own way, since more than the log takes part."""

    retain: Callable[[PartitionLog], Awaitable[None]]
    """Apply retention to a compacted log, which nobody cleans meanwhile."""
    fail: Callable[[DiskError], object]
    """Take a log directory offline."""


class CleanerTask:
    def __init__(
        self,
        logs: LogManager,
        executor: Executor,
        clock: Clock,
        events: EventLog,
        settings: CleanerSettings,
        hooks: CleanerHooks | None = None,
    ) -> None:
        self._logs = logs
        self._executor = executor
        self._clock = clock
        self._events = events
        self.settings = settings
        """May be replaced; counts from the next log or pause on."""
        self._hooks = hooks or CleanerHooks(self._retain, logs.on_disk_error)
        self._disk = logs.environment.disk
        self._rewriting: asyncio.Task[bytes] | None = None
        self._is_stopping = False
        self._truncation_count = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self.manager = CleanerManager()

    # Running

    async def run(self) -> None:
        """Until cancelled; a swap under way is finished first."""
        self.load_checkpoints()
        while True:
            has_cleaned = self.settings.is_enabled and await self.clean_filthiest()
            await self.delete_old_segments()
            if not has_cleaned:
                await asyncio.sleep(self.settings.backoff_ms / 1000)

    def load_checkpoints(self) -> None:
        for directory in self._logs.directories:
            if directory.is_online:
                data = self._disk.read(checkpoint_path(directory.path))
                self.manager.load(directory.path, data)

    async def clean_filthiest(self) -> bool:
        """Clean the log that needs it most; False if none does, or if it failed."""
        now_ms = self._clock.now_ms()
        choice = choose(await self._view_logs(), now_ms)
        for reset in choice.resets:
            self._note_clean(reset.topic, reset.partition, reset.first_dirty_offset)
        candidate = choice.candidate
        if candidate is None:
            return False
        log = self._logs.get(candidate.topic, candidate.partition)
        if log is None or not self._is_available(log):
            return False
        return await self._clean_guarded(log, candidate, now_ms)

    async def delete_old_segments(self) -> None:
        for log in self._compacted_logs():
            if self._is_available(log):
                with self._occupied((log.topic, log.partition)):
                    await self._hooks.retain(log)
            await asyncio.sleep(0)

    async def _retain(self, log: PartitionLog) -> None:
        try:
            job = log.retention_job(self._clock.now_ms())
            if job is not None:
                await self._executor.in_thread(job.run)
        except DiskError as error:
            self._hooks.fail(error)

    async def _view_logs(self) -> list[LogView]:
        views = []
        for log in self._compacted_logs():
            if self._is_available(log):
                key = log.topic, log.partition
                try:
                    view = view_of(log, self.manager.checkpoint_offset(_parent(log), key))
                except DiskError as error:
                    self._hooks.fail(error)
                    continue
                if view is not None:
                    views.append(view)
                    await asyncio.sleep(0)
        return views

    def _compacted_logs(self) -> list[PartitionLog]:
        return [log for log in self._logs.logs() if log.config.cleanup_compact]

    def _is_available(self, log: PartitionLog) -> bool:
        key = log.topic, log.partition
        return not log.is_offline and self.manager.is_available(key, self._clock.now_ms())

    # Pausing

    async def pause(self, topic: str, partition: int) -> None:
        """Nothing of the log's files changes from here on until `resume`."""
        key = topic, partition
        self.manager.pause(key)
        if self.manager.cleaning == key:
            if self._rewriting is not None:
                self._rewriting.cancel()
            await self._idle.wait()

    def resume(self, topic: str, partition: int) -> None:
        self.manager.resume((topic, partition))

    async def forget(self, topic: str, partition: int) -> None:
        """The partition was deleted, while paused: one of the same name starts from nothing."""
        self.manager.forget((topic, partition))
        for directory in self._logs.directories:
            if directory.is_online:
                await self._write_checkpoint(directory)

    # One log

    async def _clean_guarded(self, log: PartitionLog, candidate: Candidate, now_ms: int) -> bool:
        """False if it failed: better wait a little before the next one."""
        key = log.topic, log.partition
        try:
            with self._occupied(key):
                await self._clean(log, candidate, now_ms)
        except UncleanableLog as error:
            self.manager.give_up(key, str(error))
            self._events.error("log cannot be compacted", log=log.dir_path, reason=str(error))
        except (WorkerFailed, TooManyOpenFiles, OSError) as error:
            self.manager.on_failure(key, self._clock.now_ms())
            self._events.warning("compaction failed", log=log.dir_path, reason=str(error))
        except (CleaningAborted, LogOffline) as error:
            self._events.info("compaction aborted", log=log.dir_path, reason=str(error))
        except DiskError as error:
            self._hooks.fail(error)
        else:
            return True
        return False

    @contextmanager
    def _occupied(self, key: Key) -> Iterator[None]:
        """Who pauses the log waits until this is over."""
        self.manager.cleaning = key
        self._idle.clear()
        try:
            yield
        finally:
            self.manager.cleaning = None
            self._idle.set()

    async def _clean(self, log: PartitionLog, candidate: Candidate, now_ms: int) -> None:
        task = task_for(log, candidate, self.settings, now_ms)
        self._truncation_count = log.truncation_count
        may_tidy = True
        try:
            result = await self._rewrite(log, task)
            await self._swap_in_to_the_end(log, result)
        except DiskError:
            # Which files were renamed and which not tells the recovery where it happened.
            may_tidy = False
            raise
        finally:
            if may_tidy and not log.is_offline:
                await self._executor.in_thread(lambda: remove_leftovers(self._disk, task.dir_path))
        self._note_clean(log.topic, log.partition, result.clean_up_to)
        directory = self._logs.directory_of(log.topic, log.partition)
        if directory is not None:
            await self._write_checkpoint(directory)
        self._events.debug("log compacted", log=log.dir_path, up_to=result.clean_up_to)

    async def _rewrite(self, log: PartitionLog, task: CleanTask) -> CleanResult:
        snapshot = encode_snapshot(log.producers.snapshot())
        end = task.first_uncleanable_offset
        aborted = log.aborted_transactions(end, end)
        await self._executor.in_thread(lambda: write_inputs(self._disk, task, snapshot, aborted))
        self._refuse_if_unwanted(log)
        self._rewriting = asyncio.ensure_future(self._run_worker(encode_task(task)))
        try:
            output = await self._rewriting
        except asyncio.CancelledError:
            if not _is_being_stopped():
                raise CleaningAborted("paused") from None
            raise
        finally:
            self._rewriting = None
        return decode_result(output)

    async def _run_worker(self, arguments: str) -> bytes:
        return await self._executor.in_worker(WORKER_MODULE, ["clean", arguments])

    def _refuse_if_unwanted(self, log: PartitionLog) -> None:
        if self._is_stopping or self.manager.is_paused((log.topic, log.partition)):
            raise CleaningAborted("paused")
        if log.truncation_count != self._truncation_count:
            # Records may be gone that superseded others: those must come back to light.
            raise CleaningAborted("truncated meanwhile")

    # Swapping in

    async def _swap_in_to_the_end(self, log: PartitionLog, result: CleanResult) -> None:
        """Whoever stops us waits for the group at hand: half a swap would have to be recovered."""
        swapping = asyncio.ensure_future(self._swap_in(log, result))
        ended = asyncio.Event()
        swapping.add_done_callback(lambda _: ended.set())
        while not ended.is_set():
            try:
                await ended.wait()
            except asyncio.CancelledError:
                self._is_stopping = True
        if self._is_stopping:
            raise asyncio.CancelledError from swapping.exception()
        swapping.result()

    async def _swap_in(self, log: PartitionLog, result: CleanResult) -> None:
        for group in result.groups:
            self._refuse_if_unwanted(log)
            await self._swap_in_group(log, group)

    async def _swap_in_group(self, log: PartitionLog, group: CleanedGroup) -> None:
        replacement = log.replacement(group, self._clock.now_ms())
        await self._executor.in_thread(replacement.commit)
        await self._sync(replacement)
        replacement.take_place()
        await self._executor.in_thread(replacement.retire)
        await self._sync(replacement)
        replacement.finish()
        await self._sync(replacement)

    async def _sync(self, replacement: Replacement) -> None:
        """There is no way back: wait for a descriptor if none is left."""
        while True:
            try:
                return await self._executor.in_thread(replacement.sync)
            except TooManyOpenFiles:
                await asyncio.sleep(_DESCRIPTOR_WAIT_S)

    # Remembering

    def _note_clean(self, topic: str, partition: int, clean_up_to: int) -> None:
        log = self._logs.get(topic, partition)
        if log is not None:
            clean_up_to = min(clean_up_to, log.segments[-1].base_offset)
            self.manager.on_cleaned(_parent(log), (topic, partition), clean_up_to)

    async def _write_checkpoint(self, directory: LogDirectory) -> None:
        data = self.manager.encode_checkpoint(directory.path, directory.logs.keys())
        path = checkpoint_path(directory.path)
        await self._executor.in_thread(lambda: self._disk.replace(path, data))


def _is_being_stopped() -> bool:
    """Whether this task itself is cancelled, not just the one it waits for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _parent(log: PartitionLog) -> str:
    return log.dir_path.rpartition("/")[0]
