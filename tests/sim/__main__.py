"""`python -m tests.sim --profile raft --seeds 10000 --first-seed 0`

Runs in a process of its own with a fixed hash seed, so that a seed means the same everywhere.
"""

import argparse
import gc
import os
import sys
import time
import traceback
from dataclasses import asdict

from tests.sim.invariant import Coverage
from tests.sim.raft_profile import RECOVERY_US, Run, run

PROFILES = {"raft": run}

# Per 1,000 seeds; a run that meets less trouble than this has not tested what it claims to.
FLOORS = Coverage(
    elections=4_000,
    truncations=500,
    snapshots_taken=10_000,
    snapshots_loaded=2_000,
    voter_changes=1_200,
    crashes=5_000,
    disks_lost=50,
    acknowledged=50_000,
)
FLOOR_SEEDS = 200
"""Fewer seeds than this are too few to compare."""
REPEAT_EVERY = 100
COLLECT_EVERY = 25


def main() -> int:
    arguments = _parse()
    if os.environ.get("PYTHONHASHSEED") != "0":
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        command = [sys.executable, "-m", "tests.sim", *sys.argv[1:]]
        os.execve(sys.executable, command, environment)  # noqa: S606
    gc.disable()
    return _run_all(arguments.profile, arguments.first_seed, arguments.seeds)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.sim")
    parser.add_argument("--profile", choices=sorted(PROFILES), default="raft")
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first-seed", type=int, default=0)
    return parser.parse_args()


def _run_all(profile: str, first_seed: int, count: int) -> int:
    total = Coverage()
    recovery_us = 0
    started = time.perf_counter()
    for done, seed in enumerate(range(first_seed, first_seed + count), 1):
        result = _run_seed(profile, seed, repeat=done % REPEAT_EVERY == 1)
        if result is None:
            print(f"{done} seeds, 1 failed")
            return 1
        total.add(result.coverage)
        recovery_us = max(recovery_us, result.recovery_us)
        if done % COLLECT_EVERY == 0:
            gc.collect()
        if done % 500 == 0 and done < count:
            rate = done / (time.perf_counter() - started)
            print(f"{done} seeds, {rate:.1f} per second", flush=True)
    print(f"{count / (time.perf_counter() - started):.1f} seeds per second")
    print(f"longest recovery: {recovery_us / 1e6:.1f} s of at most {RECOVERY_US / 1e6:.0f} s")
    is_covered = _print_coverage(total, count)
    print(f"{count} seeds, 0 failed")
    return 0 if is_covered else 1


def _run_seed(profile: str, seed: int, *, repeat: bool) -> Run | None:
    try:
        result = PROFILES[profile](seed)
        if repeat:
            again = PROFILES[profile](seed)
            assert again.trace == result.trace, "the same seed gave two different runs"
    except Exception:
        traceback.print_exc(file=sys.stdout)
        print(f"seed {seed} failed; replay it with:")
        print(f"  python -m tests.sim --profile {profile} --seeds 1 --first-seed {seed}")
        return None
    return result


def _print_coverage(total: Coverage, count: int) -> bool:
    floors = asdict(FLOORS)
    is_covered = True
    for name, seen in asdict(total).items():
        per_thousand = seen * 1000 // count
        is_low = per_thousand < floors[name]
        is_covered = is_covered and not is_low
        word = " BELOW THE FLOOR" if is_low else ""
        print(f"  {name} per 1,000 seeds: {per_thousand} (floor {floors[name]}){word}")
    return is_covered or count < FLOOR_SEEDS


if __name__ == "__main__":
    sys.exit(main())
