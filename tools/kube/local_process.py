"""Programs that run until they are told to stop, each with a log file of its own."""

import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from ssl import SSLContext

STOP_TIMEOUT_S = 10.0
_LOG_TAIL_BYTES = 2_000
_PAUSE_S = 0.2


class DidNotStart(Exception):
    """A program ended or stayed silent; the message has the end of what it wrote."""


class LocalProcess:
    """A child in a session of its own, so that Ctrl-C in a terminal does not reach it."""

    def __init__(
        self, command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self.name = Path(command[0]).name
        self._log = log
        with log.open("ab") as file:
            self._child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._child.pid

    def wait_until(self, is_ready: Callable[[], bool], deadline_s: float) -> None:
        give_up_at = time.monotonic() + deadline_s
        while not is_ready():
            status = self._child.poll()
            if status is not None:
                raise DidNotStart(f"{self.name} ended with {status}: {self.tail()}")
            if time.monotonic() > give_up_at:
                raise DidNotStart(f"{self.name} is silent after {deadline_s:.0f} s: {self.tail()}")
            time.sleep(_PAUSE_S)

    def tail(self) -> str:
        return self._log.read_bytes()[-_LOG_TAIL_BYTES:].decode(errors="replace")

    def stop(self) -> None:
        if self._child.poll() is None:
            self._child.terminate()
        try:
            self._child.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on; all are held until all are known."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def answers(url: str, context: SSLContext | None = None, token: str = "") -> bool:
    """Whether a GET is answered with a success."""
    request = urllib.request.Request(url)  # noqa: S310 - loopback, built by us
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=2, context=context):  # noqa: S310
            return True
    except (OSError, urllib.error.URLError):
        return False
