"""Single jars of `single-jars.lock`, and jgo for machines without Maven."""

from pathlib import Path

from barnabas_pipeline.fetch.cache import cached
from barnabas_pipeline.fetch.jars import fetch_jars, read_lock
from tools.fetch.packages import pip_install

REQUIREMENTS = Path(__file__).parents[2] / "requirements" / "maven.txt"
SINGLE_LOCK = Path(__file__).parent / "single-jars.lock"


def fetch_jar(coordinates: str) -> Path:
    """One jar of `single-jars.lock`, without what it depends on."""
    _, name, version = coordinates.split(":")
    checksum = read_lock(SINGLE_LOCK)[coordinates]
    entry, what = f"{name}-{version}-{checksum[:8]}", f"{name} {version}"
    return fetch_jars(entry, {coordinates: checksum}, what, jgo_path) / f"{name}-{version}.jar"


def jgo_path() -> str:
    """Directory of jgo, pinned."""
    pinned = REQUIREMENTS.with_suffix(".in").read_text().strip()
    return str(
        cached(
            pinned.replace("==", "-"),
            lambda directory: pip_install(REQUIREMENTS, directory, "jars: needs mvn or jgo"),
        )
    )
