"""A simulation in a process of its own, under a hash seed of its own."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def python(*arguments: str, hash_seed: str) -> str:
    """What it printed; it must have ended well."""
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
