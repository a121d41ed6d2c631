"""Log segments read by Spark from the broker's files, beside the same topic through the connector.

    python -m bench.pipeline_segments [--rounds N] [--quick] [--no-write]

Both read every column of every row and throw it away (`noop`), in turns; the median counts. The
broker's own CPU time stands beside it: sparing the broker is what segments are for. The second part
of `make bench-pipeline`.
"""

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from barnabas_core.runtime.disk import RealDisk
from barnabas_pipeline.segments.log_files import UnreadableDirectory, find_partitions
from barnabas_pipeline.segments.source import FORMAT, register
from barnabas_pipeline.session import spark_session
from bench.compare.barnabas_side import barnabas_side
from bench.compare.client import ROOT, run_module
from bench.compare.cluster import Cluster, Failed
from bench.core import machine
from bench.pipeline import SECONDS_PER_SIZE, rounds_within
from bench.report import replace_section

PAGE: Final = ROOT / "docs" / "benchmarks.md"
COUNTS: Final = {100: 1_000_000, 1024: 300_000}
CONNECTOR: Final = "connector"
SEGMENTS: Final = "segments"
_PARTITIONS: Final = 4
_CHECKPOINT_TIMEOUT_S: Final = 60
# Without it the source asks for offsets after every 500 records, and takes twice as long.
_POLL_RECORDS: Final = "50000"


@dataclass(frozen=True, slots=True)
class Topic:
    cluster: Cluster
    log_directory: Path
    name: str
    record_count: int


@dataclass(slots=True)
class Rates:
    """Rows per second and the broker's CPU seconds of every round, by way and size."""

    rows: dict[tuple[str, int], list[float]] = field(default_factory=dict)
    broker_cpu: dict[tuple[str, int], list[float]] = field(default_factory=dict)

    def add(self, way: str, size: int, rate: float, cpu_seconds: float) -> None:
        self.rows.setdefault((way, size), []).append(rate)
        self.broker_cpu.setdefault((way, size), []).append(cpu_seconds)


def measure(spark: SparkSession, topic: Topic, size: int, rounds: int, rates: Rates) -> None:
    """One topic, both ways; the first round warms up and does not count."""
    register(spark)
    wait_checkpointed(topic)
    ways: dict[str, Callable[[SparkSession, Topic], DataFrame]] = {
        CONNECTOR: through_connector,
        SEGMENTS: through_segments,
    }
    for round_number in rounds_within(rounds, SECONDS_PER_SIZE):
        # Whoever comes first finds the machine as the other left it: they take turns at that, too.
        in_turn = list(ways.items())[:: -1 if round_number % 2 else 1]
        for way, read in in_turn:
            cpu_before, begun_at = topic.cluster.cpu_seconds(), time.monotonic()
            read(spark, topic).write.format("noop").mode("overwrite").save()
            seconds = time.monotonic() - begun_at
            if round_number >= 0:
                cpu_seconds = topic.cluster.cpu_seconds() - cpu_before
                rates.add(way, size, topic.record_count / seconds, cpu_seconds)


def through_connector(spark: SparkSession, topic: Topic) -> DataFrame:
    return (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", topic.cluster.bootstrap)
        .option("subscribe", topic.name)
        .option("kafka.max.poll.records", _POLL_RECORDS)
        .load()
    )


def through_segments(spark: SparkSession, topic: Topic) -> DataFrame:
    reader = spark.read.format(FORMAT).option("subscribe", topic.name)
    return reader.option("includeActive", "true").load(str(topic.log_directory))


def wait_checkpointed(topic: Topic) -> None:
    """Until the broker has noted that all of it is committed: segments show no more than that."""
    give_up_at = time.monotonic() + _CHECKPOINT_TIMEOUT_S
    while time.monotonic() < give_up_at:
        if committed_count(topic) == topic.record_count:
            return
        time.sleep(0.2)
    raise Failed(f"the high watermarks of {topic.name} do not reach {topic.record_count}")


def committed_count(topic: Topic) -> int:
    try:
        found = find_partitions(RealDisk(), [str(topic.log_directory)])
    except UnreadableDirectory:
        return 0  # a broker that has just begun has noted nothing yet
    return sum(it.high_watermark for it in found if it.topic == topic.name)


def section(rates: Rates) -> Iterator[str]:
    yield "| batch read | connector, rows/s | segments, rows/s | ratio | broker's CPU, s |"
    yield "|---|--:|--:|--:|--:|"
    for size in sorted({size for _, size in rates.rows}):
        connector, segments = (
            statistics.median(rates.rows[way, size]) for way in (CONNECTOR, SEGMENTS)
        )
        cpu = " and ".join(
            f"{statistics.median(rates.broker_cpu[way, size]):.2f}" for way in (CONNECTOR, SEGMENTS)
        )
        yield (
            f"| {COUNTS[size]:,} x {size} B | {connector:,.0f} | {segments:,.0f} | "
            f"{segments / connector:.2f} | {cpu} |"
        )


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.pipeline_segments", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="a tenth of the records")
    parser.add_argument("--no-write", action="store_true", help="leave the page as it is")
    options = parser.parse_args(arguments)
    directory = Path(tempfile.mkdtemp(prefix="barnabas-bench-"))
    spark = spark_session("bench", "local[2]", {"spark.driver.memory": "2g"})
    try:
        rates = run(spark, directory, options.rounds, 0.1 if options.quick else 1.0)
    finally:
        spark.stop()
        shutil.rmtree(directory, ignore_errors=True)
    where = f"Spark 4.2.0 `local[2]` and the broker on the same cores of {machine()}."
    text = "\n".join([where, "", *section(rates)])
    print(text)
    if not (options.no_write or options.quick):
        replace_section(PAGE, "segments", text)
    return 0


def run(spark: SparkSession, directory: Path, rounds: int, scale: float) -> Rates:
    rates = Rates()
    with barnabas_side().running(directory, 1) as cluster:
        cluster.wait_ready()
        for size, count in COUNTS.items():
            topic = Topic(
                cluster, directory / "data" / "node-1", f"rows-{size}", round(count * scale)
            )
            cluster.create_topic(topic.name, _PARTITIONS)
            cluster.wait_partitions(topic.name, _PARTITIONS)
            bootstrap = cluster.bootstrap
            run_module(
                "librdkafka_client", "write", bootstrap, topic.name, topic.record_count, size
            )
            measure(spark, topic, size, rounds, rates)
    return rates


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
