"""Processes that outlive their command: found again, stopped, and never mistaken."""

import json
import sys
import time
from pathlib import Path

import pytest

from tools.kube.detached import (
    first_child,
    running_pid,
    start_detached,
    state_directory,
    stop_detached,
)

SLEEPS = [sys.executable, "-c", "import time; time.sleep(600)"]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BARNABAS_CACHE", str(tmp_path))


def test_it_is_started_once_and_stopped() -> None:
    pid = start_detached("sleeper", SLEEPS)

    assert start_detached("sleeper", SLEEPS) == pid
    stop_detached("sleeper")
    assert running_pid("sleeper") is None


def test_a_process_that_only_has_its_number_is_left_alone() -> None:
    pid = start_detached("sleeper", SLEEPS)
    facts = state_directory() / "sleeper.json"
    written = json.loads(facts.read_text())
    facts.write_text(json.dumps(written | {"started": "1"}))

    stop_detached("sleeper")

    assert Path(f"/proc/{pid}").exists()
    facts.write_text(json.dumps(written))
    stop_detached("sleeper")


def test_the_first_child_of_a_process_is_found() -> None:
    pid = start_detached("shell", ["sh", "-c", "sleep 600 & wait"])
    try:
        while (child := first_child(pid)) is None or not command_of(child):
            time.sleep(0.001)  # not there yet, or not yet the program that it becomes
        assert "sleep" in command_of(child)
        stop_detached("shell", child)
    finally:
        stop_detached("shell")


def command_of(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text()
