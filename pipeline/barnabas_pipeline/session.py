"""The SparkSession of a pipeline: connector jars, this interpreter, loopback unless told otherwise.

`local[*]` unless a master is given; then the addresses are the cluster's affair and are left alone.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from barnabas_pipeline.fetch.connector import connector_jars
from barnabas_pipeline.fetch.java import find_java

LOCAL: Final = "local[*]"
# Spark's warnings of its start are not the user's affair; errors are.
_LOGGING: Final = Path(__file__).parent / "log4j2.properties"
_ALWAYS: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
    # Bad values become nulls that the decoder sees, and never end the query.
    "spark.sql.ansi.enabled": "false",
    "spark.sql.streaming.metricsEnabled": "true",
    "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_LOGGING}",
}
_LOCAL_ONLY: Final = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "4",
}


def spark_session(
    name: str, master: str = LOCAL, config: Mapping[str, str] | None = None
) -> SparkSession:
    """Started, or the one that runs already; `CannotFetch` where Java or a jar is missing."""
    os.environ.setdefault("JAVA_HOME", str(find_java().resolve().parent.parent))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    settings = dict(_ALWAYS)
    if master.startswith("local"):
        settings |= _LOCAL_ONLY
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings["spark.jars"] = ",".join(str(jar) for jar in connector_jars())
    builder = SparkSession.builder.appName(name).master(master)
    for key, value in (settings | dict(config or {})).items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session
