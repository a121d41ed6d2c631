"""Starts everything, shows it while it runs, and ends in order."""

import argparse
import math
import sys
import tempfile
import time
from pathlib import Path

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import SparkSession

from barnabas import EmbeddedCluster
from barnabas_pipeline import Pipeline, spark_session
from barnabas_pipeline.fetch.cache import CannotFetch
from tools.demo.generator import Generator
from tools.demo.plot import lines
from tools.demo.view import Screen, View

DOCUMENT = Path(__file__).parent / "orders.yaml"
PLOT = Path("dist") / "demo.svg"


def say(line: str) -> None:
    print(f">> demo: {line}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--seconds", type=float, default=30, help="how long (%(default)s)")
    parser.add_argument("--rate", type=int, default=2000, help="orders per second (%(default)s)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="barnabas-demo-") as directory:
        say("starting a cluster in this process")
        with EmbeddedCluster() as cluster:
            say(f"it answers on {cluster.bootstrap_servers}; starting Spark")
            try:
                spark = spark_session("demo", "local[2]")
            except CannotFetch as error:
                say(str(error))
                return 1
            try:
                return demonstrate(cluster.bootstrap_servers, Path(directory), spark, options)
            finally:
                spark.stop()


def demonstrate(
    bootstrap: str, directory: Path, spark: SparkSession, options: argparse.Namespace
) -> int:
    create_topics(bootstrap)
    document = directory / "orders.yaml"
    text = DOCUMENT.read_text().replace("BOOTSTRAP", bootstrap).replace("HERE", str(directory))
    document.write_text(text)
    generator = Generator(bootstrap, "orders", options.rate)
    view, screen = View(bootstrap, "revenue"), Screen()
    generator.start()
    view.start()
    say(f"{options.rate:,} orders a second, summed up by barnabas pipeline run {DOCUMENT.name}")
    with Pipeline.load(document).started(spark) as session:
        end_at = math.inf  # counted from the first batch, which waits for Spark to warm up
        while time.monotonic() < end_at and not session.wait(0.5):
            screen.show(session.totals.line(), view.lines())
            if session.totals.last is not None and end_at == math.inf:
                end_at = time.monotonic() + options.seconds
        generator.stop()
        session.run.process_all()
        session.stop()
        say(session.totals.summary())
    view.stop()
    return check(spark, directory / "revenue", view.count)


def create_topics(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    wanted = [NewTopic("orders", 2), NewTopic("revenue", 1), NewTopic("orders-dead", 1)]
    for future in admin.create_topics(wanted).values():
        future.result(30)


def check(spark: SparkSession, table: Path, seen_count: int) -> int:
    """The table and the topic have to tell the same, and the table makes the plot."""
    rows = spark.read.parquet(str(table)).collect()
    series: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        series.setdefault(row.country, []).append((row.start.timestamp(), row.revenue))
    PLOT.parent.mkdir(exist_ok=True)
    PLOT.write_text(lines("Revenue per window of two seconds, by country", series))
    say(f"{len(rows)} windows in the table, {seen_count} in the topic; plot: {PLOT}")
    is_well = len(rows) == seen_count > 0
    say("all is well" if is_well else "table and topic differ")
    return int(not is_well)


if __name__ == "__main__":
    sys.exit(main())
