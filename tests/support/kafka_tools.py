"""Kafka's command line tools, one after the other in one JVM: see java/ToolHost.java."""

import select
import subprocess
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.external import JavaRuntime
from tests.support.java_source import java_command

TIMEOUT_S = 60


@dataclass(frozen=True, slots=True)
class Printed:
    status: int
    out: str
    err: str

    def __str__(self) -> str:
        return f"status {self.status}\n{self.out}\n{self.err}"


class KafkaTools:
    def __init__(self, process: "subprocess.Popen[str]", log: Path) -> None:
        self._process = process
        self._log = log

    def run(self, tool: str, *arguments: str) -> str:
        """What it printed on standard output; it has to end well."""
        printed = self.attempt(tool, *arguments)
        assert printed.status == 0, f"{tool} {' '.join(arguments)}: {printed}"
        return printed.out

    def attempt(self, tool: str, *arguments: str) -> Printed:
        orders, answers = self._process.stdin, self._process.stdout
        assert orders is not None
        assert answers is not None
        orders.write(" ".join(map(_encode, (tool, *arguments))) + "\n")
        orders.flush()
        is_ready, _, _ = select.select([answers], [], [], TIMEOUT_S)
        assert is_ready, f"{tool} does not end:\n{self._log.read_text()}"
        line = answers.readline()
        assert line, f"the JVM ended:\n{self._log.read_text()}"
        status, out, err = line.split()
        return Printed(int(status), _decode(out), _decode(err))


@contextmanager
def kafka_tools(java: JavaRuntime, classes: Path, log: Path) -> Iterator[KafkaTools]:
    """The JVM ends with its input, also when this process is killed."""
    with (
        log.open("w") as errors,
        subprocess.Popen(
            java_command(java, [classes, java.jars / "*"], "ToolHost"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        try:
            yield KafkaTools(process, log)
        finally:
            process.kill()


def _encode(word: str) -> str:
    return "=" + b64encode(word.encode()).decode()


def _decode(word: str) -> str:
    return b64decode(word[1:]).decode()
