"""A crash at any step of a swap leaves the old log or the new one, and nothing else."""

from collections.abc import Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest

from barnabas_core.log.cleaner.swap import (
    Remove,
    Rename,
    Step,
    Sync,
    plan_commit,
    plan_finish,
    plan_retire,
    plan_swap_recovery,
    run_steps,
)
from barnabas_core.log.segments.file_name import LOG, file_name
from barnabas_core.records.batch import split_batches
from tests.support.dirty_log import DirtyLog
from tests.support.fake_disk import Crash, FakeDisk

DIR = "/logs/orders-0"
SUFFIXES = (".index", ".log", ".timeindex", ".txnindex")
# A segment is about 380 bytes; a third one does not fit behind what is left of two.
SEGMENT_BYTES = 600


def put_segment(log: DirtyLog, *keys: bytes) -> None:
    for key in keys:
        log.put((key, b"value"), producer_id=1, is_transactional=True)
    log.end(1, commit=False)
    for key in keys:
        log.put((key, b"value"))
    log.roll()


@pytest.fixture
def log() -> DirtyLog:
    """Four segments with a producer snapshot each."""
    disk = FakeDisk()
    disk.make_dirs(DIR)
    for path in ("", "/logs"):
        disk.sync_dir(path)
    log = DirtyLog(disk, DIR)
    for keys in ((b"a", b"b"), (b"b", b"c"), (b"a", b"d"), (b"d", b"e")):
        put_segment(log, *keys)
    for base in log.bases():
        disk.replace(log.path(base, ".snapshot"), b"snapshot")
    return log


def on(disk: FakeDisk, log: DirtyLog) -> DirtyLog:
    return replace(log, disk=disk)


def rewrite(log: DirtyLog) -> list[tuple[int, list[int]]]:
    """Two groups: (base offset, bases of those it replaces)."""
    result = log.rewrite(log.task(segment_bytes=SEGMENT_BYTES))
    groups = [(it.base_offset, [base for base, _ in it.replaced]) for it in result.groups]
    assert [len(replaced) for _, replaced in groups] == [2, 2]
    return groups


def swap_steps(groups: Sequence[tuple[int, list[int]]]) -> list[Step]:
    steps: list[Step] = []
    for base, replaced in groups:
        old = [file_name(it, suffix) for it in replaced for suffix in (*SUFFIXES, ".snapshot")]
        steps += [*plan_commit(base), *plan_retire(base, old), *plan_finish(base)]
    return steps


def recovery_steps(disk: FakeDisk) -> list[Step]:
    def next_offset_of(name: str) -> int:
        return split_batches(disk.read(f"{DIR}/{name}") or b"")[-1][1].next_offset

    return plan_swap_recovery([name for name, _ in disk.list_dir(DIR)], next_offset_of)


def recover(disk: FakeDisk) -> None:
    run_steps(disk, DIR, recovery_steps(disk))


def content(disk: FakeDisk) -> dict[str, bytes | None]:
    """Everything but snapshots, which a log may lose."""
    names = [name for name, _ in disk.list_dir(DIR) if not name.endswith(".snapshot")]
    return {name: disk.read(f"{DIR}/{name}") for name in names}


def allowed_contents(log: DirtyLog, disk: FakeDisk) -> list[dict[str, bytes | None]]:
    """What the log may consist of: no, one or both groups in place."""
    allowed = [content(disk)]
    for count in (1, 2):
        swapped = deepcopy(disk)
        groups = rewrite(on(swapped, log))
        run_steps(swapped, DIR, swap_steps(groups[:count]))
        recover(swapped)
        allowed.append(content(swapped))
    return allowed


def test_a_process_crash_at_any_step_and_at_any_step_of_its_recovery(log: DirtyLog) -> None:
    disk = log.disk
    assert isinstance(disk, FakeDisk)
    allowed = allowed_contents(log, disk)
    steps = swap_steps(rewrite(log))
    seen = []
    for crashed_at in range(len(steps) + 1):
        crashed = deepcopy(disk)
        run_steps(crashed, DIR, steps[:crashed_at])
        recovery = recovery_steps(crashed)
        outcomes = []
        for cut_at in range(len(recovery) + 1):
            again = deepcopy(crashed)
            run_steps(again, DIR, recovery[:cut_at])
            recover(again)
            outcomes.append(allowed.index(content(again)))
        assert len(set(outcomes)) == 1, f"crash at step {crashed_at}: {outcomes}"
        seen.append(outcomes[0])
    assert seen[0] == 0
    assert seen[-1] == 2
    assert all(earlier <= later for earlier, later in pairwise(seen))
    assert set(seen) == {0, 1, 2}


def test_a_machine_crash_at_any_step_loses_no_group_and_mixes_none(log: DirtyLog) -> None:
    disk = log.disk
    assert isinstance(disk, FakeDisk)
    allowed = allowed_contents(log, disk)
    steps = swap_steps(rewrite(log))
    for crashed_at in range(len(steps) + 1):
        for seed in range(12):
            crashed = deepcopy(disk)
            crashed.random = Random(crashed_at * 1000 + seed)
            run_steps(crashed, DIR, steps[:crashed_at])
            crashed.crash_machine()
            _recover_with_crashes(crashed)
            assert content(crashed) in allowed, f"crash at step {crashed_at}, seed {seed}"


def _recover_with_crashes(disk: FakeDisk) -> None:
    """Twice cut off by another crash, then to the end."""
    for _ in range(2):
        disk.crash_after(disk.random.randrange(1, 30))
        with suppress(Crash):
            recover(disk)
        disk.crash_machine()
    recover(disk)


def test_a_crash_while_rewriting_leaves_the_log_as_it_was(log: DirtyLog) -> None:
    disk = log.disk
    assert isinstance(disk, FakeDisk)
    before = content(disk)
    whole = deepcopy(disk)
    operation_count = -whole.operation_count
    rewrite(on(whole, log))
    operation_count += whole.operation_count
    for crashed_at in range(1, operation_count, 3):
        crashed = deepcopy(disk)
        crashed.random = Random(crashed_at)
        crashed.crash_after(crashed_at)
        with pytest.raises(Crash):
            rewrite(on(crashed, log))
        crashed.crash_machine()
        recover(crashed)
        assert content(crashed) == before


def test_what_a_rewriting_leaves_is_durable_before_anything_is_renamed(log: DirtyLog) -> None:
    disk = log.disk
    assert isinstance(disk, FakeDisk)
    rewrite(log)
    rewritten = content(disk)
    for seed in range(10):
        crashed = deepcopy(disk)
        crashed.random = Random(seed)
        crashed.crash_machine()
        assert content(crashed) == rewritten


def test_the_old_segments_go_only_after_the_new_one_is_committed(log: DirtyLog) -> None:
    [(base, replaced), _] = rewrite(log)
    steps = swap_steps([(base, replaced)])

    first_loss = next(i for i, it in enumerate(steps) if _loses(it))
    committed = steps.index(Sync())
    assert committed < first_loss
    # ... and they are gone durably before the name that tells of them is.
    log_renamed = steps.index(Rename(file_name(base, LOG) + ".swap", file_name(base, LOG)))
    last_loss = max(i for i, it in enumerate(steps) if _loses(it))
    assert Sync() in steps[last_loss:log_renamed]


def _loses(step: Step) -> bool:
    return isinstance(step, Remove) or (isinstance(step, Rename) and step.new.endswith(".deleted"))


def never_asked(name: str) -> int:
    raise AssertionError(name)


def names(base: int, state: str = "") -> list[str]:
    return [file_name(base, suffix) + state for suffix in SUFFIXES]


def test_files_of_an_unfinished_rewriting_are_removed() -> None:
    present = [*names(0), *names(0, ".cleaned"), f"{0:020d}.snapshot.job.cleaned"]

    assert plan_swap_recovery(present, never_asked) == [Remove(it) for it in present[4:]]


def test_retired_files_are_removed() -> None:
    present = [*names(0), f"{7:020d}.log.deleted"]

    assert plan_swap_recovery(present, never_asked) == [Remove(f"{7:020d}.log.deleted")]


def test_a_tidy_directory_needs_nothing() -> None:
    present = [*names(0), *names(7), "partition.metadata", "leader-epoch-checkpoint"]

    assert plan_swap_recovery(present, never_asked) == []


def test_a_swap_next_to_a_cleaned_file_of_its_base_is_no_swap() -> None:
    present = [*names(0), *names(0, ".swap")[:3], f"{0:020d}.txnindex.cleaned"]

    steps = plan_swap_recovery(present, never_asked)

    assert steps == [*map(Remove, present[4:7]), Sync(), Remove(present[7])]


def test_a_swap_supersedes_what_starts_in_its_range_and_no_more() -> None:
    present = [*names(0), *names(5), f"{5:020d}.snapshot", *names(10), *names(0, ".swap")]

    steps = plan_swap_recovery(sorted(present), lambda _: 10)

    removed = [it.name for it in steps if isinstance(it, Remove)]
    assert removed == sorted([*names(5), f"{5:020d}.snapshot"])
    assert steps[-2] == Rename(f"{0:020d}.log.swap", f"{0:020d}.log")


def test_index_files_still_to_be_renamed_after_their_log_are_renamed() -> None:
    present = [*names(0), f"{0:020d}.txnindex.swap"]

    steps = plan_swap_recovery(present, never_asked)

    assert steps == [Rename(f"{0:020d}.txnindex.swap", f"{0:020d}.txnindex"), Sync()]
