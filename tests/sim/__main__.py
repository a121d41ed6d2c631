"""`python -m tests.sim --profile raft --seeds 10000 --first-seed 0`

Runs in a process of its own with a fixed hash seed, so that a seed means the same everywhere.
`--loud` says what happens as it happens.
"""

import argparse
import gc
import os
import sys
import time
import traceback
from dataclasses import asdict, replace
from functools import partial

from tests.sim import cluster_profile, controller_profile, groups_profile, raft_profile
from tests.sim.invariant import Coverage
from tests.sim.sim_profile import Outcome, Profile, Total

RAFT_FLOORS = Coverage(
    elections=4_000,
    truncations=500,
    snapshots_taken=10_000,
    snapshots_loaded=2_000,
    voter_changes=1_200,
    crashes=5_000,
    disks_lost=50,
    acknowledged=50_000,
)


def _run_raft(seed: int) -> Outcome:
    run = raft_profile.run(seed)
    return Outcome(run.trace, asdict(run.coverage), run.recovery_us)


PROFILES = {
    "raft": Profile(_run_raft, raft_profile.RECOVERY_US, asdict(RAFT_FLOORS)),
    "controller": Profile(
        controller_profile.run,
        controller_profile.RECOVERY_US,
        controller_profile.FLOORS,
        run_loudly=partial(controller_profile.run, is_loud=True),
    ),
    "cluster": Profile(
        cluster_profile.run,
        cluster_profile.RECOVERY_US,
        cluster_profile.FLOORS,
        run_loudly=partial(cluster_profile.run, is_loud=True),
    ),
    "groups": Profile(
        groups_profile.run,
        groups_profile.RECOVERY_US,
        groups_profile.FLOORS,
        run_loudly=partial(groups_profile.run, is_loud=True),
    ),
}

REPEAT_EVERY = 100
COLLECT_EVERY = 25


def main() -> int:
    arguments = _parse()
    if os.environ.get("PYTHONHASHSEED") != "0":
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        command = [sys.executable, "-m", "tests.sim", *sys.argv[1:]]
        os.execve(sys.executable, command, environment)  # noqa: S606
    gc.disable()
    profile = PROFILES[arguments.profile]
    if arguments.loud and profile.run_loudly is not None:
        PROFILES[arguments.profile] = replace(profile, run=profile.run_loudly)
    return _run_all(arguments.profile, arguments.first_seed, arguments.seeds)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.sim")
    parser.add_argument("--profile", choices=sorted(PROFILES), default="raft")
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--loud", action="store_true")
    return parser.parse_args()


def _run_all(name: str, first_seed: int, count: int) -> int:
    profile, total = PROFILES[name], Total()
    started = time.perf_counter()
    for done, seed in enumerate(range(first_seed, first_seed + count), 1):
        outcome = _run_seed(name, seed, repeat=done % REPEAT_EVERY == 1)
        if outcome is None:
            print(f"{done} seeds, 1 failed")
            return 1
        total.add(outcome)
        if done % COLLECT_EVERY == 0:
            gc.collect()
        if done % 500 == 0 and done < count:
            rate = done / (time.perf_counter() - started)
            print(f"{done} seeds, {rate:.1f} per second", flush=True)
    print(f"{count / (time.perf_counter() - started):.1f} seeds per second")
    longest, allowed = total.recovery_us / 1e6, profile.recovery_us_max / 1e6
    print(f"longest recovery: {longest:.1f} s of at most {allowed:.0f} s")
    is_covered = _print_coverage(profile, total, count)
    print(f"{count} seeds, 0 failed")
    return 0 if is_covered else 1


def _run_seed(name: str, seed: int, *, repeat: bool) -> Outcome | None:
    run = PROFILES[name].run
    try:
        outcome = run(seed)
        if repeat:
            again = run(seed)
            assert again.trace == outcome.trace, "the same seed gave two different runs"
    except Exception:
        traceback.print_exc(file=sys.stdout)
        print(f"seed {seed} failed; replay it with:")
        print(f"  python -m tests.sim --profile {name} --seeds 1 --first-seed {seed}")
        return None
    return outcome


def _print_coverage(profile: Profile, total: Total, count: int) -> bool:
    is_covered = True
    for name in {**total.coverage, **profile.floors}:
        floor = profile.floors.get(name, 0)
        per_thousand = total.coverage.get(name, 0) * 1000 // count
        is_low = per_thousand < floor
        is_covered = is_covered and not is_low
        word = " BELOW THE FLOOR" if is_low else ""
        print(f"  {name} per 1,000 seeds: {per_thousand} (floor {floor}){word}")
    return is_covered or count < profile.floor_seeds


if __name__ == "__main__":
    sys.exit(main())
