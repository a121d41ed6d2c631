"""A node's disk: what survives which crash.

Writes are taken in order, one sync at a time; what comes meanwhile goes into the next. A process
that dies leaves what it had handed over in the page cache, and loses what was still queued. A
machine that dies leaves of the sync under way any prefix, the last write of it torn, and the
quorum-state file, replaced by a rename, in its old or its new form independently of the log.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import TypeAlias

from barnabas_core.raft.ready import Append, HardState, LogWrite
from tests.sim.memory_log import MemoryLog, Snapshot
from tests.sim.scheduler import Scheduler

Write: TypeAlias = HardState | LogWrite | Snapshot


@dataclass(slots=True)
class Job:
    writes: tuple[Write, ...]
    done: Callable[[], None]


class Disk:
    def __init__(self, scheduler: Scheduler, rng: Random, log: MemoryLog) -> None:
        self._scheduler = scheduler
        self._rng = rng
        self.log = log
        self.hard_state: HardState | None = None
        self.latency_us = (300, 4_000)
        self._queued: list[Job] = []
        self._syncing: list[Job] = []
        self._generation = 0

    def submit(self, writes: tuple[Write, ...], done: Callable[[], None]) -> None:
        self._queued.append(Job(writes, done))
        if not self._syncing:
            self._start()

    def _start(self) -> None:
        self._syncing, self._queued = self._queued, []
        low, high = self.latency_us
        delay_us = low + int(self._rng.random() * (high - low))
        self._scheduler.after(delay_us, self._finish, self._generation)

    def _finish(self, generation: int) -> None:
        if generation != self._generation:
            return
        jobs, self._syncing = self._syncing, []
        for job in jobs:
            for write in job.writes:
                self._apply(write)
        if self._queued:
            self._start()
        for job in jobs:
            job.done()

    def _apply(self, write: Write) -> None:
        if isinstance(write, HardState):
            self.hard_state = write
        elif isinstance(write, Snapshot):
            self.log.add_snapshot(write)
        else:
            self.log.apply(write)

    def crash(self, *, machine: bool) -> None:
        self._generation += 1
        writes = [write for job in self._syncing for write in job.writes]
        self._syncing, self._queued = [], []
        if machine:
            self._apply_torn(writes)
        else:
            for write in writes:
                self._apply(write)

    def _apply_torn(self, writes: list[Write]) -> None:
        hard_states = [write for write in writes if isinstance(write, HardState)]
        others = [write for write in writes if not isinstance(write, HardState)]
        for hard_state in hard_states[: self._rng.randrange(len(hard_states) + 1)]:
            self._apply(hard_state)
        kept = self._rng.randrange(len(others) + 1)
        for write in others[:kept]:
            self._apply(write)
        torn = others[kept] if kept < len(others) else None
        if isinstance(torn, Append) and len(torn.batches) > 1:
            # A batch that is not whole fails its checksum: recovery cuts it off.
            whole = self._rng.randrange(len(torn.batches))
            self._apply(Append(torn.batches[:whole]))
