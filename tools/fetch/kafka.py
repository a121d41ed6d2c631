"""Apache Kafka's own jars, from Maven Central by coordinates.

`kafka-jars.lock` names every jar with its checksum, so both ways of getting them end in the same
files: Maven where there is one (it knows the machine's mirrors and proxies), otherwise jgo, which
downloads without Java.
"""

import hashlib
import shutil
import sys
from pathlib import Path

from tools.fetch.cache import CannotFetch, cache_dir, cached, pip_install, progress, run

KAFKA_VERSION = "4.3.1"
LOCK = Path(__file__).parent / "kafka-jars.lock"
REQUIREMENTS = Path(__file__).parents[2] / "requirements" / "maven.txt"

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


def fetch_kafka() -> Path:
    """Directory of jars that make a class path for Kafka's server and tools."""
    checksums = read_lock()

    def build(target: Path) -> None:
        try:
            copy_with_maven(checksums, target)
        except CannotFetch as maven_error:
            try:
                copy_with_jgo(checksums, target)
            except CannotFetch as error:
                raise CannotFetch(f"{error}; before that, {maven_error}") from error
        check(checksums, target)

    version = hashlib.sha256(LOCK.read_bytes()).hexdigest()[:8]
    return cached(f"kafka-{KAFKA_VERSION}-{version}", build)


def read_lock() -> dict[str, str]:
    """Coordinates (`group:name:version`) to SHA-256."""
    lines = (line.split() for line in LOCK.read_text().splitlines())
    return {coordinates: checksum for checksum, coordinates in lines}


def copy_with_maven(checksums: dict[str, str], target: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise CannotFetch("Kafka's jars: mvn is not installed")
    progress(f"Kafka {KAFKA_VERSION}, {len(checksums)} jars (54 MB) with Maven")
    pom = target / "pom.xml"
    dependencies = (DEPENDENCY.format(*coordinates.split(":")) for coordinates in checksums)
    pom.write_text(POM.format(dependencies="\n".join(dependencies)))
    command = [maven, "-q", "-B", "-f", str(pom), f"-Dmaven.repo.local={cache_dir() / 'm2'}"]
    command += ["dependency:copy-dependencies", f"-DoutputDirectory={target}"]
    run(command, "Kafka's jars")
    pom.unlink()


def copy_with_jgo(checksums: dict[str, str], target: Path) -> None:
    progress(f"Kafka {KAFKA_VERSION}, {len(checksums)} jars (54 MB) with jgo")
    jgo = cached(
        REQUIREMENTS.with_suffix(".in").read_text().strip().replace("==", "-"),
        lambda directory: pip_install(REQUIREMENTS, directory, "Kafka's jars need mvn or jgo"),
    )
    command = [sys.executable, "-c", JGO, str(cache_dir() / "m2"), *checksums]
    for jar in run(command, "Kafka's jars", PYTHONPATH=str(jgo)).splitlines():
        shutil.copy(jar, target)


def check(checksums: dict[str, str], target: Path) -> None:
    for coordinates, checksum in checksums.items():
        _, name, version = coordinates.split(":")
        jar = target / f"{name}-{version}.jar"
        if not jar.is_file() or hashlib.sha256(jar.read_bytes()).hexdigest() != checksum:
            raise CannotFetch(f"Kafka's jars: {coordinates} is not what {LOCK.name} says")
