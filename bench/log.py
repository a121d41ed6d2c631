"""The log engine on one core: appends, reads, and opening a directory with many partitions.

usage: python -m bench.log [directory]

Pages are written and freed before anything is timed (`warm`). Each figure is the best of a few
runs; next to it stands the CPU time, user and system, which a busy machine distorts less.
"""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from barnabas_core.log.environment import LogEnvironment
from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.manager import LogManager
from barnabas_core.log.opening.recovery import RecoverySettings, recover_partition
from barnabas_core.log.partition_log import PartitionLog
from barnabas_core.log.producers.producer_state import AppendOrigin
from barnabas_core.log.segments.tail_cache import TailCache
from barnabas_core.ports import Disk
from barnabas_core.records.batch import patch_offset
from barnabas_core.records.builder import build_batch
from barnabas_core.runtime.clock import SystemClock
from barnabas_core.runtime.disk import RealDisk, RealFile
from barnabas_core.runtime.rng import SeededRng

MIB = 1024 * 1024
GB = 1e9
RUNS = 4
WARM_BYTES = 3 * 1024 * MIB
APPEND_BYTES = 1024 * MIB
SMALL_COUNT = 64_000
LOG_COUNT = 4
TURN_BATCHES = 64
NOW_MS = SystemClock().now_ms()
CONFIG = LogConfig(max_message_bytes=2 * MIB)


@dataclass(slots=True)
class Timing:
    wall_s: float
    cpu_s: float


def best_of(
    runs: int, work: Callable[[], None], after: Callable[[], None] = lambda: None
) -> Timing:
    timings = []
    for _ in range(runs):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        timings.append(Timing(time.perf_counter() - wall, time.process_time() - cpu))
        after()
    return min(timings, key=lambda timing: timing.wall_s)


def warm(directory: Path) -> None:
    """Touch and free the pages that the figures will use."""
    path = directory / "warm"
    block = os.urandom(MIB)
    with path.open("wb") as file:
        for _ in range(WARM_BYTES // MIB):
            file.write(block)
    path.unlink()


@contextmanager
def manager_of(directory: Path, *, tail: bool = True) -> Iterator[LogManager]:
    environment = LogEnvironment(RealDisk(), SeededRng(1))
    if not tail:
        environment.tails = TailCache(0, 0)
    manager = LogManager(
        environment,
        SystemClock(),
        [str(directory)],
        cluster_id="bench",
        node_id=1,
        config_of=lambda _: CONFIG,
    )
    manager.open()
    try:
        yield manager
    finally:
        for opened in manager.directories:
            opened.release()
        shutil.rmtree(directory)


def large_batch() -> bytes:
    """One MiB of records of 1 kB, header and all."""
    values = [os.urandom(1000)] * 1030
    short = MIB - len(batch_of(values))
    batch = batch_of([*values[:-1], os.urandom(1000 + short)])
    # The record's own length may have become a byte longer.
    return batch_of([*values[:-1], os.urandom(1000 + short - (len(batch) - MIB))])


def batch_of(values: list[bytes]) -> bytes:
    return bytes(build_batch([(None, value) for value in values], timestamp_ms=NOW_MS))


def small_batch() -> bytes:
    """One KiB with one record."""
    return batch_of([os.urandom(954)])


def append(log: PartitionLog, batch: bytearray) -> None:
    log.stage(batch, leader_epoch=1, origin=AppendOrigin.CLIENT, now_ms=NOW_MS)


def append_large(directory: Path) -> str:
    batch = large_batch()
    count = APPEND_BYTES // len(batch)

    def run(manager: LogManager, copies: list[bytearray]) -> None:
        log = manager.create("large", 0)
        for copy in copies:
            patch_offset(copy, 0, 0, -1)  # as a producer sends it
            append(log, copy)
            log.write()

    timings = []
    for _ in range(RUNS):
        # The bytes would come from the network: making them is not the log's work.
        copies = [bytearray(batch) for _ in range(16)] * (count // 16)
        with manager_of(directory / "append") as manager:
            timings.append(best_of(1, lambda: run(manager, copies)))  # noqa: B023
    timing = min(timings, key=lambda it: it.wall_s)
    size = len(batch) * (count // 16) * 16
    figure = f"{size / timing.wall_s / GB:.2f} GB/s"
    return row("append, 1 MiB batches", figure, per_gb(timing, size))


def per_gb(timing: Timing, size: int) -> str:
    return f"{timing.cpu_s / size * GB:.2f} CPU-s/GB"


def append_small(directory: Path, turn_batches: int) -> str:
    batch = small_batch()
    timings = []
    for _ in range(RUNS):
        with manager_of(directory / "append") as manager:
            logs = [manager.create("small", index) for index in range(LOG_COUNT)]
            copies = [bytearray(batch) for _ in range(SMALL_COUNT)]

            def run() -> None:
                for start in range(0, SMALL_COUNT, turn_batches):
                    for index in range(start, start + turn_batches):
                        append(logs[index % LOG_COUNT], copies[index])  # noqa: B023
                    for log in logs:  # noqa: B023
                        log.write()

            timings.append(best_of(1, run))
    timing = min(timings, key=lambda it: it.wall_s)
    what = f"append, 1 KiB batches, {turn_batches} per turn over {LOG_COUNT} partitions"
    if turn_batches == 1:
        what = "append, 1 KiB batches, each written on its own"
    cpu = f"{timing.cpu_s / SMALL_COUNT * 1e6:.1f} µs CPU each"
    return row(what, f"{SMALL_COUNT / timing.wall_s / 1000:.0f}k/s", cpu)


def read_large(directory: Path) -> str:
    batch = large_batch()
    count, times = 512, 2
    with manager_of(directory / "read", tail=False) as manager:
        log = manager.create("read", 0)
        fill(log, batch, count)

        def run() -> None:
            for _ in range(times):
                for index in range(count):
                    offset = log.log_end_offset // count * index
                    found = log.read(offset, MIB, up_to=log.log_end_offset, may_block=False)
                    for piece in found.slices:
                        for position in range(0, len(piece), MIB // 4):
                            assert piece.try_read(position, MIB // 4) is not None

        timing = best_of(RUNS, run)
    size = times * count * len(batch)
    figure = f"{size / timing.wall_s / GB:.1f} GB/s"
    return row("read from files, 1 MiB at a time", figure, per_gb(timing, size))


def read_tail(directory: Path) -> str:
    """A consumer or follower at the end: nothing is copied, so there is only a cost per read."""
    count = 20_000
    with manager_of(directory / "read") as manager:
        log = manager.create("read", 0)
        fill(log, large_batch(), 2)
        offset = log.log_end_offset // 2

        def run() -> None:
            for _ in range(count):
                found = log.read(offset, MIB, up_to=log.log_end_offset, may_block=False)
                assert found.slices[0].try_read(0, MIB // 4) is not None

        timing = best_of(RUNS, run)
    cpu = f"{timing.cpu_s / count * 1e6:.1f} µs CPU each"
    return row("read from the tail in memory", f"{count / timing.wall_s / 1000:.0f}k/s", cpu)


def recover(directory: Path) -> str:
    """After a kill: every batch is read and checked, the indexes are made anew."""
    batch = batch_of([os.urandom(1000)] * 16)
    count = 256 * MIB // len(batch)
    with manager_of(directory / "recover") as manager:
        log = manager.create("recover", 0)
        fill(log, batch, count)
        disk, size, path = manager.environment.disk, log.size_bytes, log.dir_path
        settings = RecoverySettings(0, 0, NOW_MS, 2**62)
        timing = best_of(RUNS, lambda: check_recovery(disk, path, settings, size))
    figure = f"{size / timing.wall_s / GB:.1f} GB/s"
    return row("recover, 16 KiB batches", figure, per_gb(timing, size))


def check_recovery(disk: Disk, path: str, settings: RecoverySettings, size: int) -> None:
    found = recover_partition(disk, path, CONFIG, settings)
    assert (found.scanned_bytes, found.truncated_bytes) == (size, 0)


def fill(log: PartitionLog, batch: bytes, count: int) -> None:
    for _ in range(count):
        append(log, bytearray(batch))
    log.write()


def read_small(directory: Path) -> str:
    """A consumer at some old offset: find the position, take 64 KiB."""
    batch = small_batch()
    with manager_of(directory / "read", tail=False) as manager:
        log = manager.create("read", 0)
        fill(log, batch, SMALL_COUNT)

        def run() -> None:
            for index in range(10_000):
                offset = index * 7919 % (SMALL_COUNT - 64)
                found = log.read(offset, 65536, up_to=log.log_end_offset, may_block=False)
                assert found.slices[0].try_read(0, 65536) is not None

        timing = best_of(RUNS, run)
    cpu = f"{timing.cpu_s / 10_000 * 1e6:.1f} µs CPU each"
    return row("read from files, 64 KiB at a random offset", f"{10 / timing.wall_s:.0f}k/s", cpu)


def row(what: str, figure: str, cost: str) -> str:
    return f"| {what} | {figure} | {cost} |"


# Opening: in a process of its own, or the memory would not be the manager's.


class UnsyncedFile(RealFile):
    __slots__ = ()

    def sync(self) -> None:
        pass


class UnsyncedDisk(RealDisk):
    """For making what is measured later: ten thousand partitions would take minutes to sync."""

    __slots__ = ()

    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> RealFile:
        flags = os.O_RDWR | (os.O_CREAT if create else 0)
        return UnsyncedFile(path, os.open(path, flags, 0o644))

    def replace(self, path: str, data: bytes, *, durable: bool = True) -> None:
        super().replace(path, data, durable=False)

    def sync_dir(self, path: str) -> None:
        pass


def make_partitions(directory: Path, count: int) -> None:
    """A directory that was closed properly, with a few batches in each partition."""
    manager = LogManager(
        LogEnvironment(UnsyncedDisk(), SeededRng(1)),
        SystemClock(),
        [str(directory)],
        cluster_id="bench",
        node_id=1,
    )
    manager.open()
    batch = small_batch()
    for index in range(count):
        fill(manager.create("open", index), batch, 10)
    manager.close()


def open_partitions(directory: str) -> str:
    """What the child process measures: wall time, CPU time, memory."""
    environment = LogEnvironment(RealDisk(), SeededRng(1))
    manager = LogManager(environment, SystemClock(), [directory], cluster_id="bench", node_id=1)
    before = memory_bytes()
    wall, cpu = time.perf_counter(), time.process_time()
    manager.open()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    after = memory_bytes()
    count = sum(1 for _ in manager.logs())
    assert all(directory.was_clean for directory in manager.directories)
    manager.close()
    return f"{count} {wall} {cpu} {after - before}"


def memory_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def opening(directory: Path, count: int) -> str:
    path = directory / f"open-{count}"
    make_partitions(path, count)
    results = [measured_opening(path, count) for _ in range(3)]
    shutil.rmtree(path)
    wall_s, cpu_s, _ = min(results)
    size_bytes = max(result[2] for result in results)
    what = f"open {count:,} partitions after a clean stop"
    return row(what, f"{wall_s:.2f} s", f"{cpu_s:.2f} s CPU, {size_bytes / 1e6:.0f} MB")


def measured_opening(path: Path, count: int) -> tuple[float, float, int]:
    command = [sys.executable, "-m", "bench.log", "--open", str(path)]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    opened, wall_s, cpu_s, size_bytes = run.stdout.split()
    assert int(opened) == count
    return float(wall_s), float(cpu_s), int(size_bytes)


def main() -> None:
    if sys.argv[1:2] == ["--open"]:
        print(open_partitions(sys.argv[2]))
        return
    parent = sys.argv[1] if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory(prefix="bench-log-", dir=parent) as name:
        directory = Path(name)
        warm(directory)
        print("| work | figure | cost |\n|---|---|---|")
        print(append_large(directory))
        print(append_small(directory, TURN_BATCHES))
        print(append_small(directory, 1))
        print(read_large(directory))
        print(read_small(directory))
        print(read_tail(directory))
        print(recover(directory))
        print(opening(directory, 1000))
        print(opening(directory, 10_000))


if __name__ == "__main__":
    main()
