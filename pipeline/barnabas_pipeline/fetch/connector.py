"""Spark's Kafka connector: four jars that Spark itself does not bring.

`spark.jars.packages` cannot resolve them: the connector asks for a token provider of its own
version, which was not published. An older one serves (it matters for Kerberos only).
"""

import hashlib
import os
from pathlib import Path
from typing import Final

from barnabas_pipeline.fetch.jars import fetch_jars, read_lock

LOCK: Final = Path(__file__).parent / "connector.lock"


def connector_jars() -> list[Path]:
    """Those of BARNABAS_SPARK_JARS (a directory, as images have it), otherwise fetched."""
    given = os.environ.get("BARNABAS_SPARK_JARS")
    return sorted((Path(given) if given else fetch_connector()).glob("*.jar"))


def fetch_connector() -> Path:
    """Directory of the connector's jars."""
    checksums = read_lock(LOCK)
    version = hashlib.sha256(LOCK.read_bytes()).hexdigest()[:8]
    what = f"Spark's Kafka connector, {len(checksums)} jars (10 MB)"
    return fetch_jars(f"spark-connector-{version}", checksums, what)
