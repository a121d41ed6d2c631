"""The `groups` profile itself: it repeats what it did, and it finds what is wrong."""

import pytest

from tests.sim import groups_profile
from tests.sim.broken_groups import RARE_VARIANTS, VARIANTS
from tests.sim.invariant import InvariantBroken
from tests.sim.own_process import python

SEEDS = 4
BROKEN_SEEDS = 12
RARE_SEEDS = 100
"""Within so many each mistake must be found."""
TRACES = "from tests.sim.groups_profile import run; print([run(seed).trace for seed in (1, 2)])"


def test_the_command_runs_groups_and_says_what_it_saw() -> None:
    output = python(
        "-m", "tests.sim", "--profile", "groups", "--seeds", str(SEEDS), hash_seed="random"
    )

    assert output.splitlines()[-1] == f"{SEEDS} seeds, 0 failed"
    assert "coordinators_killed per 1,000 seeds" in output


def test_the_same_seed_is_the_same_run_of_groups_whatever_the_hash_seed() -> None:
    assert python("-c", TRACES, hash_seed="1") == python("-c", TRACES, hash_seed="2")


def run_seeds(count: int) -> None:
    for seed in range(count):
        groups_profile.run(seed)


@pytest.mark.parametrize("name", VARIANTS)
def test_a_mistake_in_the_coordination_of_groups_is_found(name: str) -> None:
    with VARIANTS[name](), pytest.raises(InvariantBroken):
        run_seeds(BROKEN_SEEDS)


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", RARE_VARIANTS)
def test_a_rarer_mistake_in_the_coordination_of_groups_is_found_with_patience(name: str) -> None:
    with RARE_VARIANTS[name](), pytest.raises(InvariantBroken):
        run_seeds(RARE_SEEDS)
