"""Processes that outlive the command that started them, found again by what was written of them.

A process is known by its id and by when it started: an id alone may by now be somebody else's.
"""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from barnabas_pipeline.fetch.cache import cache_dir

STOP_TIMEOUT_S = 60.0


def state_directory() -> Path:
    directory = cache_dir() / "kube" / "run"
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def log_of(name: str) -> Path:
    return state_directory() / f"{name}.log"


def start_detached(
    name: str, command: Sequence[str], environment: Mapping[str, str] | None = None
) -> int:
    """The id of its process; one that runs already is left alone."""
    running = running_pid(name)
    if running is not None:
        return running
    with log_of(name).open("ab") as log:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=None if environment is None else dict(environment),
            start_new_session=True,
        )
    facts = {"pid": child.pid, "started": _started(child.pid)}
    _facts(name).write_text(json.dumps(facts))
    child.returncode = 0  # it is not ours to wait for: no warning when the object goes
    return child.pid


def running_pid(name: str) -> int | None:
    try:
        facts = json.loads(_facts(name).read_text())
    except (OSError, ValueError):
        return None
    pid = int(facts["pid"])
    return pid if facts["started"] is not None and _started(pid) == facts["started"] else None


def stop_detached(name: str, told: int | None = None) -> None:
    """SIGTERM to `told` (by default the process itself), and SIGKILL if that is not enough."""
    pid = running_pid(name)
    if pid is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(told or pid, signal.SIGTERM)
        if not _is_over(name):
            os.kill(pid, signal.SIGKILL)
            _is_over(name)
    _facts(name).unlink(missing_ok=True)


def first_child(pid: int) -> int | None:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(children[0]) if children else None


def _is_over(name: str) -> bool:
    give_up_at = time.monotonic() + STOP_TIMEOUT_S
    while running_pid(name) is not None:
        if time.monotonic() > give_up_at:
            return False
        time.sleep(0.1)
    return True


def _facts(name: str) -> Path:
    return state_directory() / f"{name}.json"


def _started(pid: int) -> str | None:
    """The 22nd field of stat: ticks since boot. None for a process that has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields[19]
