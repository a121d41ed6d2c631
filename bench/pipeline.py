"""`make bench-pipeline`: Spark from a topic to Parquet, from Barnabas and from Apache Kafka.

The same pipeline, the same Spark session, the same records; the sides take turns, so that what
else the machine does meanwhile falls on both, and the median counts. A first run that nobody counts
warms the JVM up.

    python -m bench.pipeline [--rounds N] [--quick] [--no-write]
"""

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

from barnabas_pipeline import Pipeline, spark_session
from barnabas_pipeline.spec.build import parse_spec
from bench.compare.barnabas_side import barnabas_side
from bench.compare.client import ROOT, run_module
from bench.compare.cluster import BARNABAS, KAFKA, Cluster, Failed
from bench.compare.kafka_side import kafka_side
from bench.compare.usage import Machine
from bench.core import machine
from bench.report import replace_section
from tests.support.external import JavaRuntime
from tools.fetch import KAFKA_VERSION, fetch_java, fetch_kafka

PAGE: Final = ROOT / "docs" / "benchmarks.md"
_PARTITIONS: Final = 4
_COUNTS: Final = {100: 1_000_000, 1024: 300_000}
_GOAL: Final = 1.0
# Both parts together stay below twelve minutes, whatever else the machine does.
SECONDS_PER_SIZE: Final = 120
_JVM_ENDS_S: Final = 30
_DOCUMENT: Final = """\
source: {{bootstrap: "{bootstrap}", topics: [{topic}]}}
decode: {{format: raw}}
sinks:
  - parquet: {{path: "{directory}/table"}}
checkpoint: "{directory}/checkpoint"
"""


@dataclass(slots=True)
class Rates:
    """Rows per second of every round, by side and size."""

    found: dict[tuple[str, int], list[float]] = field(default_factory=dict)

    def add(self, side: str, size: int, rate: float) -> None:
        self.found.setdefault((side, size), []).append(rate)

    def median(self, side: str, size: int) -> float:
        return statistics.median(self.found[side, size])


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.pipeline", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="a tenth of the records")
    parser.add_argument("--no-write", action="store_true", help="leave the page as it is")
    options = parser.parse_args(arguments)
    scale = 0.1 if options.quick else 1.0
    directory = Path(tempfile.mkdtemp(prefix="barnabas-bench-"))
    state = Machine()
    spark = spark_session("bench", "local[2]", {"spark.driver.memory": "2g"})
    try:
        rates = measure(spark, directory, options.rounds, scale)
    finally:
        _end(spark)
        shutil.rmtree(directory, ignore_errors=True)
    text = "\n".join(section(rates, state.others_share()))
    print(text)
    if not (options.no_write or options.quick):
        replace_section(PAGE, "pipeline", text)
    return 0


def _end(spark: SparkSession) -> None:
    """And its JVM: what it used counts as ours only once it has ended."""
    gateway: Any = spark.sparkContext._gateway
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(_JVM_ENDS_S)


def measure(spark: SparkSession, directory: Path, rounds: int, scale: float) -> Rates:
    rates = Rates()
    java = JavaRuntime(fetch_java(), fetch_kafka())
    with ExitStack() as stack:
        clusters = []
        for side in (barnabas_side(), kafka_side(java)):
            place = directory / side.name
            place.mkdir()
            cluster = stack.enter_context(side.running(place, 1))
            cluster.wait_ready()
            clusters.append(cluster)
        for size, count in _COUNTS.items():
            topic = f"rows-{size}"
            for cluster in clusters:
                fill(cluster, topic, round(count * scale), size)
            for round_number in rounds_within(rounds, SECONDS_PER_SIZE):
                # Whoever comes first finds the machine as the other left it: in turns, too.
                for cluster in clusters[:: -1 if round_number % 2 else 1]:
                    rate = run_once(spark, cluster, topic, round(count * scale), directory)
                    if round_number >= 0:
                        rates.add(cluster.side, size, rate)
    return rates


def rounds_within(count: int, seconds: float) -> Iterator[int]:
    """-1, which warms up, then 0 and as many more as begin in that time."""
    end_at = time.monotonic() + seconds
    for number in range(-1, count):
        if number > 0 and time.monotonic() >= end_at:
            return
        yield number


def fill(cluster: Cluster, topic: str, count: int, size: int) -> None:
    cluster.create_topic(topic, _PARTITIONS)
    cluster.wait_partitions(topic, _PARTITIONS)
    run_module("librdkafka_client", "write", cluster.bootstrap, topic, count, size)


def run_once(
    spark: SparkSession, cluster: Cluster, topic: str, count: int, directory: Path
) -> float:
    """Rows per second of a whole run, from its start to its end."""
    place = directory / "run"
    document = _DOCUMENT.format(bootstrap=cluster.bootstrap, topic=topic, directory=place)
    pipeline = Pipeline(parse_spec(document, "bench", place, "bench"), place)
    begun_at = time.monotonic()
    totals = pipeline.run(spark)
    seconds = time.monotonic() - begun_at
    if totals.output_rows != count:
        raise Failed(f"{totals.output_rows} rows of {count} from {cluster.side}")
    shutil.rmtree(place)
    print(f"{cluster.side}, {topic}: {count / seconds:,.0f} rows/s", file=sys.stderr, flush=True)
    return count / seconds


def section(rates: Rates, others: float) -> Iterator[str]:
    yield (
        f"Apache Kafka {KAFKA_VERSION} beside it on {machine()}, Spark 4.2.0 `local[2]` and the "
        f"brokers on the same cores. Others used {others:.0%} of them meanwhile."
    )
    yield ""
    yield "| stream to Parquet | Barnabas, rows/s | Kafka, rows/s | ratio | goal |"
    yield "|---|---|---|---|---|"
    for size, count in _COUNTS.items():
        ours, theirs = rates.median(BARNABAS, size), rates.median(KAFKA, size)
        ratio = ours / theirs
        mark = "met" if ratio >= _GOAL else "missed"
        yield (
            f"| {count:,} x {size} B | {ours:,.0f} | {theirs:,.0f} | {ratio:.2f} | "
            f"{_GOAL:.1f}: {mark} |"
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
