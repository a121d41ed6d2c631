"""Segments read by Spark without a broker, held against what the connector reads with one."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from barnabas import EmbeddedCluster
from barnabas_core.log.directories.directory_meta import MetaProperties
from barnabas_core.log.environment import LogEnvironment
from barnabas_core.log.log_config import LogConfig
from barnabas_core.log.manager import LogManager
from barnabas_core.records.batch import HEADER_BYTES
from barnabas_core.runtime.clock import SystemClock
from barnabas_core.runtime.disk import RealDisk
from barnabas_core.runtime.rng import SeededRng
from tests.support.external import JavaRuntime
from tests.support.kafka_node import KafkaNode
from tests.support.kafka_writer import write_transactions, write_with_every_codec
from tests.support.segment_lab import LogWriter, batches_in, flip, segment_paths, writing
from tests.support.spark_rows import Plain, from_connector, from_segments, plain_rows

CONFIG = {"segment.bytes": str(1 << 20), "index.interval.bytes": "1024"}
COMMITTED = {"kafka.isolation.level": "read_committed"}
PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
UNCOMMITTED = {"kafka.isolation.level": "read_uncommitted"}


@dataclass(frozen=True, slots=True)
class Written:
    """A stopped broker's directory, and what the connector read from it while it ran."""

    directory: str
    committed: dict[str, list[Plain]]
    uncommitted: dict[str, list[Plain]]


def read_by_connector(
    spark: SparkSession, bootstrap: str, topics: tuple[str, ...], options: dict[str, str]
) -> dict[str, list[Plain]]:
    return {
        topic: plain_rows(from_connector(spark, bootstrap, topic, **options)) for topic in topics
    }


@pytest.fixture(scope="module")
def by_barnabas(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Written:
    """Every codec through a client; transactions, which no client can yet, through the log."""
    data = tmp_path_factory.mktemp("barnabas")
    with EmbeddedCluster(data=str(data)) as cluster:
        cluster.create_topic("codecs", partitions=2, config=CONFIG)
        cluster.create_topic("transactions", config=CONFIG)
        write_with_every_codec(cluster.bootstrap_servers, "codecs", 3_000, 400)
    append_transactions(data / "node-1", "transactions")
    topics = ("codecs", "transactions")
    with EmbeddedCluster(data=str(data)) as cluster:
        servers = cluster.bootstrap_servers
        committed = read_by_connector(spark, servers, topics, COMMITTED)
        uncommitted = read_by_connector(spark, servers, topics, UNCOMMITTED)
    return Written(str(data / "node-1"), committed, uncommitted)


def append_transactions(directory: Path, topic: str) -> None:
    meta = MetaProperties.decode((directory / "meta.properties").read_bytes())
    config = LogConfig(segment_bytes=64 * 1024)
    manager = LogManager(
        LogEnvironment(RealDisk(), SeededRng(1)),
        SystemClock(),
        [str(directory)],
        cluster_id=meta.cluster_id,
        node_id=meta.node_id,
        config_of=lambda _: config,
    )
    manager.open()
    log = manager.get(topic, 0)
    assert log is not None
    writer = LogWriter(log)
    for number in range(60):
        writer.write([b"%d " % number * 400] * 3, producer_id=number % 3, is_transactional=True)
        writer.write([b"plain"])
        if number >= 2:
            writer.end((number - 2) % 3, commit=number % 2 == 0)
    manager.close()


@pytest.fixture(scope="module")
def by_kafka(
    spark: SparkSession, java: JavaRuntime, tmp_path_factory: pytest.TempPathFactory
) -> Written:
    node = KafkaNode(java, tmp_path_factory.mktemp("kafka"))
    topics = ("codecs", "transactions", "append-time")
    with node.running() as kafka:
        node.create_topic("codecs", CONFIG)
        node.create_topic("transactions", CONFIG)
        node.create_topic("append-time", CONFIG | {"message.timestamp.type": "LogAppendTime"})
        write_with_every_codec(node.bootstrap, "codecs", 3_000, 400)
        opened = write_transactions(node.bootstrap, "transactions", 20, 200)
        write_with_every_codec(node.bootstrap, "append-time", 100, 400)
        committed = read_by_connector(spark, node.bootstrap, topics, COMMITTED)
        uncommitted = read_by_connector(spark, node.bootstrap, topics, UNCOMMITTED)
        kafka.stop()
    opened.open_producer = None
    return Written(str(node.data), committed, uncommitted)


@pytest.fixture(params=["barnabas", "kafka"])
def written(request: pytest.FixtureRequest) -> Written:
    found: Written = request.getfixturevalue(f"by_{request.param}")
    return found


def test_the_rows_are_those_of_the_connector(spark: SparkSession, written: Written) -> None:
    for topic, expected in written.committed.items():
        assert plain_rows(from_segments(spark, written.directory, topic)) == expected
    for topic, expected in written.uncommitted.items():
        rows = from_segments(spark, written.directory, topic, **UNCOMMITTED)
        assert plain_rows(rows) == expected
    assert len(written.committed["transactions"]) < len(written.uncommitted["transactions"])


def test_each_segment_is_a_partition_of_spark_s(spark: SparkSession, written: Written) -> None:
    rows = from_segments(spark, written.directory, "codecs")
    files = list(Path(written.directory).glob("codecs-*/*.log"))

    assert rows.rdd.getNumPartitions() == len([it for it in files if it.stat().st_size]) > 2


def test_options_choose_the_segments_that_are_read(spark: SparkSession, written: Written) -> None:
    rows = from_segments(spark, written.directory, "codecs")
    middle = written.committed["codecs"][len(written.committed["codecs"]) // 2]
    _, _, _, partition, offset, timestamp, *_ = middle
    bounds = {"startingOffset": str(offset), "endingOffset": str(offset + 1)}
    since = {"startingTimestamp": str(int(timestamp.timestamp() * 1000))}

    one = from_segments(spark, written.directory, "codecs", partitions=str(partition), **bounds)
    later = from_segments(spark, written.directory, "codecs", **since)

    assert one.rdd.getNumPartitions() == 1
    assert plain_rows(one) == [middle]
    assert later.rdd.getNumPartitions() < rows.rdd.getNumPartitions()
    newer = [it for it in written.committed["codecs"] if it[5] >= timestamp]
    assert plain_rows(later.where(later.timestamp >= timestamp)) == newer


def test_conditions_choose_the_segments_if_that_is_wished(
    spark: SparkSession, written: Written, filter_pushdown: None
) -> None:
    middle = written.committed["codecs"][len(written.committed["codecs"]) // 2]
    _, _, _, partition, offset, timestamp, *_ = middle
    rows = from_segments(spark, written.directory, "codecs", pushdown="true")
    others = from_segments(spark, written.directory, "codecs", pushdown="true")

    by_offset = rows.where(f"partition = {partition} and offset = {offset}")
    by_time = others.where(others.timestamp >= timestamp)

    assert by_offset.rdd.getNumPartitions() == 1
    assert plain_rows(by_offset) == [middle]
    newer = [it for it in written.committed["codecs"] if it[5] >= timestamp]
    assert plain_rows(by_time) == newer


@pytest.fixture
def filter_pushdown(spark: SparkSession) -> Iterator[None]:
    spark.conf.set(PUSHDOWN, "true")
    yield
    spark.conf.unset(PUSHDOWN)


def test_one_table_answers_several_queries(
    spark: SparkSession, written: Written, filter_pushdown: None
) -> None:
    # Spark would keep the plan of the first for the second, had it been told to plan by conditions.
    rows = from_segments(spark, written.directory, "codecs")
    count = len(written.committed["codecs"])

    assert rows.where("offset < 5").count() > 0
    assert rows.count() == count


def test_damage_ends_the_query_with_the_place(spark: SparkSession, tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        writer.fill(5)
    [segment] = segment_paths(tmp_path)
    position, _ = batches_in(segment)[2]
    flip(segment, position + HEADER_BYTES + 5)

    with pytest.raises(PySparkException, match=f"at byte {position}: CRC mismatch"):
        from_segments(spark, str(tmp_path), "orders").collect()

    skipped = from_segments(spark, str(tmp_path), "orders", onCorrupt="skip")
    assert skipped.count() == 12


def test_a_bad_option_is_refused_before_anything_is_read(spark: SparkSession) -> None:
    with pytest.raises(PySparkException, match="unknown option 'startingoffsets'"):
        from_segments(spark, "/nowhere", "orders", startingOffsets="earliest").collect()


def test_a_copy_of_a_directory_reads_like_the_directory(
    spark: SparkSession, written: Written, tmp_path: Path
) -> None:
    copy = shutil.copytree(written.directory, tmp_path / "copy")

    rows = from_segments(spark, str(copy), "transactions")

    assert plain_rows(rows) == written.committed["transactions"]
