"""One write per partition and turn of the event loop.

Requests stage records while the loop hands out what the sockets brought. When it has been through
all of them, each partition that got something is written once, however many requests that were:
inline when it is small, because a write to the page cache is cheaper than two trips through a
thread, else in a thread. Then those who wait for the records are told: producers, then readers.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Final

from barnabas_broker.partitions.partition import Partition
from barnabas_core.log.write import PendingWrite
from barnabas_core.ports import DiskError, Executor, TooManyOpenFiles

INLINE_BYTES_MAX: Final = 256 * 1024
# All inline writes of a turn together: half a millisecond of copying.
_TURN_BYTES_MAX: Final = 1024 * 1024
_RETRY_S: Final = 0.1


class TurnWriter:
    def __init__(
        self,
        executor: Executor,
        on_written: Callable[[Partition], None],
        on_failed: Callable[[Partition, DiskError], None],
    ) -> None:
        self._executor = executor
        self._on_written = on_written
        self._on_failed = on_failed
        self._dirty: deque[Partition] = deque()
        self._writing: dict[Partition, asyncio.Future[None]] = {}
        self._held: dict[Partition, None] = {}

    def mark(self, partition: Partition) -> None:
        """Something was staged in it: write it at the end of this turn."""
        if partition.is_dirty:
            return
        partition.is_dirty = True
        if not self._dirty:
            asyncio.get_running_loop().call_soon(self._end_turn)
        self._dirty.append(partition)

    async def drain(self) -> None:
        """Write what is staged and wait until every write has ended."""
        self._end_turn()
        while self._writing or self._dirty:
            # Each end is noted by a callback, which may have marked the partition again.
            for writing in list(self._writing.values()):
                await _ended(writing)
            self._end_turn()

    async def when_idle(self, partition: Partition) -> None:
        """Wait until no write of it is under way; the next begins at the end of a turn."""
        while (writing := self._writing.get(partition)) is not None:
            await _ended(writing)

    @contextlib.asynccontextmanager
    async def held(self, partition: Partition) -> AsyncIterator[None]:
        """No write of it is under way, and none begins meanwhile: what is staged waits."""
        self._held[partition] = None
        try:
            await self.when_idle(partition)
            yield
        finally:
            del self._held[partition]
            if not partition.log.is_offline:
                self.mark(partition)

    def _end_turn(self) -> None:
        room = _TURN_BYTES_MAX
        try:
            while self._dirty:
                partition = self._dirty.popleft()
                partition.is_dirty = False
                if partition in self._held:
                    continue  # marked again when it is let go
                if not partition.is_writing and not partition.log.is_offline:
                    room -= self._write(partition, room)
        finally:
            if self._dirty:
                # Something is broken, but not the other partitions.
                asyncio.get_running_loop().call_soon(self._end_turn)

    def _write(self, partition: Partition, room: int) -> int:
        """Write what is staged; the bytes that were written inline."""
        write = partition.log.begin_write()
        if write is None:
            # Retention or the cleaner was faster: closing a segment writes what is staged.
            self._on_written(partition)
            return 0
        # A second group means that a segment is complete: its index files are written too.
        if write.size_bytes > min(INLINE_BYTES_MAX, room) or len(write.groups) > 1:
            self._write_in_thread(partition, write)
            return 0
        try:
            write.run()
        except TooManyOpenFiles:
            self._write_later(partition, write)
        except DiskError as error:
            self._on_failed(partition, error)
        else:
            self._finish(partition, write)
        return write.size_bytes

    def _write_in_thread(self, partition: Partition, write: PendingWrite) -> None:
        partition.is_writing = True
        running = asyncio.ensure_future(self._executor.in_thread(write.run))
        self._writing[partition] = running
        running.add_done_callback(lambda done: self._on_thread_done(partition, write, done))

    def _write_later(self, partition: Partition, write: PendingWrite) -> None:
        """No descriptor was left to open a file with: nothing is lost, it goes on when one is."""
        partition.is_writing = True
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._writing[partition] = waiting

        def again() -> None:
            waiting.set_result(None)
            self._write_in_thread(partition, write)

        asyncio.get_running_loop().call_later(_RETRY_S, again)

    def _on_thread_done(
        self, partition: Partition, write: PendingWrite, done: asyncio.Future[None]
    ) -> None:
        del self._writing[partition]
        partition.is_writing = False
        try:
            done.result()
        except TooManyOpenFiles:
            self._write_later(partition, write)
            return
        except DiskError as error:
            self._on_failed(partition, error)
            return
        if partition.log.is_offline:
            return  # the directory failed meanwhile, by another partition's write
        self._finish(partition, write)
        if partition.log.staged_end_offset > partition.log.log_end_offset:
            self.mark(partition)

    def _finish(self, partition: Partition, write: PendingWrite) -> None:
        partition.log.finish_write(write)
        self._on_written(partition)


async def _ended(writing: asyncio.Future[None]) -> None:
    """Wait for it, however it ends. Whoever gives up waiting leaves the write as it is."""
    await asyncio.gather(asyncio.shield(writing), return_exceptions=True)
