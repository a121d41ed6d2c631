"""Programs that a test starts and that must never outlive it.

A child dies with the test run even when that is killed: Linux sends it SIGKILL (PR_SET_PDEATHSIG).
It asks for that itself, in a first program that then becomes the real one: asked for between fork
and exec (`preexec_fn`), Python would have to fork, which gRPC's threads in the test do not survive.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

_DIE_WITH_PARENT = """\
import ctypes, os, signal, sys
PR_SET_PDEATHSIG = 1
ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
os.execvp(sys.argv[1], sys.argv[1:])
"""


class Child:
    """A running program whose output goes to a file that a failing test shows."""

    def __init__(
        self, command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self.log = log
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _DIE_WITH_PARENT, *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=os.environ | (environment or {}),
            )

    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def wait_for_line(self, start: str, timeout_s: float = 60) -> str:
        """The rest of the first whole line of output that begins with `start`."""
        give_up_at = time.monotonic() + timeout_s
        while time.monotonic() < give_up_at:
            for line in self.output().splitlines(keepends=True):
                if line.startswith(start) and line.endswith("\n"):
                    return line.removeprefix(start).strip()
            assert self.process.poll() is None, f"ended early:\n{self.output()}"
            time.sleep(0.02)
        raise AssertionError(f"no line `{start}` within {timeout_s} s:\n{self.output()}")

    def stop(self, timeout_s: float = 60) -> int:
        """SIGTERM and the exit status: what an orderly end looks like."""
        self.process.terminate()
        return self.process.wait(timeout_s)

    def kill(self) -> None:
        """SIGKILL: what a crash of the process looks like."""
        self.process.kill()
        self.process.wait(60)


@contextmanager
def running(
    command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
) -> Iterator[Child]:
    child = Child(command, log, environment)
    try:
        yield child
    finally:
        child.kill()
