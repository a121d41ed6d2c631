"""The simulator itself: it repeats what it did, and it finds what is wrong."""

from dataclasses import replace

import pytest

from tests.sim import raft_profile
from tests.sim.broken import RARE_VARIANTS, VARIANTS
from tests.sim.invariant import check
from tests.sim.own_process import python
from tests.sim.sim_profile import Outcome, Total

SEEDS = 40
BROKEN_SEEDS = 1_000
RARE_SEEDS = 5_000
TRACES = "from tests.sim.raft_profile import run; print([run(seed).trace for seed in range(3)])"


def test_the_command_runs_seeds_and_says_what_it_saw() -> None:
    output = python("-m", "tests.sim", "--seeds", str(SEEDS), hash_seed="random")

    assert output.splitlines()[-1] == f"{SEEDS} seeds, 0 failed"
    assert "seeds per second" in output
    assert "elections per 1,000 seeds" in output


def test_the_same_seed_is_the_same_run_whatever_the_hash_seed() -> None:
    assert python("-c", TRACES, hash_seed="1") == python("-c", TRACES, hash_seed="2")


def test_different_seeds_are_different_runs() -> None:
    assert raft_profile.run(1).trace != raft_profile.run(2).trace


def run_seeds(count: int) -> None:
    for seed in range(count):
        raft_profile.run(seed)


@pytest.mark.parametrize("name", VARIANTS)
def test_a_broken_variant_is_found(name: str) -> None:
    with VARIANTS[name](), pytest.raises(AssertionError):
        run_seeds(BROKEN_SEEDS)


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", RARE_VARIANTS)
def test_a_rarer_mistake_is_found_with_patience(name: str) -> None:
    with RARE_VARIANTS[name](), pytest.raises(AssertionError):
        run_seeds(RARE_SEEDS)


def test_a_failure_names_the_command_that_replays_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.sim import __main__ as command

    raft = command.PROFILES["raft"]

    def fail_at_three(seed: int) -> Outcome:
        check(seed != 3, "three is", "out")
        return raft.run(seed)

    monkeypatch.setitem(command.PROFILES, "raft", replace(raft, run=fail_at_three))

    assert command._run_all("raft", 2, 100) == 1

    lines = capsys.readouterr().out.splitlines()
    assert "tests.sim.invariant.InvariantBroken: three is out" in lines
    assert "  python -m tests.sim --profile raft --seeds 1 --first-seed 3" in lines
    assert lines[-1] == "2 seeds, 1 failed"


def test_too_little_trouble_fails_a_long_run(capsys: pytest.CaptureFixture[str]) -> None:
    from tests.sim import __main__ as command

    raft = command.PROFILES["raft"]

    assert not command._print_coverage(raft, Total(), raft.floor_seeds)
    assert "BELOW THE FLOOR" in capsys.readouterr().out
