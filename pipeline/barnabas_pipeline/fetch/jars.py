"""Jars from Maven Central by coordinates, each checked against a lock.

A lock names every jar with its checksum, so both ways of getting them end in the same files: Maven
where there is one (it knows the machine's mirrors and proxies), otherwise jgo, which downloads
without Java.
"""

import hashlib
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from barnabas_pipeline.fetch.cache import CannotFetch, cache_dir, cached, progress, run

POM = """\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>barnabas</groupId>
  <artifactId>kafka-jars</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
{dependencies}
  </dependencies>
</project>
"""
DEPENDENCY = """\
    <dependency>
      <groupId>{0}</groupId><artifactId>{1}</artifactId><version>{2}</version>
      <exclusions>
        <exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion>
      </exclusions>
    </dependency>"""

# Run by an interpreter that sees jgo: coordinates on standard input, a jar's path per line out.
JGO = """\
import sys
from pathlib import Path
from jgo.maven import MavenContext

context = MavenContext(repo_cache=Path(sys.argv[1]), timeout=60)
for coordinates in sys.argv[2:]:
    group, name, version = coordinates.split(":")
    print(context.project(group, name).at_version(version).artifact().resolve())
"""


def fetch_jars(
    entry: str, checksums: dict[str, str], what: str, jgo_path: Callable[[], str] = str
) -> Path:
    """Directory of exactly these jars; `what` they are is said while they are fetched.

    `jgo_path` gives what to put on Python's path for jgo, where it is not installed.
    """

    def build(target: Path) -> None:
        try:
            copy_with_maven(checksums, target, what)
        except CannotFetch as maven_error:
            try:
                copy_with_jgo(checksums, target, what, jgo_path())
            except CannotFetch as error:
                raise CannotFetch(f"{error}; before that, {maven_error}") from error
        check(checksums, target)

    return cached(entry, build)


def read_lock(path: Path) -> dict[str, str]:
    """Coordinates (`group:name:version`) to SHA-256."""
    lines = (line.split() for line in path.read_text().splitlines())
    return {coordinates: checksum for checksum, coordinates in lines}


def copy_with_maven(checksums: dict[str, str], target: Path, what: str) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise CannotFetch(f"{what}: mvn is not installed")
    progress(f"{what} with Maven")
    pom = target / "pom.xml"
    dependencies = (DEPENDENCY.format(*coordinates.split(":")) for coordinates in checksums)
    pom.write_text(POM.format(dependencies="\n".join(dependencies)))
    command = [maven, "-q", "-B", "-f", str(pom), f"-Dmaven.repo.local={cache_dir() / 'm2'}"]
    command += ["dependency:copy-dependencies", f"-DoutputDirectory={target}"]
    run(command, what)
    pom.unlink()


def copy_with_jgo(checksums: dict[str, str], target: Path, what: str, jgo_path: str) -> None:
    progress(f"{what} with jgo")
    command = [sys.executable, "-c", JGO, str(cache_dir() / "m2"), *checksums]
    for jar in run(command, what, PYTHONPATH=jgo_path).splitlines():
        shutil.copy(jar, target)


def check(checksums: dict[str, str], target: Path) -> None:
    for coordinates, checksum in checksums.items():
        _, name, version = coordinates.split(":")
        jar = target / f"{name}-{version}.jar"
        if not jar.is_file() or hashlib.sha256(jar.read_bytes()).hexdigest() != checksum:
            raise CannotFetch(f"{coordinates} is not what the lock says")
