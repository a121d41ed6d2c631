"""Apache Kafka's own jars: its server and tools in one version, its clients in older ones."""

import hashlib
from pathlib import Path

from barnabas_pipeline.fetch.jars import fetch_jars, read_lock
from tools.fetch.jars import fetch_jar, jgo_path

KAFKA_VERSION = "4.3.1"
# The oldest that a broker of Kafka 4 serves, the last of the years that many stayed with, and the
# last before 4.
OLD_CLIENT_VERSIONS = ("2.1.1", "2.8.2", "3.9.1")
# Newer than the server and the tools.
NEW_CLIENT_VERSION = "4.4.0"
LOCK = Path(__file__).parent / "kafka-jars.lock"


def fetch_kafka() -> Path:
    """Directory of jars that make a class path for Kafka's server and tools."""
    checksums = read_lock(LOCK)
    version = hashlib.sha256(LOCK.read_bytes()).hexdigest()[:8]
    what = f"Kafka {KAFKA_VERSION}, {len(checksums)} jars (56 MB)"
    return fetch_jars(f"kafka-{KAFKA_VERSION}-{version}", checksums, what, jgo_path)


def fetch_client(version: str) -> Path:
    """The jar of another client; what it logs and compresses with is among Kafka's."""
    return fetch_jar(f"org.apache.kafka:kafka-clients:{version}")


def fetch_clients() -> list[Path]:
    return [fetch_client(version) for version in (*OLD_CLIENT_VERSIONS, NEW_CLIENT_VERSION)]


def fetch_java_compiler() -> Path:
    """Eclipse's: a Java runtime has none of its own, and a test needs a few lines of Java."""
    return fetch_jar("org.eclipse.jdt:ecj:3.40.0")
