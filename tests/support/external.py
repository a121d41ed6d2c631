"""Programs that tests need and Python packages do not bring: fetched once per session.

Where one can be neither found nor fetched, a developer's run skips the tests that need it and says
why; on a build server (`CI=true`) they fail, since nobody would read that they were skipped.
"""

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

from tools.fetch import CannotFetch, Kcat, fetch_java, fetch_kafka, fetch_kcat

T = TypeVar("T")

# A small, quick JVM: the tools live for a second, and memory is shared with the broker under test.
JVM_FLAGS = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")


def obtain(request: pytest.FixtureRequest, fetch: Callable[[], T]) -> T:
    """What `fetch` gives, its progress lines on screen."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    try:
        with capture.global_and_fixture_disabled():
            return fetch()
    except CannotFetch as error:
        if os.environ.get("CI", "").lower() in ("true", "1"):
            pytest.fail(f"cannot be fetched, and CI must not skip it: {error}", pytrace=False)
        pytest.skip(str(error))


@dataclass(frozen=True, slots=True)
class JavaRuntime:
    """A Java program and a class path with everything of Kafka's on it."""

    program: Path
    jars: Path

    def command(self, main_class: str, *arguments: str, flags: tuple[str, ...] = ()) -> list[str]:
        log_level = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
        java = [str(self.program), *JVM_FLAGS, log_level, *flags]
        return [*java, "-cp", str(self.jars / "*"), main_class, *arguments]

    def run(
        self, main_class: str, *arguments: str, stdin: str | None = None, timeout_s: float = 120
    ) -> str:
        """Standard output of a Java program; its complaints are raised when it fails."""
        done = subprocess.run(
            self.command(main_class, *arguments),
            input=stdin or "",
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout_s,
        )
        assert done.returncode == 0, f"{main_class} ended with {done.returncode}: {done.stderr}"
        return done.stdout


@pytest.fixture(scope="session")
def java(request: pytest.FixtureRequest) -> JavaRuntime:
    return obtain(request, lambda: JavaRuntime(fetch_java(), fetch_kafka()))


@pytest.fixture(scope="session")
def kcat(request: pytest.FixtureRequest) -> Kcat:
    return obtain(request, fetch_kcat)
