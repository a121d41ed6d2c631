"""The cleaning as a real process: what it prints, and what is left when it is killed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from barnabas_core.log.cleaner.clean import CleanTask, remove_leftovers
from barnabas_core.log.cleaner.error import UncleanableLog
from barnabas_core.log.cleaner.job import decode_result, encode_task, write_inputs
from barnabas_core.log.cleaner.swap import plan_swap_recovery, run_steps
from barnabas_core.log.producers.producer_snapshot import encode_snapshot
from barnabas_core.log.producers.producer_state import ProducerState
from barnabas_core.log.segments.file_name import LOG
from barnabas_core.records.batch import parse_header
from barnabas_core.runtime.cleaner_task import WORKER_MODULE
from barnabas_core.runtime.disk import RealDisk
from tests.support.dirty_log import DirtyLog

DEADLINE_S = 60


@pytest.fixture
def log(tmp_path: Path) -> DirtyLog:
    log = DirtyLog(RealDisk(), str(tmp_path))
    for round_number in range(4):
        for key in range(50):
            log.put((b"%d" % key, b"%d" % round_number))
        log.roll()
    return log


def start(task: CleanTask) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", WORKER_MODULE, "clean", encode_task(task)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def content(log: DirtyLog) -> dict[str, bytes | None]:
    return {name: log.disk.read(f"{log.dir_path}/{name}") for name in log.names()}


def wait_for_output(log: DirtyLog) -> None:
    """Until the worker has begun to write."""
    deadline = time.monotonic() + DEADLINE_S
    while not [name for name in log.names() if name.endswith(".log.cleaned")]:
        assert time.monotonic() < deadline, "the worker writes nothing"
        time.sleep(0.005)


def test_a_worker_leaves_finished_files_and_prints_what_they_are(log: DirtyLog) -> None:
    output, complaint = start(log.task()).communicate(timeout=DEADLINE_S)

    assert complaint == b""
    assert output.count(b"\n") == 1
    result = decode_result(output)
    [group] = result.groups
    assert [base for base, _ in group.replaced] == [0, 50, 100, 150]
    assert result.clean_up_to == 200
    assert result.stats.kept_records == 50
    cleaned = [name for name in log.names() if name.endswith(".cleaned")]
    assert len(cleaned) == 4
    assert (log.disk.size_of(log.path(0, LOG) + ".cleaned")) == group.size_bytes


def test_a_worker_says_what_is_wrong_with_a_log(log: DirtyLog) -> None:
    log.disk.open(log.path(50, LOG)).write_at(100, [b"\xff\xff\xff"])

    output, _ = start(log.task()).communicate(timeout=DEADLINE_S)

    assert "uncleanable" in json.loads(output)
    with pytest.raises(UncleanableLog, match=r"00050\.log"):
        decode_result(output)


def test_producers_and_aborted_transactions_reach_the_worker_in_files(log: DirtyLog) -> None:
    log.put((b"1", b"last of its producer"), producer_id=7)
    log.put((b"2", b"aborted"), producer_id=8, is_transactional=True)
    log.put((b"1", b"newer"))
    log.roll()
    log.end(8, commit=False)  # in the segment that is still being written
    producers = ProducerState()
    for batch in log.batches():
        if batch.header.producer_id == 7:
            producers.replay(parse_header(batch.data), batch.header.base_offset)
    task = log.task()
    write_inputs(log.disk, task, encode_snapshot(producers.snapshot()), log.aborted)

    output, _ = start(task).communicate(timeout=DEADLINE_S)

    [group] = decode_result(output).groups
    assert not [name for name in log.names() if ".job" in name]
    log.swap_in(group.base_offset, [base for base, _ in group.replaced])
    by_producer = {it.header.producer_id: it for it in log.batches()}
    assert by_producer[7].records == []
    assert 8 not in by_producer


def test_a_killed_worker_leaves_the_log_as_it_was(log: DirtyLog) -> None:
    before = content(log)
    # Slow enough to be caught in the act.
    task = log.task(io_bytes_per_second=20_000.0, io_buffer_bytes=64)
    worker = start(task)
    try:
        wait_for_output(log)
    finally:
        worker.send_signal(signal.SIGKILL)
        worker.communicate(timeout=DEADLINE_S)

    left = [name for name in log.names() if name not in before]
    assert left
    assert all(name.endswith(".cleaned") for name in left)
    run_steps(log.disk, log.dir_path, plan_swap_recovery(log.names(), lambda _: 0))
    assert content(log) == before


def test_leftovers_of_a_killed_worker_do_not_disturb_the_next(log: DirtyLog) -> None:
    stale = Path(log.path(100, LOG) + ".cleaned")
    stale.write_bytes(b"rubbish")

    output, _ = start(log.task()).communicate(timeout=DEADLINE_S)

    assert decode_result(output).groups
    assert not stale.exists()
    remove_leftovers(log.disk, log.dir_path)
    assert not [name for name in log.names() if name.endswith(".cleaned")]


def test_a_worker_dies_with_the_broker_that_started_it(log: DirtyLog) -> None:
    # Several seconds are left of its work when it has begun to write.
    task = log.task(io_bytes_per_second=8_000.0, io_buffer_bytes=64)
    script = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-m', *sys.argv[1:]], stdout=subprocess.PIPE)\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    broker = subprocess.Popen(
        [sys.executable, "-c", script, WORKER_MODULE, "clean", encode_task(task)],
        stdout=subprocess.PIPE,
    )
    assert broker.stdout is not None
    worker_id = int(broker.stdout.readline())
    try:
        wait_for_output(log)
    finally:
        broker.kill()
        broker.communicate(timeout=DEADLINE_S)

    deadline = time.monotonic() + DEADLINE_S
    while _is_running(worker_id):
        assert time.monotonic() < deadline, "the worker outlived its broker"
        time.sleep(0.01)
    finished = [name for name in log.names() if name.endswith(".index.cleaned")]
    assert not finished, "it ended because its work was done"


def _is_running(process_id: int) -> bool:
    """A zombie that nobody has waited for runs no more."""
    try:
        status = Path(f"/proc/{process_id}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def test_a_worker_that_nobody_listens_to_does_not_begin(log: DirtyLog) -> None:
    reading, writing = os.pipe()
    os.close(reading)

    worker = subprocess.Popen(
        [sys.executable, "-m", WORKER_MODULE, "clean", encode_task(log.task())],
        stdout=writing,
        stderr=subprocess.PIPE,
    )
    os.close(writing)

    _, complaint = worker.communicate(timeout=DEADLINE_S)
    assert worker.returncode == 1
    assert b"gone before the job began" in complaint
    assert not [name for name in log.names() if name.endswith(".cleaned")]
