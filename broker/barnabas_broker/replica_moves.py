"""Replicas on their way from one log directory of this broker to another (KIP-113, KIP-858).

A copy follows the partition's log, a chunk at a time, one partition after the other. Once it has
caught up, it is made durable and gets the partition's name; the controller is told where the
replica will lie; and with nothing staged or written in between, the rest is copied and the copy
takes the log's place. Whatever goes wrong before that leaves the partition where it is.

A move that a restart cuts short begins again. All of them together copy no more than
`replica.alter.log.dirs.io.max.bytes.per.second`; what is over that is paid for by waiting.
"""

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from barnabas_broker.directory_assignment import DirectoryAssignment
from barnabas_broker.partitions.partition import Partition
from barnabas_broker.replication.chunk_reader import read_chunk
from barnabas_broker.replication.throttle import ReplicationQuota, throttled_rate
from barnabas_broker.storage import Storage
from barnabas_core.log.directories.directory import LogDirectory
from barnabas_core.log.error import LogError
from barnabas_core.log.future import (
    can_have_future,
    create_future,
    discard,
    give_name,
    take_place,
)
from barnabas_core.log.partition_log import PartitionLog
from barnabas_core.ports import Clock, DiskError, Executor, TooManyOpenFiles
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.wire.error_code import ErrorCode

_CHUNK_BYTES: Final = 1024 * 1024
# What is copied while everybody waits: a millisecond's worth.
_LAST_BYTES: Final = 1024 * 1024
_RETRY_S: Final = 0.5
_PREFERRED_COUNT_MAX: Final = 100_000
# After that other moves, and who wants this one no more, have their turn.
_ASSIGN_S: Final = 0.2
# As long as a throttled copy lets whoever does not want it any more wait.
_THROTTLED_S: Final = 0.2
_RATE: Final = "replica.alter.log.dirs.io.max.bytes.per.second"

Key = tuple[str, int]


@dataclass(slots=True, eq=False)
class Move:
    partition: Partition
    source: LogDirectory
    target: LogDirectory
    future: PartitionLog
    truncation_count: int
    """Of the partition's log, when the copy was last known to agree with it."""
    is_near: bool = False
    """It had all there was when it was last added to: under load that is as good as it gets."""
    has_name: bool = False
    is_assigned: bool = False
    is_cancelled: bool = False
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def key(self) -> Key:
        return self.future.topic, self.future.partition


@dataclass(frozen=True, slots=True)
class MoveParts:
    storage: Storage
    assignment: DirectoryAssignment
    clock: Clock
    executor: Executor
    log: EventLog


class ReplicaMoves:
    """`run` as a task."""

    def __init__(self, on: MoveParts) -> None:
        self._on = on
        self._moves: dict[Key, Move] = {}
        self._arrived = asyncio.Event()
        self.quota = ReplicationQuota()

    def __len__(self) -> int:
        return len(self._moves)

    def set_rate(self, properties: Mapping[str, str]) -> None:
        """The broker's properties as they count now; after a `ConfigError` the rate stays."""
        self.quota.bytes_per_s = throttled_rate(properties, _RATE)

    # --- what is asked for

    async def request(self, topic: str, index: int, path: str) -> ErrorCode:
        """Have the replica lie in the directory of that path."""
        if not can_have_future(topic, index):
            return ErrorCode.INVALID_TOPIC_EXCEPTION
        directories = self._on.storage.logs.directories
        target = next((one for one in directories if one.path == path), None)
        if target is None:
            return ErrorCode.LOG_DIR_NOT_FOUND
        if not target.is_online:
            return ErrorCode.KAFKA_STORAGE_ERROR
        partition = self._on.storage.partitions.find(topic, index)
        if partition is None:
            preferred = self._on.storage.preferred_directories
            if len(preferred) < _PREFERRED_COUNT_MAX:
                preferred[topic, index] = target
            return ErrorCode.REPLICA_NOT_AVAILABLE
        return await self._begin(partition, target)

    async def _begin(self, partition: Partition, target: LogDirectory) -> ErrorCode:
        log, storage = partition.log, self._on.storage
        if log.is_offline:
            return ErrorCode.KAFKA_STORAGE_ERROR
        known = self._moves.get((log.topic, log.partition))
        if known is not None and known.target is target:
            return ErrorCode.NONE
        if known is not None:
            known.is_cancelled = True
            await known.ended.wait()
        source = storage.logs.directory_of(log.topic, log.partition)
        if source is target:
            return ErrorCode.NONE
        if source is None or not all(one.is_online for one in storage.logs.directories):
            # One that failed may hold a copy already.
            return ErrorCode.KAFKA_STORAGE_ERROR
        truncation_count = log.truncation_count
        async with storage.changing:
            try:
                future = await self._on.executor.in_thread(
                    lambda: create_future(storage.logs, log, target, self._on.clock.now_ms())
                )
            except DiskError as error:
                storage.fail(error)
                return ErrorCode.KAFKA_STORAGE_ERROR
        move = Move(partition, source, target, future, truncation_count)
        self._moves[move.key] = move
        self._arrived.set()
        return ErrorCode.NONE

    async def resume(self) -> None:
        """Begin again what a restart has cut short."""
        for directory in self._on.storage.logs.directories:
            unfinished, directory.unfinished_moves = directory.unfinished_moves, []
            for topic, index in unfinished:
                partition = self._on.storage.partitions.find(topic, index)
                if partition is not None and directory.is_online:
                    await self._begin(partition, directory)

    # --- moving

    async def run(self) -> None:
        await self.resume()
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            while self._moves:
                await asyncio.sleep(min(self._delay_ms() / 1000, _THROTTLED_S))
                for move in list(self._moves.values()):
                    await self._step_guarded(move)

    def _delay_ms(self) -> int:
        return self.quota.delay_ms(self._on.clock.monotonic_ms())

    async def _step_guarded(self, move: Move) -> None:
        if not self._is_wanted(move):
            await self._abandon(move)
            return
        try:
            await self._step(move)
        except TooManyOpenFiles as error:
            self._on.storage.fail(error)
            await asyncio.sleep(_RETRY_S)
        except DiskError as error:
            self._on.storage.fail(error)
        except LogError:
            # Deleted, truncated or lost under the copy: the next step will see which.
            await asyncio.sleep(0)

    def _is_wanted(self, move: Move) -> bool:
        if move.is_cancelled or move.future.is_offline or move.partition.log.is_offline:
            return False
        return self._on.storage.partitions.find(*move.key) is move.partition

    async def _step(self, move: Move) -> None:
        log, future = move.partition.log, move.future
        is_behind_start = future.log_end_offset < log.log_start_offset
        if log.truncation_count != move.truncation_count or is_behind_start:
            await self._start_over(move)
        elif not move.is_near:
            if not self._delay_ms():
                await self._copy(move)
        elif not move.has_name:
            await self._give_name(move)
        elif not move.is_assigned:
            await self._assign(move)
        else:
            await self._finish(move)

    async def _start_over(self, move: Move) -> None:
        log, now_ms = move.partition.log, self._on.clock.now_ms()
        start_offset, count = log.log_start_offset, log.truncation_count
        await self._on.executor.in_thread(
            lambda: move.future.truncate_fully_and_start_at(start_offset, now_ms)
        )
        move.truncation_count = count
        move.is_near = False

    async def _copy(self, move: Move) -> None:
        """A chunk; it may be of several segments."""
        log, future = move.partition.log, move.future
        end_offset, room = log.log_end_offset, _CHUNK_BYTES
        while room > 0 and future.log_end_offset < end_offset:
            data = await read_chunk(log, future.log_end_offset, room, self._on.executor)
            if log.truncation_count != move.truncation_count:
                return
            future.stage_replica(data, now_ms=self._on.clock.now_ms())
            self.quota.spend(len(data), self._on.clock.monotonic_ms())
            room -= max(len(data), 1)
            write = future.begin_write()
            if write is not None:
                await self._on.executor.in_thread(write.run)
                future.finish_write(write)
        move.is_near = future.log_end_offset >= end_offset

    async def _give_name(self, move: Move) -> None:
        """The copy may take the log's place any moment: it is as durable, and found by its name."""
        await self._flush(move.future)
        logs, future, target = self._on.storage.logs, move.future, move.target
        async with self._on.storage.changing:
            await self._on.executor.in_thread(lambda: give_name(logs, future, target))
        move.has_name = True

    async def _flush(self, log: PartitionLog) -> None:
        job = log.flush_job()
        if job is not None:
            await self._on.executor.in_thread(job.run)
            log.finish_flush(job, self._on.clock.now_ms())

    async def _assign(self, move: Move) -> None:
        log = move.partition.log
        replica = log.topic_id, log.partition
        self._on.assignment.arriving[replica] = move.target.id
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ASSIGN_S):
                await self._on.assignment.assign(*replica, move.target.id)
            move.is_assigned = True

    async def _finish(self, move: Move) -> None:
        storage, partition = self._on.storage, move.partition
        old: PartitionLog | None = None
        async with storage.changing, storage.uncleaned(partition.log):
            async with storage.writer.held(partition):
                if self._is_wanted(move) and self._catch_up_now(move):
                    old = self._take_place(move)
            if old is not None:
                await self._retire(move, old)
                return
        move.is_near = False
        if move.future.recovery_point < move.partition.log.recovery_point:
            await self._flush(move.future)

    def _catch_up_now(self, move: Move) -> bool:
        """Copy what is left, if it is little and as durable as the original. Nobody else runs."""
        log, future, partition = move.partition.log, move.future, move.partition
        log.write()
        self._on.storage.on_written(partition)
        if log.truncation_count != move.truncation_count:
            return False
        room = _LAST_BYTES
        while room > 0 and log.log_end_offset > future.log_end_offset:
            read = log.read(future.log_end_offset, room, up_to=log.log_end_offset)
            future.stage_replica(read.bytes(), now_ms=self._on.clock.now_ms())
            future.write()
            room -= max(len(read), 1)
        is_equal = future.log_end_offset == log.log_end_offset
        return is_equal and future.recovery_point >= log.recovery_point

    def _take_place(self, move: Move) -> PartitionLog:
        partition, future = move.partition, move.future
        log = partition.log
        future.config = log.config
        future.advance_high_watermark(log.high_watermark)
        future.advance_log_start(log.log_start_offset)
        if partition.is_leader:
            future.assign_epoch(partition.leader_epoch)
        old = take_place(self._on.storage.logs, future, move.target)
        old.go_offline("moved")
        partition.log = future
        self._end(move)
        return old

    async def _retire(self, move: Move, old: PartitionLog) -> None:
        logs, source = self._on.storage.logs, move.source
        job = move.target.checkpoint_job()
        await self._on.executor.in_thread(job.run)
        await self._on.executor.in_thread(lambda: logs.retire(source, old))
        self._on.log.info("a replica has moved", partition=repr(move.future), source=source.path)

    def _end(self, move: Move) -> None:
        del self._moves[move.key]
        move.ended.set()
        self._on.assignment.arriving.pop((move.future.topic_id, move.future.partition), None)

    async def _abandon(self, move: Move) -> None:
        """The replica stays where it is, if it is still there."""
        logs, future, target = self._on.storage.logs, move.future, move.target
        try:
            await self._on.executor.in_thread(lambda: discard(logs, future, target))
        except DiskError as error:
            self._on.storage.fail(error)
        self._end(move)
        if move.has_name and self._on.storage.partitions.find(*move.key) is move.partition:
            # The controller may have been told of the target already.
            self._on.assignment.report(future.topic_id, future.partition, move.source.id)
