"""The cache outside the work tree: an entry is either whole or absent.

An entry is built in a directory of its own and renamed into place, so an interrupted fetch leaves
nothing that looks finished; a lock file keeps two runs from fetching the same thing twice.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path


class CannotFetch(Exception):
    """Something a test or tool needs is neither here nor to be had; the message says what to do."""


def cache_dir() -> Path:
    chosen = os.environ.get("BARNABAS_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "barnabas"


def progress(line: str) -> None:
    print(f">> fetch: {line}", file=sys.stderr, flush=True)


def cached(entry: str, build: Callable[[Path], None]) -> Path:
    """The directory of a cache entry, built first where it is missing."""
    target = cache_dir() / entry
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_name(target.name + ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if target.is_dir():
            return target
        building = Path(tempfile.mkdtemp(prefix=f"{target.name}.", dir=target.parent))
        try:
            build(building)
            building.rename(target)
        finally:
            shutil.rmtree(building, ignore_errors=True)
    return target


def run(
    command: Sequence[str],
    what: str,
    *,
    directory: Path | None = None,
    timeout_s: float = 600,
    **environment: str,
) -> str:
    """Output of a command; `CannotFetch` with the end of what it said when it fails."""
    try:
        done = subprocess.run(  # noqa: S603 - programs that are named here
            command,
            cwd=directory,
            env=os.environ | environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout_s,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotFetch(f"{what}: {error}") from error
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()[-3:]
        raise CannotFetch(f"{what}: {command[0]} failed: {' | '.join(said)}")
    return done.stdout
