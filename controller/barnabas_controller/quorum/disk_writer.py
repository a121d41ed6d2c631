"""Makes what the core staged durable: one task, in order, everything that waits in one go.

A turn takes all that was submitted since the last one: the newest quorum-state, then the log
writes; it ends with one fsync, in a thread, while the next turn's work gathers (group commit).
Small writes are done right here, as are truncations, which are rare: only this way nobody reads a
file that changes under him.

A `DiskError` is the end: the directory holds what this node promised others.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas_controller.quorum.metadata_log import MetadataLog
from barnabas_core.log.segments.file_name import LOG
from barnabas_core.ports import Clock, Disk, DiskError, Executor, File
from barnabas_core.raft.ready import (
    Append,
    DeleteBefore,
    InstallSnapshot,
    LogWrite,
    Truncate,
    WriteSnapshot,
)

if TYPE_CHECKING:
    from barnabas_core.raft import SnapshotId

INLINE_BYTES_MAX = 256 * 1024


@dataclass(frozen=True, slots=True)
class WriteJob:
    sequence: int
    quorum_state: bytes | None
    writes: list[LogWrite]


@dataclass(frozen=True, slots=True)
class DiskTools:
    disk: Disk
    executor: Executor
    clock: Clock


class DiskWriter:
    def __init__(
        self,
        log: MetadataLog,
        tools: DiskTools,
        quorum_state_path: str,
        on_persisted: Callable[[int], None],
    ) -> None:
        self._log = log
        self._partition = log.partition_log
        self._tools = tools
        self._quorum_state_path = quorum_state_path
        self._on_persisted = on_persisted
        self._jobs: list[WriteJob] = []
        self._wake = asyncio.Event()
        self._part: tuple[SnapshotId, File] | None = None
        self._is_idle = True
        self._idle = asyncio.Event()

    def submit(self, job: WriteJob) -> None:
        self._jobs.append(job)
        self._is_idle = False
        self._wake.set()

    async def run(self) -> None:
        """Until cancelled; `DiskError` when the directory is lost."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            jobs, self._jobs = self._jobs, []
            if not jobs:
                continue
            try:
                await self._write(jobs)
            except DiskError as error:
                self._partition.go_offline(str(error))
                raise
            self._is_idle = not self._jobs
            self._idle.set()
            self._on_persisted(jobs[-1].sequence)

    async def drain(self, timeout_ms: int) -> None:
        """Wait until nothing is left to write, but not for ever."""
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                while not self._is_idle:
                    self._idle.clear()
                    await self._idle.wait()
        except TimeoutError:
            pass

    async def _write(self, jobs: list[WriteJob]) -> None:
        states = [job.quorum_state for job in jobs if job.quorum_state is not None]
        if states:
            # One that is ahead of the log is as good as one that is behind.
            await self._replace_quorum_state(states[-1])
        for job in jobs:
            for write in job.writes:
                await self._do(write)
        await self._write_staged()
        await self._flush()
        self._log.on_written()

    async def _replace_quorum_state(self, data: bytes) -> None:
        disk, path = self._tools.disk, self._quorum_state_path
        await self._tools.executor.in_thread(lambda: disk.replace(path, data))

    async def _do(self, write: LogWrite) -> None:
        if isinstance(write, Append):
            data = b"".join([batch.payload for batch in write.batches])
            self._partition.stage_replica(data, now_ms=self._tools.clock.now_ms())
            return
        await self._write_staged()
        if isinstance(write, Truncate):
            await self._truncate(write)
        elif isinstance(write, WriteSnapshot):
            await self._write_chunk(write)
        elif isinstance(write, InstallSnapshot):
            await self._install(write)
        else:
            await self._delete(write)

    # --- the log

    async def _write_staged(self) -> None:
        pending = self._partition.begin_write()
        if pending is None:
            return
        if pending.size_bytes <= INLINE_BYTES_MAX:
            pending.run()
        else:
            await self._tools.executor.in_thread(pending.run)
        self._partition.finish_write(pending)

    async def _flush(self) -> None:
        while (job := self._partition.flush_job()) is not None:
            await self._tools.executor.in_thread(job.run)
            self._partition.finish_flush(job, self._tools.clock.now_ms())

    async def _truncate(self, write: Truncate) -> None:
        self._partition.truncate_to(write.end_offset, self._tools.clock.now_ms())
        # Before anything is put in its place: a crash must not leave the new start of something
        # with the old end of something else.
        await self._sync_active()
        self._log.on_cut(write)

    async def _sync_active(self) -> None:
        path = self._partition.segments[-1].path(LOG)
        await self._tools.executor.in_thread(lambda: _sync(self._tools.disk, path))
        await self._flush()

    async def _delete(self, write: DeleteBefore) -> None:
        offset = write.snapshot_id.end_offset
        await self._flush()  # only what is durable may stand for what goes
        self._partition.advance_high_watermark(offset)
        self._partition.advance_log_start(offset)
        job = self._partition.retention_job(self._tools.clock.now_ms())
        reap = self._partition.reap_job(self._tools.clock.now_ms())
        store = self._log.store

        def remove() -> None:
            if job is not None:
                job.run()
            reap.run()
            store.remove_older(write.snapshot_id)

        await self._tools.executor.in_thread(remove)

    # --- snapshots from the leader

    async def _write_chunk(self, write: WriteSnapshot) -> None:
        if write.position == 0:
            if self._part is not None:
                self._log.store.drop_part(*self._part)
            self._part = (write.snapshot_id, self._log.store.open_part(write.snapshot_id))
        assert self._part is not None, "a download starts at position 0"
        file = self._part[1]
        await self._tools.executor.in_thread(lambda: file.write_at(write.position, [write.data]))

    async def _install(self, write: InstallSnapshot) -> None:
        assert self._part is not None, "there is a download"
        snapshot_id, file = self._part
        assert snapshot_id == write.snapshot_id, "it is this one"
        self._part = None
        store, offset = self._log.store, snapshot_id.end_offset
        await self._tools.executor.in_thread(lambda: store.finish_part(snapshot_id, file))
        self._partition.truncate_fully_and_start_at(offset, self._tools.clock.now_ms())
        await self._flush()
        await self._tools.executor.in_thread(lambda: store.remove_older(snapshot_id))
        self._log.on_cut(write)


def _sync(disk: Disk, path: str) -> None:
    file = disk.open(path)
    file.sync()
    file.close()
