"""The metadata log through crashes: nothing that was reported durable is lost or changed.

A random run of appends, truncations, snapshots of our own and from a leader goes through the
product's log and writer onto a disk that forgets what was not synced. The crash comes at any disk
operation. What a new process finds must be what the model (the simulator's log) has after some of
the writes that were under way, in order, and all of those that were reported.
"""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas_controller.quorum.checkpoint_store import stored_snapshot
from barnabas_controller.quorum.disk_writer import DiskTools, DiskWriter, WriteJob
from barnabas_controller.quorum.metadata_log import MetadataLog
from barnabas_controller.quorum.opening import OpenedLog, metadata_path, open_metadata
from barnabas_controller.quorum.quorum_config import QuorumConfig
from barnabas_core.raft import HardState, SnapshotId
from barnabas_core.raft.checkpoint_file import build_checkpoint
from barnabas_core.raft.quorum_state import QUORUM_STATE_FILE, encode_quorum_state
from barnabas_core.raft.ready import Append, DeleteBefore, InstallSnapshot, Truncate, WriteSnapshot
from barnabas_core.raft.record import Batch
from barnabas_core.records.builder import build_batch
from barnabas_core.runtime.rng import SeededRng
from tests.sim.memory_log import MemoryLog, Snapshot, SnapshotStore
from tests.support.fake_disk import Crash, FakeDisk
from tests.support.manual_clock import ManualClock

T = TypeVar("T")
CONFIG = QuorumConfig(
    node_id=1,
    cluster_id="c",
    metadata_dir="/data",
    directory_id=bytes(16),
    endpoints=(),
    segment_bytes=700,
)
ROUNDS = 4


class InlineExecutor:
    def in_thread(self, call: Callable[[], T]) -> Awaitable[T]:
        async def run() -> T:
            return call()

        return run()

    def in_worker(self, job: str, arguments: object) -> Awaitable[bytes]:
        raise AssertionError("no worker")


def snapshot_file(snapshot_id: SnapshotId) -> bytes:
    parts = build_checkpoint(
        [[b"state at %d" % snapshot_id.end_offset]] * 30,
        last_appended_at_ms=1,
        timestamp_ms=1,
        kraft_version=0,
        voters=None,
        epoch=snapshot_id.epoch,
    )
    return b"".join(parts)


class Run:
    """One machine through several lives."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.disk = FakeDisk(seed)
        self.disk.make_dirs("/data")
        self.disk.sync_dir("/")
        self.store = SnapshotStore()
        self.model = MemoryLog(self.store)
        """What was reported durable."""
        self.states: list[HardState | None] = [None]
        self.epoch = 1
        self.committed = 0
        self.crash_count = 0
        self.possible: list[MemoryLog] = []
        self.being_taken: Snapshot | None = None

    def live(self) -> None:
        """Until the next crash."""
        opened = self.open()
        self.check(opened)
        log = MetadataLog(opened, ManualClock(), memory_bytes_max=self.random.choice((0, 10_000)))
        under_way = self.model.copy()
        self.possible = [self.model.copy()]
        try:
            self.disk.crash_after(self.random.randrange(1, 150))
            asyncio.run(self.work(log, under_way))
        except Crash:
            self.crash_count += 1
        if self.random.randrange(3):
            self.disk.crash_machine()
        else:
            self.disk.crash_process()

    def open(self) -> OpenedLog:
        while True:
            if self.random.randrange(3) == 0:
                self.disk.crash_after(self.random.randrange(1, 40))
            try:
                opened = open_metadata(self.disk, SeededRng(1), CONFIG, 1)
            except Crash:
                self.disk.crash_machine()
                continue
            self.disk.crash_after(1 << 40)
            return opened

    def check(self, opened: OpenedLog) -> None:
        log = MetadataLog(opened, ManualClock())
        assert opened.hard_state in self.states
        self.states = [opened.hard_state]
        if self.crash_count == 0:
            return
        taken, self.being_taken = self.being_taken, None
        if taken is not None and log.snapshot() == taken.info:
            # Its name was durable when the crash came.
            for model in self.possible:
                model.add_snapshot(taken)
        found = [model for model in self.possible if is_same(log, model)]
        assert found, (
            f"{log.start_offset}..{log.end_offset} of epoch {log.last_epoch}, not one of "
            f"{[(one.start_offset, one.end_offset, one.last_epoch) for one in self.possible]}"
        )
        self.model = found[-1]
        # A node knows as committed only what it has: a snapshot it did not get to install is gone.
        self.committed = min(self.committed, self.model.end_offset)

    async def work(self, log: MetadataLog, staged: MemoryLog) -> None:
        persisted: list[int] = []
        tools = DiskTools(self.disk, InlineExecutor(), ManualClock())
        path = f"{metadata_path(CONFIG)}/{QUORUM_STATE_FILE}"
        writer = DiskWriter(log, tools, path, persisted.append)
        task = asyncio.get_running_loop().create_task(writer.run())
        try:
            for sequence in range(1, 200):
                state = self.new_state()
                self.change(log, staged)
                writer.submit(WriteJob(sequence, state, log.take_writes()))
                if self.random.randrange(3) == 0:
                    await until_persisted(task, persisted, sequence)
                    # All of it is durable: a crash may take nothing of it back.
                    self.possible = [staged.copy()]
                    self.states = self.states[-1:]
                    self.committed = max(self.committed, staged.end_offset - 5)
        finally:
            task.cancel()

    def new_state(self) -> bytes | None:
        if self.random.randrange(5):
            return None
        self.epoch += 1
        self.states.append(HardState(self.epoch))
        return encode_quorum_state(HardState(self.epoch), 1)

    def change(self, log: MetadataLog, staged: MemoryLog) -> None:
        kind = self.random.randrange(12)
        if kind == 0:
            self.truncate(log, staged)
        elif kind == 1 and staged.end_offset > 5:
            self.take_snapshot(log, staged)
        elif kind == 2 and self.random.randrange(3) == 0:
            self.install(log, staged)
        else:
            self.append(log, staged)

    def append(self, log: MetadataLog, staged: MemoryLog) -> None:
        epoch = max(self.epoch, staged.last_epoch)
        offset = staged.end_offset
        batches = []
        for _ in range(self.random.randrange(1, 4)):
            values = [(None, self.random.randbytes(9)) for _ in range(self.random.randrange(1, 4))]
            data = bytes(build_batch(values, base_offset=offset, leader_epoch=epoch))
            batches.append(Batch(offset, epoch, len(values), data))
            offset += len(values)
        log.append(batches)
        for batch in batches:
            staged.apply(Append((batch,)))
            self.possible.append(staged.copy())

    def truncate(self, log: MetadataLog, staged: MemoryLog) -> None:
        floor = max(self.committed, staged.start_offset)
        ends = [batch.base_offset for batch in staged.read(floor, 1 << 30)]
        ends = [end for end in ends if end >= floor]
        if ends:
            end_offset = self.random.choice(ends)
            log.truncate(end_offset)
            # Segment by segment from the end: a crash may leave more than was to stay.
            for end in sorted([end for end in ends if end >= end_offset], reverse=True):
                staged.apply(Truncate(end))
                self.possible.append(staged.copy())
            self.epoch = max(self.epoch, staged.last_epoch) + 1

    def take_snapshot(self, log: MetadataLog, staged: MemoryLog) -> None:
        ends = [batch.end_offset for batch in staged.read(staged.start_offset, 1 << 30)]
        ends = [end for end in ends if staged.start_offset < end <= self.committed]
        latest = staged.snapshot()
        if not ends or (latest is not None and latest.id.end_offset >= ends[-1]):
            return
        snapshot_id = SnapshotId(ends[-1], log.epoch_before(ends[-1]))
        data = snapshot_file(snapshot_id)
        stored = stored_snapshot(snapshot_id, data, len(data))
        self.being_taken = Snapshot(stored.info, data)
        file = log.store.open_part(snapshot_id)
        file.write_at(0, [data])
        log.store.finish_part(snapshot_id, file)
        assert log.add_snapshot(stored)
        self.being_taken = None
        for model in (staged, *self.possible):
            model.add_snapshot(Snapshot(stored.info, data))
        if self.random.randrange(2):
            log.delete_before(snapshot_id)
            staged.apply(DeleteBefore(snapshot_id))
            self.possible.append(staged.copy())

    def install(self, log: MetadataLog, staged: MemoryLog) -> None:
        self.epoch = max(self.epoch, staged.last_epoch) + 1
        end_offset = staged.end_offset + self.random.randrange(1, 50)
        snapshot_id = SnapshotId(end_offset, self.epoch)
        data = snapshot_file(snapshot_id)
        info = stored_snapshot(snapshot_id, data, len(data)).info
        self.store.put(Snapshot(info, data))
        for position in range(0, len(data), 200):
            chunk = data[position : position + 200]
            log.write_snapshot(snapshot_id, position, chunk)
            staged.apply(WriteSnapshot(snapshot_id, position, chunk))
        assert log.install_snapshot(snapshot_id) == info
        staged.apply(InstallSnapshot(snapshot_id))
        self.possible.append(staged.copy())
        self.committed = max(self.committed, end_offset)


async def until_persisted(task: asyncio.Task[None], persisted: list[int], sequence: int) -> None:
    while not task.done() and persisted[-1:] != [sequence]:  # noqa: ASYNC110  the loop does it all
        await asyncio.sleep(0)
    if task.done():
        await task


def is_same(log: MetadataLog, model: MemoryLog) -> bool:
    """The log may reach further back than the model: files go late."""
    if log.start_offset > model.start_offset or log.end_offset != model.end_offset:
        return False
    if log.last_epoch != model.last_epoch or log.snapshot() != model.snapshot():
        return False
    return content(log, model.start_offset) == content(model, model.start_offset)


def content(log: MetadataLog | MemoryLog, offset: int) -> list[tuple[int, int, bytes]]:
    found = []
    while batches := log.read(offset, 500):
        found += [(one.base_offset, one.epoch, bytes(one.payload)) for one in batches]
        offset = batches[-1].end_offset
    return found


@settings(max_examples=400)
@given(st.integers(0, 2**32))
def test_what_was_reported_durable_survives_any_crash(seed: int) -> None:
    run = Run(seed)

    for _ in range(ROUNDS):
        run.live()

    run.check(run.open())
