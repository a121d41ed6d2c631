"""Crashes at random moments of random work: what was flushed is there, and nothing is corrupt.

`BARNABAS_CRASH_SEEDS=100000` runs more seeds, `BARNABAS_CRASH_SEED=17` one again.
"""

import os
from random import Random

import pytest

from barnabas_core.log.environment import LogEnvironment
from barnabas_core.log.error import LogOffline
from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.manager import LastDirectoryLost, LogManager
from barnabas_core.ports import DiskError
from barnabas_core.runtime.rng import SeededRng
from tests.support.fake_disk import Crash, FakeDisk
from tests.support.log_workload import Key, LogModel, Workload
from tests.support.manual_clock import ManualClock

LIVES_PER_SEED = 8
SEEDS = int(os.environ.get("BARNABAS_CRASH_SEEDS", "150"))
ONLY_SEED = os.environ.get("BARNABAS_CRASH_SEED")
CONFIG = LogConfig(
    segment_bytes=3000,
    index_interval_bytes=300,
    retention_bytes=9000,
    retention_ms=100_000,
    file_delete_delay_ms=100,
)
KEYS: list[Key] = [("t", 0), ("t", 1)]


class Machine:
    """A disk, and one process after the other that works on it."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.disk = FakeDisk(seed)
        self.disk.make_dirs("/logs")
        self.disk.sync_dir("/")
        self.clock = ManualClock()
        self.models: dict[Key, LogModel] = {key: LogModel() for key in KEYS}
        self.doing = "nothing"
        self.was_machine_crash = False
        self.crash_count = 0

    def start(self) -> LogManager:
        manager = LogManager(
            LogEnvironment(self.disk, SeededRng(self.random.randrange(2**32)), 2**62),
            self.clock,
            ["/logs"],
            cluster_id="c",
            node_id=1,
            config_of=lambda _: CONFIG,
        )
        manager.open()
        return manager

    def live(self) -> None:
        """Start, look at what the last crash left, work, crash."""
        was_machine_crash = False
        while True:
            if self.random.randrange(4) == 0:
                self.disk.crash_after(self.random.randrange(1, 200))
            try:
                manager = self.start()
                break
            except Crash:
                was_machine_crash |= self._crash()
        self.disk.crash_after(2**62)
        workload = Workload(manager, self.models, self.random, self.clock.now_ms())
        workload.check(
            was_machine_crash=self.was_machine_crash or was_machine_crash, doing=self.doing
        )
        self.disk.crash_after(self.random.randrange(1, 800))
        try:
            workload.run(self.random.randrange(5, 80))
            if self.random.randrange(3) == 0:
                workload.close()
        except Crash:
            pass
        self.doing = workload.doing
        self.clock.at_ms = workload.now_ms
        self.was_machine_crash = self._crash()

    def _crash(self) -> bool:
        self.crash_count += 1
        is_machine_crash = bool(self.random.randrange(2))
        if is_machine_crash:
            self.disk.crash_machine()
        else:
            self.disk.crash_process()
        return is_machine_crash


def seeds() -> list[int]:
    return [int(ONLY_SEED)] if ONLY_SEED is not None else list(range(SEEDS))


@pytest.mark.timeout(0)  # as long as the number of seeds asks for
@pytest.mark.parametrize("part", range(10))
def test_after_any_crash_what_was_flushed_is_there_and_nothing_is_corrupt(part: int) -> None:
    for seed in seeds()[part::10]:
        machine = Machine(seed)
        try:
            for _ in range(LIVES_PER_SEED):
                machine.live()
        except Exception as error:
            error.add_note(f"BARNABAS_CRASH_SEED={seed}, crash {machine.crash_count}")
            raise


@pytest.mark.parametrize("seed", range(60))
def test_after_a_failed_sync_the_directory_is_offline_and_what_was_flushed_is_there(
    seed: int,
) -> None:
    machine = Machine(seed)
    manager = machine.start()
    workload = Workload(manager, machine.models, machine.random, machine.clock.now_ms())
    workload.check(was_machine_crash=False, doing="nothing")
    machine.disk.fail_sync_after(machine.random.randrange(40))

    try:
        workload.run(200)
    except DiskError as error:
        with pytest.raises(LastDirectoryLost):
            manager.on_disk_error(error)
    except LastDirectoryLost:
        pass
    lost = [log for directory in manager.directories for log in directory.logs.values()]
    operation_count = machine.disk.operation_count
    for log in lost:
        with pytest.raises(LogOffline):
            log.flush(0)
        with pytest.raises(LogOffline):
            log.write()
        with pytest.raises(LogOffline):
            log.read(0, 1, up_to=1)
    manager.close()

    assert machine.disk.operation_count == operation_count, "nothing is tried again"
    machine.disk.crash_machine()
    again = Workload(machine.start(), machine.models, machine.random, workload.now_ms)
    again.check(was_machine_crash=True, doing=workload.doing)
