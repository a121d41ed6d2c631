"""Small Java programs of the tests' own, compiled on any Java runtime."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.support.external import JVM_FLAGS, JavaRuntime
from tools.fetch import KAFKA_VERSION

SOURCES = Path(__file__).parent / "java"


def compile_java(java: JavaRuntime, compiler: Path, target: Path) -> None:
    """All of them into `target`, against Kafka's newest clients."""
    sources = [str(source) for source in sorted(SOURCES.glob("*.java"))]
    clients = java.jars / f"kafka-clients-{KAFKA_VERSION}.jar"
    done = subprocess.run(
        [
            *(str(java.program), *JVM_FLAGS, "-jar", str(compiler)),
            *("-17", "-nowarn", "-cp", str(clients), "-d", str(target), *sources),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def java_command(java: JavaRuntime, class_path: Sequence[Path | str], main_class: str) -> list[str]:
    log_level = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
    joined = ":".join(map(str, class_path))
    return [str(java.program), *JVM_FLAGS, log_level, "-cp", joined, main_class]
