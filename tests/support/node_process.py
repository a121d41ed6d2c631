"""One node as users run it: its properties, its directory, and its process while it runs."""

import signal
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.support.process import Child


class NodeProcess:
    def __init__(self, directory: Path, name: str) -> None:
        """`name`: for people, and of its directory."""
        self.name = name
        self.directory = directory / name.replace(" ", "-")
        self.properties = self.directory / "server.properties"
        self.child: Child | None = None
        self._starts = 0
        self.directory.mkdir(parents=True)

    def command(self) -> list[str]:
        raise NotImplementedError

    @property
    def is_running(self) -> bool:
        return self.child is not None and self.child.process.poll() is None

    def start(self, environment: Mapping[str, str] | None = None) -> None:
        assert not self.is_running, f"{self.name} runs already"
        self._starts += 1
        run = self.directory / f"run-{self._starts}.out"
        self.child = Child([sys.executable, *self.command()], run, environment)

    def kill(self) -> None:
        """SIGKILL: nothing is handed over or written any more."""
        assert self.child is not None
        self.child.kill()

    def suspend(self) -> None:
        """SIGSTOP: its sockets stay open, and nobody answers."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def terminate(self) -> None:
        """SIGTERM, without waiting for the end."""
        self._signal(signal.SIGTERM)

    def stop(self) -> None:
        """In order, with exit status 0 and without a complaint."""
        assert self.child is not None
        status = self.child.stop()
        assert status == 0, f"{self.name} ended with {status}:\n{self.child.output()}"
        assert "Traceback" not in self.child.output(), self.child.output()

    def wait_ended(self, timeout_s: float = 60) -> int:
        """The exit status."""
        assert self.child is not None
        return self.child.process.wait(timeout_s)

    def _signal(self, number: signal.Signals) -> None:
        assert self.is_running
        assert self.child is not None
        self.child.process.send_signal(number)

    def output(self) -> str:
        """Of all its runs."""
        runs = [self.directory / f"run-{number + 1}.out" for number in range(self._starts)]
        return "".join(f"--- {run}\n{run.read_text(errors='replace')}" for run in runs)

    def resident_kib(self) -> int:
        assert self.child is not None
        status = Path(f"/proc/{self.child.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0])
