"""`--master spark://`: the same document on a cluster, whose executors are other processes."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import fastavro
import pyspark
import pytest

from barnabas_pipeline.fetch.java import find_java
from tests.support.kafka_node import free_ports
from tests.support.pipeline_lab import Lab, kill_tree
from tests.support.process import Child

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "long"}, {"name": "country", "type": "string"}],
}
DOCUMENT = """\
source:
  bootstrap: {bootstrap}
  topics: [TOPIC]
decode: {format: avro, schema_file: order.avsc}
steps:
  - python: whispering:whisper
  - sql: SELECT id, country, who, kafka_offset FROM stream
sinks:
  - parquet: {path: "{dir}/table", partition_by: [country]}
bad_records: {topic: DEAD}
checkpoint: {dir}/checkpoint
"""
# Found by executors only if it is sent to them. They say who they are.
WHISPERING = """\
import os

from pyspark.sql import functions as fn


@fn.udf("string")
def who(text):
    return f"{text.lower()} {os.environ.get('SPARK_EXECUTOR_DIRS', 'driver')}"


def whisper(rows):
    return rows.withColumn("who", who("country"))
"""


def encoded(record: dict[str, object]) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(ORDER), record)
    return stream.getvalue()


@contextmanager
def part_of_spark(directory: Path, name: str, *arguments: str) -> Iterator[Child]:
    """A master or a worker, of the jars that the package brings."""
    home = Path(pyspark.__file__).parent
    environment = {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_CONF_DIR": str(directory),
        "SPARK_WORKER_DIR": str(directory / "work"),
        "JAVA_HOME": str(find_java().resolve().parent.parent),
    }
    started = f"org.apache.spark.deploy.{name.lower()}.{name}"
    command = [str(home / "bin" / "spark-class"), started, "--host", "127.0.0.1", *arguments]
    child = Child(command, directory / f"{name.lower()}.out", environment)
    try:
        yield child
    finally:
        kill_tree(child.process.pid)  # the executors are the worker's children
        child.process.wait(60)


@contextmanager
def standalone_cluster(directory: Path) -> Iterator[str]:
    """Its address; one worker of two cores."""
    directory.mkdir()
    port = free_ports(1)[0]
    address = f"spark://127.0.0.1:{port}"
    with part_of_spark(directory, "Master", "--port", str(port), "--webui-port", "0") as master:
        wait_for(master, "I have been elected leader")
        size = ("--cores", "2", "--memory", "1g", "--webui-port", "0")
        with part_of_spark(directory, "Worker", *size, address) as worker:
            wait_for(worker, "Successfully registered with master")
            yield address


def wait_for(child: Child, words: str) -> None:
    for _ in range(600):
        if words in child.output():
            return
        assert child.process.poll() is None, child.output()
        try:
            child.process.wait(0.1)
        except subprocess.TimeoutExpired:
            continue
    raise AssertionError(f"no `{words}` within a minute:\n{child.output()}")


@pytest.mark.timeout(420)
@pytest.mark.parametrize("lab", ["barnabas"], indirect=True)
def test_the_same_document_runs_on_a_cluster(lab: Lab) -> None:
    topic, dead = lab.topic(2), lab.topic(1)
    (lab.directory / "order.avsc").write_text(json.dumps(ORDER))
    (lab.directory / "whispering.py").write_text(WHISPERING)
    document = lab.document(DOCUMENT.replace("TOPIC", topic).replace("DEAD", dead))
    lab.write(topic, [encoded({"id": n, "country": ("DE", "FR")[n % 2]}) for n in range(100)])
    lab.write(topic, [b"no order"])

    with standalone_cluster(lab.directory / "cluster") as address:
        output = run(document, address)

    assert "101 records read" in output
    assert output.strip().endswith("100 rows written, 1 bad")
    rows = lab.table().collect()
    assert sorted(row.id for row in rows) == list(range(100))
    assert {row.who.split()[0] for row in rows} == {"de", "fr"}
    assert not [row.who for row in rows if row.who.endswith("driver")]
    assert [each.value() for each in lab.read(dead, 1)] == [b"no order"]


def run(document: Path, address: str) -> str:
    program = str(Path(sys.executable).parent / "barnabas")
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
    }
    pairs = [part for pair in settings.items() for part in ("--conf", "=".join(pair))]
    done = subprocess.run(
        [program, "pipeline", "run", str(document), "--master", address, *pairs],
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
        env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
