"""Fetches what tests need beyond Python packages: a Java runtime, Kafka's jars, kcat.

Everything is asked for by package name, pinned to a version and checked; it lands in a cache
outside the work tree. `python -m tools.fetch` fetches all of it ahead of time.
"""

from barnabas_pipeline.fetch.cache import CannotFetch
from tools.fetch.java import fetch_java
from tools.fetch.kafka import (
    KAFKA_VERSION,
    NEW_CLIENT_VERSION,
    OLD_CLIENT_VERSIONS,
    fetch_client,
    fetch_java_compiler,
    fetch_kafka,
)
from tools.fetch.kcat import Kcat, fetch_kcat

__all__ = [
    "KAFKA_VERSION",
    "NEW_CLIENT_VERSION",
    "OLD_CLIENT_VERSIONS",
    "CannotFetch",
    "Kcat",
    "fetch_client",
    "fetch_java",
    "fetch_java_compiler",
    "fetch_kafka",
    "fetch_kcat",
]
