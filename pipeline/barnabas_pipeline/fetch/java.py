"""A Java runtime for Spark: the machine's own of version 17 or newer."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

from barnabas_pipeline.fetch.cache import CannotFetch

OLDEST_MAJOR_VERSION: Final = 17  # of Spark 4, and of Kafka 4's server and tools
_ADVICE: Final = (
    f"Spark needs Java {OLDEST_MAJOR_VERSION} or newer, and none was found in JAVA_HOME or on the "
    "PATH: install one (Debian: apt install default-jre-headless; macOS: brew install openjdk)"
)


def find_java() -> Path:
    """Path of the `java` program; `CannotFetch` with advice where there is none."""
    found = installed_java()
    if found is None:
        raise CannotFetch(_ADVICE)
    return found


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
        done = subprocess.run(  # noqa: S603 - a java that the user's own path names
            [java, "-version"], capture_output=True, text=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    match = re.search(r'version "(\d+)', done.stderr)
    return int(match[1]) if match else 0
